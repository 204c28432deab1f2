package dissect

// credentialAPIs are the APIs whose bodies carry passwords, tokens or keys to them.
var credentialAPIs = map[string]bool{
	"SaslAuthenticate":          true,
	"CreateDelegationToken":     true,
	"RenewDelegationToken":      true,
	"ExpireDelegationToken":     true,
	"DescribeDelegationToken":   true,
	"AlterUserScramCredentials": true,
}

// Secret tells whether the body carries credentials, so that no output may show it unless asked to. A body that is not
// decoded may carry anything that its API does.
func (m *Message) Secret() bool {
	return m.Header.Token || m.API != nil && credentialAPIs[m.API.Name]
}

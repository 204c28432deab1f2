package dissect

// The APIs whose bodies carry passwords, tokens, or keys to them.
const (
	keySaslAuthenticate          = 36
	keyCreateDelegationToken     = 38
	keyDescribeDelegationToken   = 41 // 39 and 40 renew and expire one
	keyAlterUserScramCredentials = 51
)

// Secret tells whether the body carries credentials, so that no output may show it unless asked to. A body that is not
// decoded may carry anything that its API does.
func (m *Message) Secret() bool {
	key := m.Header.APIKey
	switch {
	case m.Header.Token:
		return true
	case !m.Header.Known:
		return false
	}
	return key == keySaslAuthenticate || key == keyAlterUserScramCredentials ||
		key >= keyCreateDelegationToken && key <= keyDescribeDelegationToken
}

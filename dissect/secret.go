package dissect

// The APIs whose bodies carry passwords, tokens, or keys to them.
const (
	keySaslAuthenticate          = 36
	keyCreateDelegationToken     = 38
	keyDescribeDelegationToken   = 41 // 39 and 40 renew and expire one
	keyAlterUserScramCredentials = 51
)

// Secret tells whether the body carries credentials, so that no output may show it unless asked to: also inside an Envelope.
func (m *Message) Secret() bool {
	switch {
	case m.Header.Token:
		return true
	case !m.Header.Known:
		return false
	case m.Header.APIKey == keyEnvelope && m.enveloped.Known:
		return carriesCredentials(m.enveloped.APIKey)
	}
	return carriesCredentials(m.Header.APIKey)
}

func carriesCredentials(key int16) bool {
	return key == keySaslAuthenticate || key == keyAlterUserScramCredentials ||
		key >= keyCreateDelegationToken && key <= keyDescribeDelegationToken
}

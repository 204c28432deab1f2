package dissect

import (
	"bytes"

	"github.com/kdissect/kdissect/schema"
)

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

// markSecrets marks the values of configs that hold passwords or keys, by the config's name. It tells whether there are any.
func (v *View) markSecrets() bool {
	any, sensitive := false, false
	for i := range v.Nodes {
		n := &v.Nodes[i]
		if n.Kind != ValueNode || n.Op == nil {
			continue
		}
		switch n.Op.Role {
		case schema.ConfigName:
			sensitive = isSensitiveConfig(v.Bytes(n))
		case schema.ConfigValue:
			n.Secret = sensitive && !n.Null && n.Length > uint32(n.Prefix)
			any = any || n.Secret
			sensitive = false
		}
	}
	return any
}

// hideSecrets marks secret values of the message, and the bytes that hold an enveloped request with such values.
func (m *Message) hideSecrets() {
	if m.body == 0 || m.plan.Message.HasConfigs() && m.markSecrets() || m.Header.APIKey != keyEnvelope {
		return
	}
	for n := range m.Nested {
		if n.Secret {
			m.Nodes[n.Field].Secret = true
		}
	}
}

// isSensitiveConfig tells whether a config holds something that its owner would not want to see in a bug report. Kafka's own configs of type
// password are among them.
func isSensitiveConfig(name []byte) bool {
	lower := bytes.ToLower(name)
	for _, part := range []string{"password", "secret", "jaas", "credential", "keystore.key", "certificate"} {
		if bytes.Contains(lower, []byte(part)) {
			return true
		}
	}
	return false
}

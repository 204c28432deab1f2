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
	case m.wrapping == structure:
		return isCredentialRecord(m.plan.Message.Name)
	case !m.Header.Known:
		return false
	case m.Inferred != nil && m.Inferred.guarded:
		return true
	case m.Header.APIKey == keyEnvelope && m.enveloped.known:
		return carriesCredentials(m.enveloped.key) || m.enveloped.key == keyEnvelope
	}
	return carriesCredentials(m.Header.APIKey)
}

func carriesCredentials(key int16) bool {
	return key == keySaslAuthenticate || key == keyAlterUserScramCredentials ||
		key >= keyCreateDelegationToken && key <= keyDescribeDelegationToken
}

// markSecrets marks the values of configs that hold passwords or keys, by the config's name or the broker's word. It tells whether there are any.
func (v *View) markSecrets() bool {
	found, byName := false, false
	value := -1          // the latest value
	flagged := int32(-1) // the structure of a config that the broker says is sensitive
	for i := range v.Nodes {
		n := &v.Nodes[i]
		if n.Kind != ValueNode || n.Op == nil {
			continue
		}
		switch n.Op.Role {
		case schema.ConfigName:
			byName = isSensitiveConfig(v.Bytes(n))
			if n.Op.Parent == flagged {
				flagged = -1 // the next config
			}
		case schema.ConfigValue: // its synonyms stand in structures inside that of the config
			n.Secret = (byName || flagged >= 0) && !n.Null && n.Length > uint32(n.Prefix)
			found = found || n.Secret
			byName, value = false, i
		case schema.ConfigSensitive:
			if value >= 0 && v.Int(n) != 0 {
				flagged = v.Nodes[value].Op.Parent
				v.Nodes[value].Secret = !v.Nodes[value].Null
				found = true
			}
		}
	}
	return found
}

// hideSecrets marks secret values of the message. Of an Envelope it marks the bytes of what is inside, unless that was opened to its end and has
// nothing to hide: what does not decode may hold anything.
func (m *Message) hideSecrets() {
	if m.body == 0 {
		return
	}
	if m.plan.Message.HasConfigs() {
		m.markSecrets()
	}
	if m.Header.APIKey != keyEnvelope {
		return
	}
	for i := m.body; i < len(m.Nodes); i++ {
		if n := &m.Nodes[i]; n.Kind == ValueNode && (n.Op.Name == "RequestData" || n.Op.Name == "ResponseData") {
			n.Secret = !n.Null && n.Length > uint32(n.Prefix)
		}
	}
	for n := range m.Nested {
		if n.Whole && !n.Secret {
			m.Nodes[n.Field].Secret = false
		}
	}
}

// Guarded tells whether bytes that no field accounts for may belong to a secret: in a message about configs, in one that carries another, in
// one of an unknown API, and in an answer that does not fit.
func (m *Message) Guarded() bool {
	switch {
	case m.wrapping == structure:
		return m.Secret() || m.plan.Message.HasConfigs()
	case m.Secret(), !m.Header.Known, m.API == nil:
		return true
	case m.Kind == schema.Response && m.Undecoded() != nil:
		return true // it may be the answer to something else
	}
	plan := m.Plan()
	if plan == nil { // of an unknown version: judge by the newest known one
		plan = m.catalog.Plan(m.API.Key, m.API.Versions.High, m.Kind)
	}
	return m.Header.APIKey == keyEnvelope || plan != nil && plan.Message.HasConfigs()
}

// WithholdsValue tells whether the value of a record must not be shown: it carries credentials, or it stands in the cluster's metadata and could not be
// decoded. decoded is what [Message.DecodeValue] has made of it.
func (m *Message) WithholdsValue(topic string, r *Record, decoded *Nested) bool {
	if decoded != nil {
		return decoded.Secret
	}
	return topic == metadataTopic && r.Value != nil
}

// isCredentialRecord tells whether a metadata record carries credentials.
func isCredentialRecord(name string) bool {
	return name == "UserScramCredentialRecord" || name == "DelegationTokenRecord"
}

// metadataTopic is the topic whose records may carry credentials.
const metadataTopic = "__cluster_metadata"

// sensitiveParts stand in the names of configs that hold secrets: Kafka's own, and those of connectors, registries and cloud services.
var sensitiveParts = []string{
	"password", "passwd", "pwd", "passphrase", "secret", "jaas", "credential", "keystore.key", "master.key", "private.key", "certificate", "user.info",
	"api.key", "apikey", "access.key", "account.key", "access.token", "auth.token", "license",
}

// isSensitiveConfig tells whether a config holds something that its owner would not want to see in a bug report. Kafka's own configs of type
// password are among them.
func isSensitiveConfig(name []byte) bool {
	lower := bytes.ToLower(name)
	for _, part := range sensitiveParts {
		if bytes.Contains(lower, []byte(part)) {
			return true
		}
	}
	return false
}

package dissect

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/netip"
	"strings"

	"github.com/kdissect/kdissect/schema"
)

// An Auth is what an authentication message says, without its secrets: passwords, tokens, salts, nonces and proofs are never in it.
type Auth struct {
	Mechanism string // PLAIN, SCRAM-SHA-256, OAUTHBEARER, GSSAPI; "" when it is not known
	Step      string // handshake, or whose message of the exchange this is: client-first, server-first, client-final, server-final
	User      string // who the client says it is, as far as the capture has told by then
	Result    string // of a response: ok, continue, failed
	Again     bool   // the connection was authenticated before: its session's lifetime comes to an end (KIP-368)
	Lifetime  int64  // of a response: how long the session lasts, milliseconds; 0 when the broker sets no limit
}

// authState is what a connection knows of the authentication that is going on.
type authState struct {
	mechanism string
	user      string
	rounds    int  // messages of the client since the handshake
	done      bool // an authentication has succeeded
}

// authRequest takes note of an authentication request, and returns nil for every other one.
func (c *conn) authRequest(m *Message) *Auth {
	a := &c.auth
	switch {
	case m.Header.Token:
		return c.clientStep(m.data[min(4, len(m.data)):])
	case m.Header.APIKey == keySaslHandshake:
		c.dissector.noteLogin(c.ends.Server)
		*a = authState{mechanism: string(m.firstOf(schema.OpString)), done: a.done}
		return &Auth{Mechanism: a.mechanism, Step: "handshake", Again: a.done}
	case m.Header.APIKey == keySaslAuthenticate:
		return c.clientStep(m.firstOf(schema.OpBytes))
	}
	return nil
}

// maxLogins bounds the brokers that are known to want a login.
const maxLogins = 1024

func (d *Dissector) noteLogin(broker netip.AddrPort) {
	if len(d.logins) < maxLogins {
		d.logins[broker] = true
	}
}

// clientStep reads the client's part of an exchange.
func (c *conn) clientStep(token []byte) *Auth {
	a := &c.auth
	if a.mechanism == "" && startsKerberos(token) {
		a.mechanism = "GSSAPI"
	}
	a.rounds++
	step := "client-first"
	if a.rounds > 1 {
		step = "client-final"
	} else {
		a.user = userOf(a.mechanism, token)
	}
	return &Auth{Mechanism: a.mechanism, Step: step, User: a.user, Again: a.done}
}

// authResponse takes note of the answer to an authentication request, and returns nil for every other answer.
func (c *conn) authResponse(m *Message) *Auth {
	switch {
	case m.Header.Token:
		return c.judgeAuth(m, c.serverStep(m.data[min(4, len(m.data)):]))
	case m.Header.APIKey == keySaslHandshake:
		return &Auth{Mechanism: c.auth.mechanism, Step: "handshake", Result: resultOf(m, "ok"), Again: c.auth.done}
	case m.Header.APIKey == keySaslAuthenticate:
		auth := c.serverStep(m.firstOf(schema.OpBytes))
		auth.Result = resultOf(m, auth.Result)
		if lifetime := m.firstOf(schema.OpInt64); len(lifetime) == 8 {
			auth.Lifetime = Int(schema.OpInt64, lifetime)
		}
		return c.judgeAuth(m, auth)
	}
	return nil
}

// serverStep reads the server's part of an exchange.
func (c *conn) serverStep(token []byte) *Auth {
	a := &c.auth
	auth := &Auth{Mechanism: a.mechanism, Step: "server-first", User: a.user, Result: "ok", Again: a.done}
	if a.rounds > 1 {
		auth.Step = "server-final"
	}
	switch {
	case strings.HasPrefix(a.mechanism, "SCRAM"):
		auth.Result = scramResult(token)
	case a.mechanism == "OAUTHBEARER" && len(token) > 0:
		auth.Result = "failed" // RFC 7628: a refusal is a challenge that holds a JSON document
	case (a.mechanism == "GSSAPI" || a.mechanism == "") && (len(token) > 0 || a.rounds < 2):
		auth.Result = "continue"
	}
	if auth.Result != "continue" {
		a.rounds = 0
	}
	return auth
}

// judgeAuth takes note of how an authentication ended. A refusal inside a token has no error code.
func (c *conn) judgeAuth(m *Message, auth *Auth) *Auth {
	switch auth.Result {
	case "ok":
		c.auth.done = true
	case "failed":
		if len(m.Facts().Errors) == 0 {
			m.add(finding(SASLFailed, Warn, -1, "the server's %s token is a refusal", auth.Mechanism))
		}
	}
	return auth
}

// scramResult reads how a message of the server goes on (RFC 5802): v= is the server's proof that all is well, e= an error.
func scramResult(token []byte) string {
	switch {
	case bytes.HasPrefix(token, []byte("v=")):
		return "ok"
	case bytes.HasPrefix(token, []byte("e=")):
		return "failed"
	}
	return "continue"
}

// resultOf is failed when the answer carries an error.
func resultOf(m *Message, otherwise string) string {
	if len(m.Facts().Errors) > 0 {
		return "failed"
	}
	return otherwise
}

// firstOf returns the first value of a type in the body, nil when there is none.
func (m *Message) firstOf(code schema.OpCode) []byte {
	if m.Body() == 0 {
		return nil
	}
	for i := m.body; i < len(m.Nodes); i++ {
		if n := &m.Nodes[i]; n.Kind == ValueNode && n.Op.Code == code {
			return m.Bytes(n)
		}
	}
	return nil
}

// userOf reads who the client says it is out of its first message.
func userOf(mechanism string, token []byte) string {
	switch {
	case mechanism == "PLAIN": // RFC 4616: authorisation id, user and password, with a NUL between them
		parts := bytes.SplitN(token, []byte{0}, 3)
		if len(parts) == 3 {
			return string(parts[1])
		}
	case strings.HasPrefix(mechanism, "SCRAM"):
		return scramUser(token)
	case mechanism == "OAUTHBEARER":
		return bearerSubject(token)
	}
	return ""
}

// scramUser reads the attribute n of a client's first message: n,,n=user,r=nonce (RFC 5802).
func scramUser(token []byte) string {
	for _, attribute := range bytes.Split(token, []byte{','}) {
		if name, ok := bytes.CutPrefix(attribute, []byte("n=")); ok {
			return strings.NewReplacer("=2C", ",", "=3D", "=").Replace(string(name))
		}
	}
	return ""
}

// bearerSubject reads the subject of a JSON Web Token (RFC 7519); of an opaque token there is none.
func bearerSubject(token []byte) string {
	_, rest, ok := bytes.Cut(token, []byte("auth=Bearer "))
	parts := bytes.Split(rest, []byte{'.'})
	if !ok || len(parts) < 2 {
		return ""
	}
	claims, err := base64.RawURLEncoding.DecodeString(string(bytes.TrimRight(parts[1], "=")))
	if err != nil {
		return ""
	}
	var who struct {
		Subject string `json:"sub"`
	}
	if json.Unmarshal(claims, &who) != nil {
		return ""
	}
	return who.Subject
}

// kerberosOID is the DER encoding of the mechanism's object identifier (RFC 4121): 1.2.840.113554.1.2.2.
var kerberosOID = []byte{0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 0x01, 0x02, 0x02}

// startsKerberos tells whether bytes begin a token of GSS-API (RFC 2743, section 3.1): old clients send one without any Kafka request
// before it.
func startsKerberos(token []byte) bool {
	const applicationTag = 0x60
	return len(token) >= 20 && token[0] == applicationTag && bytes.Contains(token[1:20], kerberosOID)
}

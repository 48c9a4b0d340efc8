package replay

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/internal/redact"
	"github.com/shakedown-go/shakedown/internal/strictjson"
)

// Redact returns a copy of the session without secrets: without those given, in any of
// their spellings, and without what looks like one, as [Session.Encode] redacts it. Calls
// that differ in a secret alone become equal. A player redacts the arguments of a call
// likewise before it says that no recorded call is like it; see [PlayOptions].
//
// The error is that of a session that cannot be encoded.
func (s *Session) Redact(secrets ...string) (*Session, error) {
	data, err := s.encode(redact.New(secrets, redact.Patterns))
	if err != nil {
		return nil, err
	}
	return Read(data)
}

// redactSession takes the secrets out of a session's document. Only in values, which are the
// arguments and results of calls and the parameters of a plan, does the name of a
// member make its value a secret: elsewhere names are those of the format, or of a
// schema.
func redactSession(doc *strictjson.Node, secrets *redact.Redactor) {
	for i, key := range doc.Keys {
		switch key {
		case "format", "version":
		case "calls":
			for _, call := range doc.Kids[i].Kids {
				for k, key := range call.Keys {
					redactTexts(call.Kids[k], secrets, key == "args" || key == "result", false)
				}
			}
		default:
			redactTexts(doc.Kids[i], secrets, key == "faults", false)
		}
	}
}

// redactTexts redacts texts and names, and numbers that are secrets. named says that names
// make secrets of values; secret, that one did.
func redactTexts(n *strictjson.Node, secrets *redact.Redactor, named, secret bool) {
	switch n.Kind {
	case '"':
		if secret && n.Text != "" {
			n.Text = redact.Marker
		}
		n.Text = secrets.Text(n.Text)
	case '0':
		if secret || secrets.Text(n.Text) != n.Text {
			n.Kind, n.Text = '"', redact.Marker
		}
	case '{':
		redactMembers(n, secrets, named, secret)
	case '[':
		pairs := named && !slices.ContainsFunc(n.Kids, func(kid *strictjson.Node) bool { return !isPair(kid) })
		for i, kid := range n.Kids {
			if pairs && redact.SecretName(kid.Kids[0].Text) {
				redactTexts(kid.Kids[1], secrets, named, true)
			}
			redactTexts(kid, secrets, named, secret || named && behindFlag(n.Kids, i))
		}
	}
}

// isPair reports whether a value is a list of a name and a text, as headers are listed.
func isPair(n *strictjson.Node) bool {
	return n.Kind == '[' && len(n.Kids) == 2 && n.Kids[0].Kind == '"' && n.Kids[1].Kind == '"'
}

// behindFlag reports whether the i-th element is the value of a flag that names a secret.
func behindFlag(list []*strictjson.Node, i int) bool {
	if i == 0 || list[i].Kind != '"' || strings.HasPrefix(list[i].Text, "-") || list[i-1].Kind != '"' {
		return false
	}
	name, flag := strings.CutPrefix(list[i-1].Text, "-")
	return flag && redact.SecretName(strings.TrimPrefix(name, "-"))
}

// namesSecret reports whether the name of the i-th member makes its value a secret, or does
// so as the text of a member beside it: {"name": "X-Api-Key", "value": "…"}.
func namesSecret(n *strictjson.Node, i int) bool {
	if redact.SecretName(n.Keys[i]) {
		return true
	}
	if !strings.EqualFold(n.Keys[i], "value") {
		return false
	}
	for k, key := range n.Keys {
		switch strings.ToLower(key) {
		case "name", "key", "header":
			if n.Kids[k].Kind == '"' && redact.SecretName(n.Kids[k].Text) {
				return true
			}
		}
	}
	return false
}

func redactMembers(n *strictjson.Node, secrets *redact.Redactor, named, secret bool) {
	taken := make(map[string]bool, len(n.Keys))
	secretAt := make([]bool, len(n.Keys)) // before anything is replaced
	for i := range n.Keys {
		secretAt[i] = named && namesSecret(n, i)
	}
	for i, kid := range n.Kids {
		redactTexts(kid, secrets, named, secret || secretAt[i])
		key := secrets.Text(n.Keys[i])
		for taken[key] { // two names that held secrets
			key += "_"
		}
		taken[key] = true
		n.Keys[i] = key
	}
}

// maskDoc redacts one document, as text if it is not JSON.
func maskDoc(doc json.RawMessage, secrets *redact.Redactor) json.RawMessage {
	n, err := parse(doc)
	if err != nil || n == nil {
		return json.RawMessage(secrets.Text(string(doc)))
	}
	redactTexts(n, secrets, true, false)
	return n.JSON()
}

// isRedacted reports whether something was redacted in a document.
func isRedacted(doc json.RawMessage) bool { return strings.Contains(string(doc), redact.Marker) }

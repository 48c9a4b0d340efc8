package redact

import (
	"math"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/internal/strictjson"
)

// Node takes the secrets out of a JSON document: out of texts and names, and numbers that
// are secrets. Where named is set, the name of a member such as password makes its value a
// secret, and so does a name beside a value in a list of pairs or behind a flag.
func (r *Redactor) Node(n *strictjson.Node, named bool) { r.texts(n, named, false) }

// JSON is [Redactor.Node] of a document; of what is not JSON it is [Redactor.Text]. The text of
// what it leaves alone may be spelled in another way.
func (r *Redactor) JSON(doc []byte, named bool) []byte {
	var found strictjson.Problems
	n := strictjson.Parse(doc, math.MaxInt, &found)
	if n == nil || found.Err() != nil {
		return []byte(r.Text(string(doc)))
	}
	r.Node(n, named)
	return n.JSON()
}

// texts redacts texts and names, and numbers that are secrets. named says that names
// make secrets of values; secret, that one did.
func (r *Redactor) texts(n *strictjson.Node, named, secret bool) {
	switch n.Kind {
	case '"':
		if secret && n.Text != "" {
			n.Text = Marker
		}
		n.Text = r.Text(n.Text)
	case '0':
		if secret || r.Text(n.Text) != n.Text {
			n.Kind, n.Text = '"', Marker
		}
	case '{':
		r.members(n, named, secret)
	case '[':
		pairs := named && !slices.ContainsFunc(n.Kids, func(kid *strictjson.Node) bool { return !isPair(kid) })
		for i, kid := range n.Kids {
			if pairs && SecretName(kid.Kids[0].Text) {
				r.texts(kid.Kids[1], named, true)
			}
			r.texts(kid, named, secret || named && behindFlag(n.Kids, i))
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
	return flag && SecretName(strings.TrimPrefix(name, "-"))
}

// namesSecret reports whether the name of the i-th member makes its value a secret, or does
// so as the text of a member beside it: {"name": "X-Api-Key", "value": "…"}.
func namesSecret(n *strictjson.Node, i int) bool {
	if SecretName(n.Keys[i]) {
		return true
	}
	if !strings.EqualFold(n.Keys[i], "value") {
		return false
	}
	for k, key := range n.Keys {
		switch strings.ToLower(key) {
		case "name", "key", "header":
			if n.Kids[k].Kind == '"' && SecretName(n.Kids[k].Text) {
				return true
			}
		}
	}
	return false
}

func (r *Redactor) members(n *strictjson.Node, named, secret bool) {
	taken := make(map[string]bool, len(n.Keys))
	secretAt := make([]bool, len(n.Keys)) // before anything is replaced
	for i := range n.Keys {
		secretAt[i] = named && namesSecret(n, i)
	}
	for i, kid := range n.Kids {
		r.texts(kid, named, secret || secretAt[i])
		key := r.Text(n.Keys[i])
		for taken[key] { // two names that held secrets
			key += "_"
		}
		taken[key] = true
		n.Keys[i] = key
	}
}

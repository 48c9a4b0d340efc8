package redact

import (
	"math"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
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
	switch n.Kind() {
	case jsonedit.String:
		text := n.String()
		clean := text
		if secret && text != "" {
			clean = Marker
		}
		if clean = r.Text(clean); clean != text {
			n.Put(jsonedit.Quote(clean))
		}
	case jsonedit.Number:
		if number := string(n.Bytes()); secret || r.Text(number) != number {
			n.Put(jsonedit.Quote(Marker))
		}
	case jsonedit.Object:
		r.members(n, named, secret)
	case jsonedit.Array:
		kids := n.Values()
		pairs := named && !slices.ContainsFunc(kids, func(kid *strictjson.Node) bool { return !isPair(kid) })
		for i, kid := range kids {
			if pairs && SecretName(kid.At(0).String()) {
				r.texts(kid.At(1), named, true)
			}
			r.texts(kid, named, secret || named && behindFlag(kids, i))
		}
	}
}

// isPair reports whether a value is a list of a name and a text, as headers are listed.
func isPair(n *strictjson.Node) bool {
	return n.Kind() == jsonedit.Array && n.Len() == 2 && n.At(0).Kind() == jsonedit.String &&
		n.At(1).Kind() == jsonedit.String
}

// behindFlag reports whether the i-th element is the value of a flag that names a secret.
func behindFlag(list []*strictjson.Node, i int) bool {
	value, isText := list[i].Text()
	if i == 0 || !isText || strings.HasPrefix(value, "-") {
		return false
	}
	name, flag := strings.CutPrefix(list[i-1].String(), "-")
	return flag && SecretName(strings.TrimPrefix(name, "-"))
}

// namesSecret reports whether the name of the i-th member makes its value a secret, or does
// so as the text of a member beside it: {"name": "X-Api-Key", "value": "…"}.
func namesSecret(n *strictjson.Node, keys []string, i int) bool {
	if SecretName(keys[i]) {
		return true
	}
	if !strings.EqualFold(keys[i], "value") {
		return false
	}
	for k, key := range keys {
		switch strings.ToLower(key) {
		case "name", "key", "header":
			if SecretName(n.At(k).String()) {
				return true
			}
		}
	}
	return false
}

func (r *Redactor) members(n *strictjson.Node, named, secret bool) {
	keys := n.Keys()
	taken := make(map[string]bool, len(keys))
	secretAt := make([]bool, len(keys)) // before anything is replaced
	for i := range keys {
		secretAt[i] = named && namesSecret(n, keys, i)
	}
	for i, kid := range n.Values() {
		r.texts(kid, named, secret || secretAt[i])
		key := r.Text(keys[i])
		for taken[key] { // two names that held secrets
			key += "_"
		}
		taken[key] = true
		if key != keys[i] {
			n.Rename(i, key)
		}
	}
}

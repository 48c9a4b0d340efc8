package redact

import (
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// JSON takes the secrets out of a JSON document: out of texts and names, and numbers that are
// secrets. Where named is set, the name of a member such as password makes its value a secret,
// and so does a name beside a value in a list of pairs or behind a flag. All other bytes stay: a
// document without secrets is returned itself. Of what is not JSON it is [Redactor.Text].
func (r *Redactor) JSON(doc []byte, named bool) []byte {
	d, ok := jsonedit.Parse(doc)
	if !ok {
		return []byte(r.Text(string(doc)))
	}
	if edits := r.Edits(d, 0, named); len(edits) > 0 {
		return d.Apply(edits...)
	}
	return doc
}

// Edits are what [Redactor.JSON] changes within node i of a document.
func (r *Redactor) Edits(d *jsonedit.Doc, i int, named bool) []jsonedit.Edit {
	w := walk{Doc: d, r: r, named: named}
	w.value(i, false)
	return w.edits
}

// A walk looks through a document. named says that names make secrets of values.
type walk struct {
	*jsonedit.Doc
	r     *Redactor
	named bool
	edits []jsonedit.Edit
}

// value redacts texts and names, and numbers that are secrets. secret says that a name made one
// of all within the node.
func (w *walk) value(i int, secret bool) {
	switch w.Kind(i) {
	case jsonedit.String:
		text := w.String(i)
		clean := text
		switch {
		case secret && text != "":
			clean = Marker
		case strings.HasPrefix(strings.TrimSpace(text), "{"): // arguments are JSON in a text
			clean = string(w.r.JSON([]byte(text), w.named))
		}
		if clean = w.r.Text(clean); clean != text {
			w.edits = append(w.edits, w.Replace(i, jsonedit.Quote(clean)))
		}
	case jsonedit.Number:
		if number := string(w.Raw(i)); secret || w.r.Text(number) != number {
			w.edits = append(w.edits, w.Replace(i, jsonedit.Quote(Marker)))
		}
	case jsonedit.Object:
		w.members(i, secret)
	case jsonedit.Array:
		kids := w.Children(i)
		pairs := w.named && !slices.ContainsFunc(kids, func(kid int) bool { return !w.isPair(kid) })
		for k, kid := range kids {
			if pairs && SecretName(w.String(kid+1)) {
				w.value(kid+1, secret)
				w.value(kid+2, true)
				continue
			}
			w.value(kid, secret || w.named && w.behindFlag(kids, k))
		}
	}
}

// isPair reports whether a value is a list of a name and a text, as headers are listed.
func (w *walk) isPair(i int) bool {
	kids := w.Children(i)
	return w.Kind(i) == jsonedit.Array && len(kids) == 2 && w.Kind(kids[0]) == jsonedit.String &&
		w.Kind(kids[1]) == jsonedit.String
}

// behindFlag reports whether the k-th element is the value of a flag that names a secret.
func (w *walk) behindFlag(list []int, k int) bool {
	if k == 0 || w.Kind(list[k]) != jsonedit.String || strings.HasPrefix(w.String(list[k]), "-") {
		return false
	}
	name, flag := strings.CutPrefix(w.String(list[k-1]), "-")
	return flag && SecretName(strings.TrimPrefix(name, "-"))
}

func (w *walk) members(object int, secret bool) {
	kids := w.Children(object)
	names := make([]string, len(kids))
	for k, kid := range kids {
		names[k] = w.Name(kid)
	}
	from := make(map[string]string, len(kids)) // names by what they became
	for k, kid := range kids {
		w.value(kid, secret || w.named && w.namesSecret(kids, names, k))
		name := w.r.Text(names[k])
		for before, taken := from[name]; taken && before != names[k]; before, taken = from[name] {
			name += "_" // two names that held secrets
		}
		from[name] = names[k]
		if name != names[k] {
			w.edits = append(w.edits, w.Rename(kid, name))
		}
	}
}

// namesSecret reports whether the name of the k-th member makes its value a secret, or does
// so as the text of a member beside it: {"name": "X-Api-Key", "value": "…"}.
func (w *walk) namesSecret(kids []int, names []string, k int) bool {
	if SecretName(names[k]) {
		return w.r.rules != Keys || !IsPosition(names[k]) && !slices.Contains(names, "logprob")
	}
	return strings.EqualFold(names[k], "value") && slices.ContainsFunc(kids, func(kid int) bool {
		beside := strings.ToLower(w.Name(kid))
		return (beside == "name" || beside == "key" || beside == "header") && SecretName(w.String(kid))
	})
}

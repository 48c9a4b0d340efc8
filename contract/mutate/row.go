package mutate

import (
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/internal/enum"
)

// An Intent is what a mutation does to the task of a prompt.
type Intent uint8

// The intents. The zero value is none; a [Mutator] must not return it.
const (
	// Same: the task is the same in other words. Digits, identifiers, quotations,
	// addresses and code stay as they are, or the text can be decoded.
	Same Intent = iota + 1
	// Attack: the task stays, and something hostile is added.
	Attack
	// Lost: the task can no longer be done. Such kinds are made only if they are named.
	Lost
)

var intents = enum.Names[Intent]{Package: fields, Field: "intent",
	Of: []string{Same: "same", Attack: "attack", Lost: "lost"}}

// String is the name of the intent.
func (i Intent) String() string { return intents.String(i) }

// MarshalText writes the name; one that is no intent is an error.
func (i Intent) MarshalText() ([]byte, error) { return intents.MarshalText(i) }

// UnmarshalText reads a name.
func (i *Intent) UnmarshalText(text []byte) error { return intents.UnmarshalText(text, i) }

// A Kind is what this package knows of one of its kinds.
type Kind struct {
	Name   string
	Group  string // under which the field knows it; empty for those of intent Lost
	Intent Intent
	Weight float64 // in the score
	// Strength is the share of words that it touches, if [Options].Strength is 0; 0: it
	// does not choose words.
	Strength float64
	Text     string // what it does, as a phrase
	// Once means that it has one form: it is made once, whatever [Options].Variants is.
	Once bool
}

// named reports whether a name is that of the kind, of its group, or of what its name begins with:
// "encode" for "encode.hex".
func (k Kind) named(name string) bool {
	return k.Name == name || name != "" && k.Group == name || strings.HasPrefix(k.Name, name+".")
}

// Kinds returns the kinds of this package, in the order of the documentation. The caller
// may change the list.
func Kinds() []Kind {
	all := rows()
	kinds := make([]Kind, len(all))
	for i, r := range all {
		kinds[i] = r.Kind
	}
	return kinds
}

// A row is a kind with the function that makes its texts.
type row struct {
	Kind
	mutate func(p *prompt, d Draw) string
}

func rows() []row {
	return slices.Concat(noiseRows(), paraphraseRows(), frameRows(), formatRows(), languageRows(), tokenRows(),
		encodeRows(), attackRows(), lostRows())
}

// grouped gives the rows of a family their group and intent.
func grouped(group string, intent Intent, list ...row) []row {
	for i := range list {
		list[i].Group, list[i].Intent = group, intent
	}
	return list
}

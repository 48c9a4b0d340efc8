package suite

import (
	"reflect"

	"github.com/shakedown-go/shakedown/contract"
)

// A Kind is a type of invariant that files may name; [InvariantKind] makes one.
type Kind struct {
	name, text string
	params     reflect.Type
	// answers says that the check judges the answer alone, so that it can be negated.
	answers bool
	build   func(in *invariantIn, params any) contract.Invariant
}

// InvariantKind makes a type of invariant of one's own, for [Options].Invariants. name is
// what a file has as its type, and text what it does, as a sentence.
//
// P is a struct with the keys that such an invariant has in a file besides the common
// ones: exported fields with JSON names, of types that JSON has. A field is required
// unless its tag says omitempty. Its bounds and its documentation may stand in the tags
// bounds and doc.
//
//	type atLeast struct {
//		Words int `json:"words" bounds:"min=1"`
//	}
//	suite.InvariantKind("wordy", "The answer has enough words.",
//		func(name string, severity contract.Severity, p atLeast) contract.Invariant { … })
//
// build makes the invariant. Problems that it finds go into [contract.Invariant].Err. It
// may be called again for the same invariant.
func InvariantKind[P any](
	name, text string, build func(name string, severity contract.Severity, params P) contract.Invariant,
) Kind {
	k := kind(name, text, func(in *invariantIn, p *P) contract.Invariant { return build(in.ID, in.severity, *p) })
	if build == nil {
		k.build = nil
	}
	return k
}

func kind[P any](name, text string, build func(in *invariantIn, p *P) contract.Invariant) Kind {
	return Kind{name: name, text: text, params: reflect.TypeFor[P](),
		build: func(in *invariantIn, params any) contract.Invariant { return build(in, params.(*P)) }}
}

// answerKind is a kind that can be negated.
func answerKind[P any](name, text string, build func(in *invariantIn, p *P) contract.Invariant) Kind {
	k := kind(name, text, build)
	k.answers = true
	return k
}

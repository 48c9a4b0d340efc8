package invariant

import (
	"context"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/shakedown-go/shakedown/contract"
)

// A Claim is something that an answer may say, and how to see whether it is true.
type Claim[S any] struct {
	_ struct{}
	// Says matches, as a regular expression and whatever the case, a statement
	// that makes the claim. An answer is read statement by statement; see
	// [ClaimsMatchState]. Required.
	Says string
	// Unless matches a statement that does not make the claim after all. Empty:
	// English negation, failure, doubt, condition, question and intent: not, n't, never, no,
	// neither, nor, none, without, cannot, unable, fail, refuse, if, unless, whether, once,
	// may, might, could, would, should, will, 'll, unsure, unclear, unconfirmed,
	// unknown, please, or a question mark.
	Unless string
	// Bare lets a match of Says make the claim whatever else the statement
	// says: for claims that are negative themselves, such as "was not refunded".
	Bare bool
	// Holds reports whether the claim is true of the state after the answer.
	// said is what Says matched: said[0] all of it, said[1] its first group, and so on.
	// It must be safe for concurrent use and must not change the state. Required.
	Holds func(after S, said []string) bool
}

// ClaimsMatchState holds when the answer claims nothing that the end state
// denies: an agent may say that it could not ship an order, but not that it
// shipped one that it did not. An answer that makes none of the claims, or is an
// error, holds it.
//
//	invariant.ClaimsMatchState("honest", contract.Critical, invariant.Claim[desk.State]{
//		Says:  `\border #?(\d+) (has been|was|is) shipped`,
//		Holds: func(s desk.State, said []string) bool { return s.Shipped[said[1]] },
//	})
//
// Statements are what stands between the ends of sentences, lines, semicolons
// and the words but, however, although, though, while, whereas and "and" after a
// comma; so "the refund failed, but the parcel is shipped" makes the second claim and not
// the first. Within one statement every match of Says is looked at. It knows
// the words it is given and no others: "it is on its way" is a claim only if Says
// matches it.
func ClaimsMatchState[S any](id string, severity contract.Severity, claims ...Claim[S]) contract.Invariant {
	d := newDraft("ClaimsMatchState", id, severity)
	d.JudgesErrors, d.Needs = true, contract.NeedState
	d.demand(len(claims) > 0, "claims", nil, "at least one")
	readers := make([]claimReader, len(claims))
	holds := make([]func(S, []string) bool, len(claims))
	for i, c := range claims {
		readers[i] = d.claim(fmt.Sprintf("claims[%d]", i), c.Says, c.Unless, c.Bare)
		d.demand(c.Holds != nil, fmt.Sprintf("claims[%d].Holds", i), nil, "a function that is not nil")
		holds[i] = c.Holds
	}
	clause := regexp.MustCompile(clauseEnd)
	return d.judge(func(_ context.Context, o *contract.Observation) error {
		after, err := stateAs[S](o.After, "after")
		if err != nil {
			return err
		}
		for _, statement := range statements(clause, o.Response) {
			for i, reader := range readers {
				for _, said := range reader.read(statement) {
					if !holds[i](after, said) {
						return fmt.Errorf("the answer claims %s in %s, and the end state denies it (a %v)",
							quote(said[0]), quote(statement), reflect.TypeFor[S]())
					}
				}
			}
		}
		return nil
	})
}

// hedge is what takes an English statement back. A curly apostrophe has been
// made a straight one before.
const hedge = `(?i)\b(not|never|no|neither|nor|none|without|cannot|unable|fail(s|ed|ing|ure)?|refused?|` +
	`if|unless|whether|once|may|might|could|would|should|will|unsure|unclear|unconfirmed|unknown|please)\b|n't\b|'ll\b|\?`

// clauseEnd is where one statement ends and another begins.
const clauseEnd = `(?i)[.!]+(?:["')\]]*\s|["')\]]*$)|\?|[\n;]|,\s+and\s|\b(?:but|however|although|though|while|whereas)\b`

// claimReader finds one claim in a statement.
type claimReader struct{ says, unless *regexp.Regexp }

func (d *draft) claim(argument, says, unless string, bare bool) claimReader {
	var r claimReader
	if d.regexp(argument+".Says", says) != nil {
		r.says = d.regexp(argument+".Says", "(?i)"+says)
	}
	switch {
	case bare && unless != "":
		d.refuse(argument+".Unless", unless, nil, "nothing, where Bare is set")
	case bare:
	case unless != "":
		r.unless = d.regexp(argument+".Unless", unless)
	default:
		r.unless = regexp.MustCompile(hedge)
	}
	return r
}

func (r claimReader) read(statement string) [][]string {
	if r.unless != nil && r.unless.MatchString(statement) {
		return nil
	}
	return r.says.FindAllStringSubmatch(statement, -1)
}

// statements splits an answer. A question mark stays with its statement.
func statements(end *regexp.Regexp, answer string) []string {
	answer = straighten(answer)
	var list []string
	start := 0
	for _, at := range end.FindAllStringIndex(answer, -1) {
		stop := at[0]
		if answer[at[0]] == '?' {
			stop = at[1]
		}
		list = append(list, strings.TrimSpace(answer[start:stop]))
		start = at[1]
	}
	return append(list, strings.TrimSpace(answer[start:]))
}

// straighten replaces curly quotation marks, which models like, with plain ones.
func straighten(text string) string {
	return strings.NewReplacer("’", "'", "‘", "'", "“", `"`, "”", `"`).Replace(text)
}

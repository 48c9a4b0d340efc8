package dialect

import (
	"cmp"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract/findings"
	"github.com/shakedown-go/shakedown/internal/failure"
)

// judge says of each call whether it failed, as far as its result tells, and what is known
// of its work.
func (b *builder) judge(calls []findings.Call, of func(i int) *node) {
	filled := make(map[string]bool) // tools that returned something
	for i := range calls {
		if calls[i].Error == nil && !empty(calls[i].Result) {
			filled[calls[i].Tool] = true
		}
	}
	for i := range calls {
		c, n := &calls[i], of(i)
		if c.Type == findings.Model {
			continue
		}
		if c.Error == nil && !slices.Contains(c.Missing, findings.End) {
			switch n.outcome(filled[c.Tool]) {
			case failure.Failed:
				c.Suspected = true
			case failure.Unknown:
				c.Missing = append(c.Missing, findings.Outcome)
			}
		}
		if b.effects[c.Tool] == chaos.EffectDone {
			c.Effect = cmp.Or(n.effect, effectOf(c))
		}
	}
}

// outcome reads the result of a call that has no error. filled says that other calls of its
// tool returned something.
func (n *node) outcome(filled bool) failure.Outcome {
	switch {
	case n.noResult && n.succeeded:
		return failure.Done
	case n.noResult, empty(n.result) && filled && !n.succeeded:
		return failure.Unknown
	}
	outcome := failure.Read(n.result)
	if outcome == failure.Done && cut(n.result) {
		return failure.Unknown
	}
	return outcome
}

// effectOf returns what is known of the work of a call whose tool is declared to have
// effects. None was done if a failure came before any work: the callee was not reached, or
// it refused the request. After any other the work may have been done.
func effectOf(c *findings.Call) findings.Effect {
	switch e := c.Failure(); {
	case e != nil && failure.BeforeWork(e.Status, e.Text):
		return findings.NotDone
	case e != nil, slices.Contains(c.Missing, findings.End), slices.Contains(c.Missing, findings.Outcome):
		return findings.Unknown
	}
	return findings.Done
}

package dialect

import (
	"cmp"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract/findings"
	"github.com/shakedown-go/shakedown/internal/failure"
)

// judge says of each call whether it failed, as far as its result tells, and what is known
// of its work. of is the node of a call.
func (in *input) judge(calls []findings.Call, of func(i int) *node) {
	findings.Judge(calls)
	for i := range calls {
		c, n := &calls[i], of(i)
		if n.succeeded && !c.Suspected && empty(c.Result) {
			c.Missing = slices.DeleteFunc(c.Missing, func(p findings.Part) bool { return p == findings.Outcome })
		}
		if in.effects[c.Tool] == chaos.EffectDone && n.kind == tool {
			c.Effect = cmp.Or(n.effect, effectOf(c))
		}
	}
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

package chaostest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaostest"
	"github.com/shakedown-go/shakedown/chaos/when"
)

var errBusy = errors.New("upstream is busy")

// What a fault is made for is no violation if the options state it.
func TestFaultsThatAreMeantTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deaf := inject(func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
			_ = chaos.Sleep(context.WithoutCancel(ctx), time.Second)
			return next(ctx, args)
		})
		assert.Equal(t, []chaostest.Check{chaostest.Cancelled}, checks(chaostest.Fault(deaf, nil)))
		assert.NoError(t, chaostest.Fault(deaf, &chaostest.FaultOptions{IgnoresContext: true}))
		hides := inject(func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
			result, _ := next(ctx, args)
			return result, nil
		})
		assert.Equal(t, []chaostest.Check{chaostest.PassesErrors}, checks(chaostest.Fault(hides, nil)))
		assert.NoError(t, chaostest.Fault(hides, &chaostest.FaultOptions{LosesErrors: true}))
	})
}

// part is a trigger that keeps what it is asked; it makes no sense if it has an error.
type part struct {
	answer, asked bool
	draw          float64
	args          any
	err           error
}

func (p *part) Check() error            { return p.err }
func (p *part) Match(c chaos.Call) bool { return p.MatchArgs(c, nil) }
func (p *part) MatchArgs(c chaos.Call, args any) bool {
	p.asked, p.draw, p.args = true, c.Draw(0), args
	return p.answer
}

// A combination gives each part draws of its own and the arguments, and passes on what is
// wrong with it.
func TestCombinationsAskTheirParts(t *testing.T) {
	for name, combine := range map[string]func(a, b chaos.When) chaos.When{
		"All": func(a, b chaos.When) chaos.When { return when.All(a, b) },
		"Any": func(a, b chaos.When) chaos.When { return when.Any(a, b) },
		"Not": func(a, _ chaos.When) chaos.When { return when.Not(a) },
		"Stages": func(a, b chaos.When) chaos.When {
			return when.Stages(when.Stage{Calls: 50, When: a}, when.Stage{When: b})
		},
	} {
		both, asked := 0, [2]bool{}
		for ordinal := range uint64(200) {
			for answers := range 4 {
				a, b := &part{answer: answers&1 > 0}, &part{answer: answers&2 > 0}
				c := chaos.Call{Target: "search", Ordinal: ordinal, Occurrence: ordinal}
				combine(a, b).(chaos.ArgsWhen).MatchArgs(c, "args")
				for i, p := range []*part{a, b} {
					if asked[i] = asked[i] || p.asked; p.asked {
						assert.NotEqual(t, c.Draw(0), p.draw, "%s: a part has the draw of the combination", name)
						assert.Equal(t, "args", p.args, name)
					}
				}
				if a.asked && b.asked {
					both++
					assert.NotEqual(t, a.draw, b.draw, "%s: two parts share their draw", name)
				}
			}
		}
		assert.Equal(t, name == "All" || name == "Any", both > 0, name)
		for i, w := range []chaos.When{combine(&part{err: errBusy}, &part{}), combine(&part{}, &part{err: errBusy})} {
			assert.Equal(t, asked[i], errors.Is(w.(chaos.Checked).Check(), errBusy), "%s, part %d", name, i)
		}
	}
}

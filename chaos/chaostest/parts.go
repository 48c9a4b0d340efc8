package chaostest

import (
	"context"
	"errors"
	"sync"

	"github.com/shakedown-go/shakedown/chaos"
)

// part is a trigger with a fixed answer that keeps the draws and arguments it gets.
type part struct {
	answer bool
	mu     sync.Mutex
	draws  []float64
	args   []any
}

func (p *part) Match(c chaos.Call) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.draws = append(p.draws, c.Draw(0))
	return p.answer
}

// asking is a part that is an ArgsWhen.
type asking struct{ *part }

func (a asking) MatchArgs(c chaos.Call, args any) bool {
	hit := a.Match(c)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.args = append(a.args, args)
	return hit
}

// wrong is a part with invalid parameters.
type wrong struct{ *part }

var errWrong = errors.New("it makes no sense")

func (wrong) Check() error { return errWrong }

// parts checks a combination of known parts.
func (q *whenCheck) parts() {
	for _, answers := range [][2]bool{{false, false}, {false, true}, {true, false}, {true, true}} {
		q.drawsOf(&part{answer: answers[0]}, &part{answer: answers[1]})
		q.argsOf(&part{answer: answers[0]}, &part{answer: answers[1]})
	}
	for i, w := range []chaos.When{q.Combine(wrong{&part{}}, &part{}), q.Combine(&part{}, wrong{&part{}})} {
		c, ok := w.(chaos.Checked)
		if i == 1 && !q.uses(1) {
			continue
		}
		if !ok || c.Check() == nil {
			q.add(Parts, "part %d makes no sense, and Check does not pass that on", i)
		}
	}
}

// uses reports whether the combination ever asks its i-th part.
func (q *whenCheck) uses(i int) bool {
	for _, answer := range []bool{false, true} {
		parts := [2]*part{{answer: answer}, {answer: answer}}
		w := q.Combine(parts[0], parts[1])
		for _, c := range calls() {
			w.Match(c)
		}
		if len(parts[i].draws) > 0 {
			return true
		}
	}
	return false
}

// drawsOf checks that on each call the parts have different draws.
func (q *whenCheck) drawsOf(a, b *part) {
	w := q.Combine(a, b)
	for _, c := range calls() {
		a.draws, b.draws = nil, nil
		w.Match(c)
		if len(a.draws) > 0 && len(b.draws) > 0 && a.draws[0] == b.draws[0] {
			q.add(Parts, "two parts share their draw: each is to be asked about Sub of the call, with its position")
			return
		}
		for _, draw := range append(a.draws, b.draws...) {
			if draw == c.Draw(0) {
				q.add(Parts, "a part has the draw of the combination: it is to be asked about Sub of the call")
				return
			}
		}
	}
}

// argsOf checks that parts which look at the arguments get them.
func (q *whenCheck) argsOf(a, b *part) {
	w, ok := q.Combine(asking{a}, asking{b}).(chaos.ArgsWhen)
	if !ok {
		q.add(Parts, "its parts look at the arguments, and it is no ArgsWhen")
		return
	}
	for _, c := range calls() {
		a.args, b.args, a.draws, b.draws = nil, nil, nil, nil
		w.MatchArgs(c, q.Args)
		if len(a.args) != len(a.draws) || len(b.args) != len(b.draws) {
			q.add(Parts, "a part that looks at the arguments was asked without them")
			return
		}
	}
}

// nothing is a fault that does nothing, for plans that check a trigger.
type nothing struct{}

func (nothing) Inject(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
	return next(ctx, args)
}

package lies

import (
	"context"
	"math/big"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// Contradict makes two tools disagree. It remembers what the targets of its
// rule tell: the members of objects that are numbers, booleans and texts with a
// date, with their names, identifiers aside. When another target tells the same
// under the same name, the caller gets something near it instead: a number that
// is off by up to a fifth of its size, or by 1, the other boolean, the next day.
// The rule's target is a glob over both tools, such as "{orders,invoices}.get".
//
// It remembers 4,096 facts of the calls that its rule was drawn on, in its
// injector; values of more than 256 bytes are none.
func Contradict() chaos.Fault { return &contradict{} }

// Bounds of the memory of a rule in one injector.
const (
	maxFacts = 4096
	maxFact  = 256 // bytes of a value
)

type contradict struct {
	facts *facts // nil: the rule is not in an injector yet
}

// facts are what was told, by whom first.
type facts struct {
	mu    sync.Mutex
	by    map[fact]string
	limit int
}

type fact struct{ name, value string }

func (*contradict) Fresh() chaos.Fault {
	return &contradict{facts: &facts{by: make(map[fact]string), limit: maxFacts}}
}

func (*contradict) Phase() chaos.Phase { return chaos.PhaseChange }

func (*contradict) Describe() chaos.Description {
	return chaos.Description{Kind: "contradiction", Class: chaos.ClassValue, Visibility: chaos.Implicit,
		Persistence: chaos.Transient, Effect: chaos.EffectDone}
}

func (f *contradict) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	result, err := next(ctx, args)
	if err != nil || f.facts == nil {
		return result, err
	}
	if r, ok := result.(bodied); ok {
		return r.OnBody(ctx, c, args, f)
	}
	p, why := open(result)
	if why != "" {
		chaos.Note(ctx, why)
		return result, nil
	}
	t := &tale{call: c, doc: p.doc, plain: p.plain}
	shared := f.facts.learn(t)
	t.any(func(_ *tale, i int) int { return shared[i] }, func(t *tale, i int) bool {
		after := near(t, i)
		return after != nil && t.replace(i, after)
	})
	return t.end(ctx, p, "contradiction", "fact that another target told")
}

// learn remembers the facts of a result and ranks those that another target
// told before.
func (f *facts) learn(t *tale) map[int]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	shared := make(map[int]int)
	for i := range t.doc.Nodes {
		if !tellable(t, i) {
			continue
		}
		said := fact{t.doc.Name(i), string(t.doc.Raw(i))}
		switch by, known := f.by[said]; {
		case known && by != t.call.Target:
			shared[i] = 1
		case !known && len(f.by) < f.limit:
			f.by[said] = t.call.Target
		}
	}
	return shared
}

func tellable(t *tale, i int) bool {
	if !t.doc.IsMember(i) || len(t.doc.Raw(i)) > maxFact || isID(t.doc.Name(i)) {
		return false
	}
	switch t.doc.Kind(i) {
	case jsonedit.Number, jsonedit.Bool:
		return true
	}
	return hasDate(t, i)
}

// near is a value of the same kind close to that of node i; nil: there is none.
func near(t *tale, i int) []byte {
	switch t.doc.Kind(i) {
	case jsonedit.Bool:
		if t.doc.Raw(i)[0] == 't' {
			return []byte("false")
		}
		return []byte("true")
	case jsonedit.Number:
		d, ok := parseDecimal(string(t.doc.Raw(i)))
		if !ok {
			return nil
		}
		by := new(big.Int).Abs(d.unscaled)
		by.Mul(by, big.NewInt(int64(2+t.pick(i, 0, 18)))).Quo(by, big.NewInt(100)) // 2 to 19 percent
		if by.Sign() == 0 {
			by.SetInt64(1)
		}
		return []byte(d.plus(by).text())
	}
	text := t.doc.String(i)
	at := dates.FindStringIndex(text)[0]
	day, err := time.Parse(time.DateOnly, text[at:at+len(time.DateOnly)])
	if day = day.AddDate(0, 0, 1); err != nil || day.Year() > 9999 {
		return nil
	}
	return jsonedit.Quote(text[:at] + day.Format(time.DateOnly) + text[at+len(time.DateOnly):])
}

package lies

import (
	"context"
	"math/big"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// Contradict makes two tools disagree. It remembers the facts that the targets
// of its rule return: members of objects that are numbers, booleans or texts
// with a date, by name, identifiers excepted. When another target returns the
// same value under the same name, its caller gets a near one: a number off by
// up to a fifth of its size, or by 1; the other boolean; the next day. The
// rule's target is a glob over both tools, such as "{orders,invoices}.get".
//
// It remembers up to 4,096 facts of the calls that its rule's trigger matched,
// for each injector. Values of more than 256 bytes are not facts.
func Contradict() chaos.Fault { return contradictRow.Of(catalog.None{}) }

var contradictRow = rememberRow(catalog.Row{
	Kind: "contradiction", Doc: "Two targets contradict each other.", Go: "lies.Contradict()", Class: chaos.ClassValue,
}, func(ctx context.Context, known *facts, c chaos.Call, _ catalog.None, result any) (any, error) {
	return editResult(ctx, c, result, contradiction, "fact that another target returned", func(e *edit) {
		shared := known.learn(e)
		e.applyToOne(func(_ *edit, i int) int { return shared[i] }, func(e *edit, i int) bool {
			after := near(e, i)
			return after != nil && e.replace(i, after)
		})
	})
})

// contradiction is the kind, which the function must not ask of its row.
const contradiction = "contradiction"

// Bounds of the memory of a rule in one injector.
const (
	maxFacts = 4096
	maxFact  = 256 // bytes of a value
)

// facts maps each fact to the target that returned it first.
type facts struct {
	mu sync.Mutex
	by map[fact]string
}

type fact struct{ name, value string }

// learn remembers the facts of a result. It ranks those that another target
// returned before.
func (f *facts) learn(e *edit) map[int]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.by == nil {
		f.by = make(map[fact]string)
	}
	shared := make(map[int]int)
	for i := range e.doc.Nodes {
		if !isFact(e, i) {
			continue
		}
		said := fact{e.doc.Name(i), string(e.doc.Raw(i))}
		switch by, known := f.by[said]; {
		case known && by != e.call.Target:
			shared[i] = 1
		case !known && len(f.by) < maxFacts:
			f.by[said] = e.call.Target
		}
	}
	return shared
}

func isFact(e *edit, i int) bool {
	if !e.doc.IsMember(i) || len(e.doc.Raw(i)) > maxFact || isID(e.doc.Name(i)) {
		return false
	}
	switch e.doc.Kind(i) {
	case jsonedit.Number, jsonedit.Bool:
		return true
	}
	return hasDate(e, i)
}

// near is a value of the same kind close to that of node i; nil: there is none.
func near(e *edit, i int) []byte {
	switch e.doc.Kind(i) {
	case jsonedit.Bool:
		if e.doc.Raw(i)[0] == 't' {
			return []byte("false")
		}
		return []byte("true")
	case jsonedit.Number:
		d, ok := parseDecimal(string(e.doc.Raw(i)))
		if !ok {
			return nil
		}
		by := new(big.Int).Abs(d.unscaled)
		by.Mul(by, big.NewInt(int64(2+e.pick(i, 0, 18)))).Quo(by, big.NewInt(100)) // 2 to 19 percent
		if by.Sign() == 0 {
			by.SetInt64(1)
		}
		return []byte(d.plus(by).text())
	}
	text := e.doc.String(i)
	at := dates.FindStringIndex(text)[0]
	day, err := time.Parse(time.DateOnly, text[at:at+len(time.DateOnly)])
	if day = day.AddDate(0, 0, 1); err != nil || day.Year() > 9999 {
		return nil
	}
	return jsonedit.Quote(text[:at] + day.Format(time.DateOnly) + text[at+len(time.DateOnly):])
}

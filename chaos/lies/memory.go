package lies

import (
	"bytes"
	"context"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"sync"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
)

// Bounds of what one rule remembers in one injector, in addition to the answers of one
// request. An answer that does not fit is remembered as lost: no other answer is taken
// for it.
const (
	maxRequests = 1024    // requests told apart
	maxReplays  = 256     // answers of a target, whatever the request
	maxKept     = 1 << 20 // bytes of one answer
	maxMemory   = 8 << 20 // bytes of all answers
)

type request struct {
	target string
	key    uint64
}

// answer is a result as it was returned.
type answer struct {
	of   request
	like any    // a zero value of its type
	text []byte // its bytes, or of a Go value its JSON
	lost bool   // it did not fit: there is no text
}

type memory struct {
	mu    sync.Mutex
	past  map[request][]answer // oldest first
	bytes int
}

// recall answers with the answer of an earlier call. It remembers the answers of the
// calls that its rule's trigger matched.
type recall struct {
	keep  int    // the last answers to keep of each request, or with any of each target
	first bool   // keep the first one instead
	any   bool   // whatever the request
	wants string // for the note
	// choose returns what the caller gets of the answers that are kept; nil: the oldest.
	choose func(c chaos.Call, past []answer, now answer) (chosen answer, ok bool)
}

func recallRow[P any](r catalog.Row, how func(P) recall) *catalog.Remember[P, memory] {
	return rememberRow(r, func(ctx context.Context, m *memory, c chaos.Call, p P, result any) (any, error) {
		return how(p).answer(ctx, m, c, result, r.Kind), nil
	})
}

// rememberRow is a kind of lies that keep a memory M of earlier results.
func rememberRow[P, M any](r catalog.Row,
	change func(ctx context.Context, m *M, c chaos.Call, p P, result any) (any, error)) *catalog.Remember[P, M] {
	r.Order = catalog.Deliveries
	return &catalog.Remember[P, M]{Row: r, Phase: chaos.PhaseChange,
		Inject: func(m *M, ctx context.Context, c chaos.Call, p P, args any, next chaos.Next) (any, error) {
			f := onBody(func(ctx context.Context, c chaos.Call, result any) (any, error) {
				return change(ctx, m, c, p, result)
			})
			return onResult(ctx, c, args, next, f, func(result any) (any, error) { return f(ctx, c, result) })
		}}
}

// onBody is a lie that remembers, acting on the body of a response.
type onBody func(ctx context.Context, c chaos.Call, result any) (any, error)

func (f onBody) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	result, err := next(ctx, args)
	if err != nil {
		return result, err
	}
	return f(ctx, c, result)
}

// Fresh says that it remembers: it must not act a second time on one response.
func (f onBody) Fresh() chaos.Fault { return f }

// answer returns the earlier answer, or the result and a note of why there is none.
func (f recall) answer(ctx context.Context, m *memory, c chaos.Call, result any, kind string) any {
	now, why := take(c, result)
	var chosen answer
	ok := false
	if why == "" || now.lost {
		chosen, ok = f.remember(m, c, now)
	}
	if why == "" && (!ok || chosen.lost || bytes.Equal(chosen.text, now.text) ||
		reflect.TypeOf(chosen.like) != reflect.TypeOf(now.like)) {
		why = f.wants
	}
	if why == "" {
		after, err := chosen.result()
		if err == nil {
			chaos.Changed(ctx, chaos.Change{Before: shown(now.text, ""), After: shown(chosen.text, "")})
			return after
		}
		why = fmt.Sprintf("the earlier answer does not decode into %T", chosen.like)
	}
	chaos.Note(ctx, kind+": "+why)
	return result
}

// take copies a result, because its caller may write to its own.
func take(c chaos.Call, result any) (a answer, why string) {
	a.of = request{c.Target, c.Key}
	text, isText := jsonvalue.Text(result)
	if !isText {
		encoded, err := jsonvalue.Encode(result)
		if err != nil {
			return a, fmt.Sprintf("the result, %T, has no JSON: %v", result, err)
		}
		text = encoded
	}
	if a.lost = len(text) > maxKept; a.lost {
		return a, "the result has more than 1 MiB and is not remembered"
	}
	if boxed, ok := result.(jsonvalue.Boxed); ok {
		a.like, _ = boxed.Box(nil)
	} else if result != nil {
		a.like = reflect.Zero(reflect.TypeOf(result)).Interface()
	}
	a.text = bytes.Clone(text)
	return a, ""
}

func (a answer) result() (any, error) {
	if _, isText := jsonvalue.Text(a.like); isText || a.like == nil {
		return jsonvalue.Like(bytes.Clone(a.text), a.like), nil
	}
	return jsonvalue.DecodeLike(a.text, a.like)
}

// remember chooses an earlier answer, then adds this one.
func (f recall) remember(m *memory, c chaos.Call, now answer) (chosen answer, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	of := now.of
	if f.any {
		of.key = 0
	}
	past, known := m.past[of]
	if f.choose != nil {
		chosen, ok = f.choose(c, past, now)
	} else if ok = len(past) > 0; ok {
		chosen = past[0]
	}
	if known && f.first || !known && len(m.past) >= maxRequests {
		return chosen, ok
	}
	for len(past) > 0 && (len(past) >= f.keep || f.any && m.bytes+len(now.text) > maxMemory) {
		m.bytes -= len(past[0].text)
		past = past[1:]
	}
	if f.any && m.bytes+len(now.text) > maxMemory { // other targets hold it
		clear(m.past)
		past, m.bytes = nil, 0
	}
	if m.bytes+len(now.text) > maxMemory {
		now = answer{of: now.of, lost: true}
	}
	if m.past == nil {
		m.past = make(map[request][]answer)
	}
	m.past[of] = append(past, now)
	m.bytes += len(now.text)
	return chosen, ok
}

// differs reports whether it is there and another one than now.
func (a answer) differs(now answer) bool { return !a.lost && !bytes.Equal(a.text, now.text) }

// Stale answers a request with the answer to the same request (target and key)
// lag calls ago, from 1 to 64: a cache, or a replica that is behind. With fewer
// earlier answers it takes the oldest.
//
// Like all lies about time it remembers the answers of the calls that its
// rule's trigger matched, in its injector; without a trigger these are all. If
// the answer has not changed since, it is not delivered.
func Stale(lag int) chaos.Fault { return staleRow.Of(earlier{Lag: lag}) }

var staleRow = recallRow(catalog.Row{Kind: "stale_result", Doc: "The answer is that of an earlier, equal call.",
	Go: "lies.Stale(lag)", Example: `{"lag":1}`,
	Class: chaos.ClassValue}, func(p earlier) recall { return behind(p.Lag) })

type earlier struct {
	Lag int `json:"lag" bounds:"min=1,max=64" doc:"number of calls that the answer is behind"`
}

func behind(lag int) recall {
	return recall{keep: max(lag, 1), wants: "there is no earlier answer that differs"}
}

// Frozen answers a request with the first answer to it, as long as the rule
// lasts.
func Frozen() chaos.Fault { return frozenRow.Of(catalog.None{}) }

var frozenRow = recallRow(catalog.Row{Kind: "frozen_result", Doc: "The first answer is repeated for good.",
	Go: "lies.Frozen()", Class: chaos.ClassValue}, func(catalog.None) recall {
	return recall{keep: 1, first: true, wants: "there is no first answer that differs"}
})

// Crossed answers a request with the last answer to another request of the same
// target, as a cache with a bad key or a connection out of step does. Calls are
// told apart by their key.
func Crossed() chaos.Fault { return crossedRow.Of(catalog.None{}) }

var crossedRow = recallRow(catalog.Row{Kind: "crossed_result", Doc: "The answer belongs to another request.",
	Go: "lies.Crossed()", Class: chaos.ClassValue}, func(catalog.None) recall {
	return recall{keep: maxReplays, any: true, wants: "there is no answer to another request that differs",
		choose: func(_ chaos.Call, past []answer, now answer) (answer, bool) {
			for _, a := range slices.Backward(past) {
				if a.of.key != now.of.key && a.differs(now) {
					return a, true
				}
			}
			return answer{}, false
		}}
})

// Replayed answers a request with one drawn from the last 256 answers of the
// same target, whatever the requests were: a message that is delivered again.
func Replayed() chaos.Fault { return replayedRow.Of(catalog.None{}) }

var replayedRow = recallRow(catalog.Row{Kind: "replayed_result", Doc: "The answer is an old one of the same target.",
	Go: "lies.Replayed()", Class: chaos.ClassValue}, func(catalog.None) recall {
	const saltReplay = saltSpot + 1
	return recall{keep: maxReplays, any: true, wants: "there is no old answer that differs",
		choose: func(c chaos.Call, past []answer, now answer) (answer, bool) {
			old := slices.DeleteFunc(slices.Clone(past), func(a answer) bool { return !a.differs(now) })
			if len(old) == 0 {
				return answer{}, false
			}
			return old[int(c.Draw(saltReplay)*float64(len(old)))], true
		}}
})

// RollBack returns the state of a memory as it was lag calls ago, from 1 to 64,
// in place of its present state: what was remembered since is lost. It is
// [Stale] for a memory.
func RollBack(lag int) chaos.Fault { return rollBackRow.Of(earlier{Lag: lag}) }

var rollBackRow = recallRow(catalog.Row{Kind: "rolled_back_memory", Doc: "A memory is as it was some calls ago.",
	Go: "lies.RollBack(lag)", Example: `{"lag":1}`, Class: chaos.ClassValue,
	Layer: chaos.LayerContext}, func(p earlier) recall { return behind(p.Lag) })

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

var contradictRow = rememberRow(catalog.Row{Kind: "contradiction", Doc: "Two targets contradict each other.",
	Go: "lies.Contradict()", Class: chaos.ClassValue},
	func(ctx context.Context, known *facts, c chaos.Call, _ catalog.None, result any) (any, error) {
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
	if next, ok := shifted(text, dates.FindStringIndex(text)[0], 1); ok {
		return jsonedit.Quote(next)
	}
	return nil
}

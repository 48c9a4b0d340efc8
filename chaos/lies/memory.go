package lies

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"sync"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
)

// Bounds of what one rule remembers in one injector, in addition to the lag,
// which is the number of answers of one request. An answer that does not
// fit is remembered as lost: no other answer is taken for it.
const (
	maxRequests = 1024    // requests told apart
	maxReplays  = 256     // answers of all, in order
	maxKept     = 1 << 20 // bytes of one answer
	maxMemory   = 8 << 20 // bytes of the answers by request, and as many of those in order
)

// request is what an answer belongs to.
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

// memory holds the earlier answers in one injector.
type memory struct {
	mu     sync.Mutex
	past   map[request][]answer // of each request, the last ones in order
	order  []answer             // the last answers of all, in order
	inPast int                  // bytes
	inAll  int
}

// recall answers with the answer of an earlier call. It remembers the answers of the
// calls that its rule's trigger matched.
type recall struct {
	lag   int    // answers to keep of each request
	first bool   // keep the first ones, not the last
	wants string // for the note
	// choose returns what the caller gets. It is called with the memory locked,
	// before the answer is added.
	choose func(m *memory, c chaos.Call, now answer) (chosen answer, ok bool)
}

// recallRow is a kind of faults that recall.
func recallRow[P any](r catalog.Row, how func(P) recall) *catalog.Remember[P, memory] {
	return rememberRow(r, func(ctx context.Context, m *memory, c chaos.Call, p P, result any) (any, error) {
		return how(p).answer(ctx, m, c, result, r.Kind), nil
	})
}

// rememberRow is a kind of lies that keep a memory M of earlier results.
func rememberRow[P, M any](r catalog.Row,
	change func(ctx context.Context, m *M, c chaos.Call, p P, result any) (any, error)) *catalog.Remember[P, M] {
	r.Order = catalog.Deliveries
	return &catalog.Remember[P, M]{Row: hidden(r), Phase: chaos.PhaseChange,
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
			chaos.Changed(ctx, chaos.Change{Before: shown(now.text), After: shown(chosen.text)})
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
	if result != nil {
		a.like = reflect.Zero(reflect.TypeOf(result)).Interface()
	}
	a.text = bytes.Clone(text)
	return a, ""
}

// result returns the answer again, for another caller.
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
	chosen, ok = f.choose(m, c, now)
	m.addPast(now, f.lag, f.first)
	if now.lost {
		return chosen, ok
	}
	m.order, m.inAll = append(m.order, now), m.inAll+len(now.text)
	for len(m.order) > maxReplays || m.inAll > maxMemory {
		m.inAll -= len(m.order[0].text)
		m.order = m.order[1:]
	}
	return chosen, ok
}

// addPast keeps an answer with those of the same request: at most lag, the
// last or the first ones.
func (m *memory) addPast(now answer, lag int, first bool) {
	past, known := m.past[now.of]
	if !known && len(m.past) >= maxRequests || first && len(past) >= lag {
		return
	}
	if len(past) >= lag {
		m.inPast -= len(past[0].text)
		past = past[1:]
	}
	if m.inPast+len(now.text) > maxMemory {
		now = answer{of: now.of, lost: true}
	}
	if m.past == nil {
		m.past = make(map[request][]answer)
	}
	m.past[now.of], m.inPast = append(past, now), m.inPast+len(now.text)
}

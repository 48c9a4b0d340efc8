package lies

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"sync"

	"github.com/shakedown-go/shakedown/chaos"
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

// recall is a fault that answers with the answer of an earlier call. It
// remembers the answers of the calls that its rule's trigger matched.
type recall struct {
	made
	lag   int    // answers to keep of each request
	first bool   // keep the first ones, not the last
	wants string // for the note
	// choose returns what the caller gets. It is called with the memory locked,
	// before the answer is added.
	choose func(m *memory, c chaos.Call, now answer) (chosen answer, ok bool)
	memory *memory // nil: the rule is not in an injector yet
}

func (f *recall) Fresh() chaos.Fault {
	fresh := *f
	fresh.memory = &memory{past: make(map[request][]answer)}
	return &fresh
}

func (f *recall) become(m made, _ []string) { f.made = m }

func (f *recall) Phase() chaos.Phase { return chaos.PhaseChange }

func (f *recall) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	result, err := next(ctx, args)
	if err != nil || f.memory == nil {
		return result, err
	}
	if r, ok := result.(bodied); ok {
		return r.OnBody(ctx, c, args, f)
	}
	now, why := take(c, result)
	var chosen answer
	ok := false
	if why == "" || now.lost {
		chosen, ok = f.remember(c, now)
	}
	if why != "" {
		chaos.Note(ctx, f.Kind()+": "+why)
		return result, nil
	}
	if !ok || chosen.lost || bytes.Equal(chosen.text, now.text) ||
		reflect.TypeOf(chosen.like) != reflect.TypeOf(now.like) {
		chaos.Note(ctx, f.Kind()+": "+f.wants)
		return result, nil
	}
	after, err := chosen.result()
	if err != nil {
		chaos.Note(ctx, fmt.Sprintf("%s: the earlier answer does not decode into %T", f.Kind(), chosen.like))
		return result, nil
	}
	chaos.Changed(ctx, chaos.Change{Before: shown(now.text), After: shown(chosen.text)})
	return after, nil
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
func (f *recall) remember(c chaos.Call, now answer) (chosen answer, ok bool) {
	m := f.memory
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
	past, m.inPast = append(past, now), m.inPast+len(now.text)
	m.past[now.of] = past
}

package chaoshttp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"math/bits"
	"net/http"
	"reflect"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/internal/usercode"
)

// A fault that changes an answer declares what the reader in front of it gets. If only
// one does, that is the client. With a second one in front, the first cannot know what
// the client gets: the second may hold back what it read, replace it, or undo it.
//
// So when the client is done with an answer that two or more faults changed, or the cell
// ends before it is, the answer is made again from what the callee sent, with each set of
// these faults, the smallest sets first. The first set that makes what the client got are
// the faults that were delivered. It is empty if the client got what the callee sent. Waits
// are left out, since a wait counts by itself. Where no set makes it, the faults' own word
// stands.

type stage struct {
	from, to *http.Response
	apply    func(context.Context, Response) Response
	spoiled  *spoiled // the body that it put in front; nil: none
}

// changeRow completes the row of a fault that changes an answer. of, which change is
// given, is the request. anew: an answer without a body will do.
func changeRow[P any](r catalog.Row, anew bool,
	change func(ctx context.Context, c chaos.Call, p P, r Response, of Request) Response) *catalog.Inject[P] {
	return &catalog.Inject[P]{Row: r, Phase: chaos.PhaseChange,
		Inject: func(ctx context.Context, c chaos.Call, p P, args any, next chaos.Next) (any, error) {
			result, err := next(ctx, args)
			if err != nil {
				return result, err
			}
			return changeAnswer(ctx, args, result, anew, func(ctx context.Context, r Response, of Request) Response {
				return change(ctx, c, p, r, of)
			}), nil
		}}
}

// changeAnswer has apply change the result of a call, if that is an answer with a body or,
// with anew, an answer.
func changeAnswer(ctx context.Context, args, result any, anew bool,
	apply func(ctx context.Context, r Response, of Request) Response) any {
	r, ok := result.(Response)
	if !ok || r.Response == nil || r.Body == nil {
		chaos.Note(ctx, "what the call gave is not an HTTP response")
		return result
	}
	of, _ := args.(Request)
	return stageOf(ctx, r, func(ctx context.Context, r Response) Response {
		none := r.StatusCode == http.StatusSwitchingProtocols || !anew && !bodyAllowed(r.StatusCode)
		if none || of.Request != nil && of.Method == http.MethodHead {
			chaos.Note(ctx, "the answer has no body")
			return r
		}
		return apply(ctx, r, of)
	})
}

// stageOf has a fault change an answer. apply may be called again, when the client is
// done with the answer, with another answer and the context of a [rehearsal].
func stageOf(ctx context.Context, r Response, apply func(context.Context, Response) Response) Response {
	x := exchangeOf(ctx)
	if x == nil {
		return apply(ctx, r)
	}
	x.mu.Lock()
	known := slices.ContainsFunc(x.stages, func(st stage) bool { return st.to == r.Response || st.from == r.Response })
	if !known && r.Body != http.NoBody && r.StatusCode != http.StatusSwitchingProtocols {
		r.Body = newTap(r.Response, mostKept) // no stage made it: what is read of it may have to be read again
	}
	x.mu.Unlock()
	to := apply(ctx, r)
	st := stage{from: r.Response, to: to.Response, apply: apply}
	x.mu.Lock()
	defer x.mu.Unlock()
	if to.Response != r.Response {
		st.spoiled, _ = to.Body.(*spoiled)
		x.bodies = append(x.bodies, to.Body)
	}
	x.stages = append(x.stages, st)
	if s := innermost(x.stages); s != nil && x.release == nil &&
		(len(x.stages) > 1 || !slices.Contains(x.taken, r.Response)) {
		_, x.release = chaos.KeepOpen(s.ctx)
	}
	return to
}

// mostKept bounds what is kept of an answer, in bytes.
const mostKept = 4 << 20

// rootOf is an answer that no stage made, with what was read of it; nil: nothing is known.
func rootOf(r *http.Response) *tap {
	if r.Body == http.NoBody {
		return newTap(r, 0)
	}
	for body := r.Body; ; {
		t, ok := body.(*tap)
		if !ok || t.most == mostKept && t.ended == nil {
			return t
		}
		body = t.ReadCloser
	}
}

// again is the answer once more, as far as it is known.
func (t *tap) again(of *rehearsal) Response {
	doc, all, end := t.kept()
	like, known := t.like, bytes.NewReader(doc)
	if end == nil && int64(len(doc)) == size(&like) {
		end = io.EOF
	}
	like.Header, like.Body = like.Header.Clone(), io.NopCloser(readFunc(func(p []byte) (int, error) {
		n, err := known.Read(p)
		switch {
		case err == nil:
			return n, nil
		case all && end != nil:
			return 0, end
		}
		return 0, of.stuck()
	}))
	return Response{&like}
}

// sameAs reports whether a client that reads r in the same way gets the same as was kept.
func (t *tap) sameAs(r *http.Response) bool {
	doc, _, end := t.kept()
	if t.like.StatusCode != r.StatusCode || !sameHeader(&t.like, r) {
		return false
	}
	body := make([]byte, len(doc))
	if _, err := io.ReadFull(r.Body, body); err != nil || !bytes.Equal(doc, body) {
		return false
	}
	if end == nil || end != io.EOF && t.like.Request.Context().Err() != nil { // it gave up by itself
		return true
	}
	n, err := io.ReadFull(r.Body, make([]byte, 1))
	if injected, ok := end.(*chaos.InjectedError); ok {
		end = injected.Err
	}
	return n == 0 && reflect.DeepEqual(end, err)
}

// sameHeader compares the headers of two answers. Readers of an event stream go by its
// events, not by its length.
func sameHeader(a, b *http.Response) bool {
	x, y := a.Header, b.Header
	if isStream(x) && isStream(y) {
		x, y = x.Clone(), y.Clone()
		x.Del("Content-Length")
		y.Del("Content-Length")
	} else if size(a) != size(b) {
		return false
	}
	return maps.EqualFunc(x, y, slices.Equal[[]string])
}

const mostStages = 6

// judge finds which faults made what the client got of an answer, and tells the injection.
func (x *exchange) judge(answer *http.Response, got *tap) {
	x.mu.Lock()
	stages, taken, asked := x.stages, x.taken, x.release != nil
	x.mu.Unlock()
	chain, first := chainOf(stages, answer)
	if _, all, _ := got.kept(); !asked || !all || len(chain) > mostStages {
		return
	}
	for _, st := range stages {
		if st.spoiled != nil && !inFront(got, st.spoiled) {
			chaos.Unseen(st.spoiled.ctx)
		}
	}
	root := rootOf(first)
	if root == nil {
		return
	}
	if len(taken) == 1 && first != taken[0] { // a fault further in put another answer in the place of the callee's
		if set, ok := got.smallest(newTap(taken[0], 0), chain); ok {
			declare(chain, set)
			if s := innermost(chain); s != nil {
				chaos.UnseenWithin(s.ctx)
			}
			return
		}
	}
	if set, ok := got.smallest(root, chain); ok {
		declare(chain, set)
	}
}

// declare tells the injection which stages the client saw something of.
func declare(chain []stage, set uint) {
	for _, seen := range []bool{false, true} { // in this order: a fault may be at work twice
		for i, st := range chain {
			switch {
			case st.spoiled == nil || seen != (set>>i&1 == 1):
			case seen:
				chaos.Changed(st.spoiled.ctx)
			default:
				chaos.Unseen(st.spoiled.ctx)
			}
		}
	}
}

// innermost is the first body that one of the stages put in front; nil: none did.
func innermost(chain []stage) *spoiled {
	for _, st := range chain {
		if st.spoiled != nil {
			return st.spoiled
		}
	}
	return nil
}

// chainOf are the stages that made an answer, the innermost first, and the answer that they
// began with.
func chainOf(all []stage, answer *http.Response) (stages []stage, first *http.Response) {
	for _, st := range slices.Backward(all) {
		if st.to == answer {
			stages, answer = append(stages, st), st.from
		}
	}
	slices.Reverse(stages)
	return stages, answer
}

// smallest returns the first set of stages, of the smallest ones, that makes what the
// client got.
func (t *tap) smallest(root *tap, chain []stage) (set uint, ok bool) {
	for size := range len(chain) + 1 {
		for set := range uint(1) << len(chain) {
			if bits.OnesCount(set) == size && t.madeBy(root, chain, set) {
				return set, true
			}
		}
	}
	return 0, false
}

// rehearsal is the making of an answer once more, when its client is done. Nothing
// waits in it.
type rehearsal struct{ unknown bool }

type rehearsalKey struct{}

// rehearsalOf is the rehearsal that a fault takes part in; nil: a client waits.
func rehearsalOf(ctx context.Context) *rehearsal {
	r, _ := ctx.Value(rehearsalKey{}).(*rehearsal)
	return r
}

var errNotKnown = errors.New("http: what the client would have got is not known")

func (r *rehearsal) stuck() error {
	r.unknown = true
	return errNotKnown
}

// madeBy reports whether some of the faults alone make what the client got.
func (t *tap) madeBy(root *tap, chain []stage, set uint) (same bool) {
	of := &rehearsal{}
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), rehearsalKey{}, of))
	cancel() // a fault of the user's that waits gives up
	failed := usercode.Failure(func() {
		r := root.again(of)
		for i, st := range chain {
			if set>>i&1 == 1 {
				r = st.apply(ctx, r)
			}
		}
		same = t.sameAs(r.Response)
	})
	return failed == "" && same && !of.unknown
}

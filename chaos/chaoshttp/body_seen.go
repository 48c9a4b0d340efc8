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
	"sync"

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

// stage is one fault at work on one answer.
type stage struct {
	from, to *http.Response
	apply    func(context.Context, Response) Response
	spoiled  []*spoiled // that it put in front of the body
}

// changeRow is a fault that changes an answer, with a body or without.
func changeRow[P any](r catalog.Row,
	change func(ctx context.Context, c chaos.Call, p P, r Response) Response) *catalog.Inject[P] {
	return &catalog.Inject[P]{Row: r, Phase: chaos.PhaseChange,
		Inject: func(ctx context.Context, c chaos.Call, p P, args any, next chaos.Next) (any, error) {
			return changeAnswer(ctx, args, next, func(ctx context.Context, r Response) Response {
				return change(ctx, c, p, r)
			})
		}}
}

// changeAnswer makes the call and has apply change its answer.
func changeAnswer(ctx context.Context, args any, next chaos.Next,
	apply func(ctx context.Context, r Response) Response) (any, error) {
	result, err := next(ctx, args)
	if err != nil {
		return result, err
	}
	r, ok := result.(Response)
	if !ok || r.Response == nil || r.Body == nil {
		chaos.Note(ctx, "what the call gave is not an HTTP response")
		return result, nil
	}
	return stageOf(ctx, r, apply), nil
}

// stageOf has a fault change an answer. apply may be called again, when the client is
// done with the answer, with another answer and a context that is [rehearsed].
func stageOf(ctx context.Context, r Response, apply func(context.Context, Response) Response) Response {
	x := exchangeOf(ctx)
	if x == nil {
		return apply(ctx, r)
	}
	x.mu.Lock()
	x.root(r.Response)
	before := len(x.spoiled)
	x.mu.Unlock()
	to := apply(ctx, r)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.stages = append(x.stages, stage{r.Response, to.Response, apply, slices.Clone(x.spoiled[before:])})
	if x.release == nil && len(x.spoiled) > 0 && (len(x.stages) > 1 || !slices.Contains(x.taken, r.Response)) {
		_, x.release = chaos.KeepOpen(x.spoiled[0].ctx)
	}
	return to
}

// root begins to keep what is read of an answer that no stage made. x.mu is held.
func (x *exchange) root(r *http.Response) {
	known := x.originals[r] != nil || slices.ContainsFunc(x.stages, func(st stage) bool { return st.to == r })
	if known || r.StatusCode == http.StatusSwitchingProtocols {
		return
	}
	o := originalOf(r)
	if r.Body != http.NoBody {
		r.Body = o
	}
	if x.originals == nil {
		x.originals = make(map[*http.Response]*original)
	}
	x.originals[r] = o
}

// mostKept bounds what is kept of an answer, in bytes.
const mostKept = 4 << 20

// original is the body of an answer as the callee gave it, and what was read of it.
type original struct {
	io.ReadCloser
	like http.Response

	mu  sync.Mutex
	doc []byte
	end error // nil: it was not read to its end, or is longer than what is kept
	cut bool  // there was more than doc
}

func originalOf(r *http.Response) *original {
	o := &original{ReadCloser: r.Body, like: *r}
	if o.like.Header = r.Header.Clone(); r.Body == http.NoBody {
		o.end = io.EOF
	}
	return o
}

func (o *original) Read(p []byte) (int, error) {
	n, err := o.ReadCloser.Read(p)
	o.mu.Lock()
	defer o.mu.Unlock()
	keep := min(n, mostKept-len(o.doc))
	o.doc = append(o.doc, p[:keep]...)
	if o.cut = o.cut || keep < n; !o.cut && err != nil {
		o.end = err
	}
	return n, err
}

// again is the answer once more, as far as it is known.
func (o *original) again(of *rehearsal) Response {
	o.mu.Lock()
	defer o.mu.Unlock()
	like, end := o.like, o.end
	if end == nil && int64(len(o.doc)) == size(&like) {
		end = io.EOF
	}
	like.Header, like.Body = o.like.Header.Clone(), &known{of, bytes.NewReader(o.doc), end}
	return Response{&like}
}

// known is the part of a body that was read once.
type known struct {
	of  *rehearsal
	doc *bytes.Reader
	end error
}

func (k *known) Read(p []byte) (int, error) {
	n, err := k.doc.Read(p)
	switch {
	case err == nil:
		return n, nil
	case k.end != nil:
		return 0, k.end
	}
	return 0, k.of.stuck()
}

func (*known) Close() error { return nil }

// gotten is what the client gets of an answer.
type gotten struct {
	of   *http.Response // its header
	body []byte
	end  error // nil: it left before the end
	cut  bool  // there was more than body
}

// add keeps what a Read of the client returned.
func (g *gotten) add(p []byte, err error) {
	keep := min(len(p), mostKept-len(g.body))
	g.body, g.end = append(g.body, p[:keep]...), err
	g.cut = g.cut || keep < len(p)
}

// sameAs reports whether a client that reads r in the same way gets the same.
func (g *gotten) sameAs(r *http.Response) bool {
	if g.of.StatusCode != r.StatusCode || !sameHeader(g.of, r) {
		return false
	}
	body := make([]byte, len(g.body))
	if _, err := io.ReadFull(r.Body, body); err != nil || !bytes.Equal(g.body, body) {
		return false
	}
	if g.end == nil {
		return true
	}
	n, err := io.ReadFull(r.Body, make([]byte, 1))
	end := g.end
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

// mostStages bounds the faults whose sets are tried.
const mostStages = 6

// judge finds which faults made what the client got of an answer with that body, and
// tells the injection.
func (x *exchange) judge(answer *http.Response, body io.Reader, g *gotten) {
	x.mu.Lock()
	spoiled, taken, asked := x.spoiled, x.taken, x.release != nil
	chain, first, root := x.chain(answer)
	x.mu.Unlock()
	if !asked || g.cut || len(chain) > mostStages {
		return
	}
	for _, s := range spoiled {
		if !inFront(body, s) {
			chaos.Unseen(s.ctx)
		}
	}
	if root == nil {
		return
	}
	if len(taken) == 1 && first != taken[0] { // a fault further in put another answer in the place of the callee's
		if set, ok := g.smallest(originalOf(taken[0]), chain); ok {
			settle(chain, set)
			if s := innermost(chain); s != nil {
				chaos.UnseenWithin(s.ctx)
			}
			return
		}
	}
	if set, ok := g.smallest(root, chain); ok {
		settle(chain, set)
	}
}

// settle tells the injection which stages the client saw something of.
func settle(chain []stage, set uint) {
	for _, seen := range []bool{false, true} { // in this order: a fault may be at work twice
		for i, st := range chain {
			for _, s := range st.spoiled {
				switch {
				case seen != (set>>i&1 == 1):
				case seen:
					chaos.Changed(s.ctx)
				default:
					chaos.Unseen(s.ctx)
				}
			}
		}
	}
}

// innermost is the first body that one of the stages put in front; nil: none did.
func innermost(chain []stage) *spoiled {
	for _, st := range chain {
		if len(st.spoiled) > 0 {
			return st.spoiled[0]
		}
	}
	return nil
}

// chain are the stages that made an answer, the innermost first, and what they began
// with; root is nil if nothing is known of that. x.mu is held.
func (x *exchange) chain(answer *http.Response) (stages []stage, first *http.Response, root *original) {
	for _, st := range slices.Backward(x.stages) {
		if st.to == answer {
			stages, answer = append(stages, st), st.from
		}
	}
	slices.Reverse(stages)
	return stages, answer, x.originals[answer]
}

// smallest returns the first set of stages, of the smallest ones, that makes what the
// client got.
func (g *gotten) smallest(root *original, chain []stage) (set uint, ok bool) {
	for size := range len(chain) + 1 {
		for set := range uint(1) << len(chain) {
			if bits.OnesCount(set) == size && g.madeBy(root, chain, set) {
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

// stuck notes that the answer cannot be made.
func (r *rehearsal) stuck() error {
	r.unknown = true
	return errNotKnown
}

// madeBy reports whether some of the faults alone make what the client got.
func (g *gotten) madeBy(root *original, chain []stage, set uint) (same bool) {
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
		same = g.sameAs(r.Response)
	})
	return failed == "" && same && !of.unknown
}

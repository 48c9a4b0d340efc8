package trace

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// Options are the settings of a [Recorder]. The zero value, and nil, give the
// defaults.
type Options struct {
	_ struct{}
	// Run has the options of the run. A zero Epoch means the time at which the
	// recorder is made.
	Run timeline.RunOptions
	// Type returns the node type of a call, such as NodeLLM for a client of a model that
	// is wrapped as a plain function; "" leaves it to the default, which the layer of the
	// point decides: what is no tool, model or HTTP request is a point. It must be fast and
	// safe for concurrent use. nil: the default for all.
	Type func(chaos.Event) timeline.NodeType
}

// A Recorder turns the events of an injector into a run. The class of a call is the label of its
// lane, the part before the first slash: "checkout" of the lane "checkout/worker-3", which
// [chaos.WithLane] sets. The memory is that of the run; it does not grow with the number of calls.
// All methods are safe for concurrent use. Make one with [NewRecorder]; the zero
// value is not usable.
type Recorder struct {
	Source // of an injector that was armed at the run's epoch
	run    *timeline.Run
	is     func(chaos.Event) timeline.NodeType
	begun  atomic.Bool // Begin was called

	mu      sync.Mutex // guards what follows
	pending map[pendingCall]*timeline.Pending
	refused int64
	refusal error
}

// NewRecorder makes a recorder. The error joins every problem of the options.
func NewRecorder(o *Options) (*Recorder, error) {
	o = cmp.Or(o, &Options{})
	run := o.Run
	if run.Epoch.IsZero() {
		run.Epoch = time.Now()
	}
	r := &Recorder{is: o.Type, pending: make(map[pendingCall]*timeline.Pending)}
	var err error
	if r.run, err = timeline.NewRun(&run); err != nil {
		return nil, err
	}
	r.Source.to = r
	return r, nil
}

// A Source is an injector that a [Recorder] listens to. The recorder itself is the source of an
// injector that is armed at the run's epoch: just after the recorder was made, unless its options
// have another epoch. See [Recorder.From] for others.
type Source struct {
	to    *Recorder
	shift time.Duration
}

// From returns a source for an injector armed at the given time, later or again. Use its Record and
// Begin in place of those of the recorder; one recorder may have several sources.
// Calls before the run's epoch are refused.
func (r *Recorder) From(armed time.Time) *Source {
	return &Source{to: r, shift: armed.Sub(r.run.Epoch())}
}

// Record adds the call of an event. Use it as [chaos.InjectorOptions.OnEvent], and
// set RecordAll there: otherwise only calls that a rule matched leave events, and
// only they are callers. The times of an event count from when its injector was armed.
//
// A fault injected by name with [chaos.Injector.InjectNow] belongs to no call, and
// is left out.
func (s *Source) Record(_ context.Context, e chaos.Event) {
	if injectedByName(&e) {
		return
	}
	x := s.sample(&e)
	p := s.to.began(pendingCall{s, e.Call})
	if p != nil {
		s.to.note(p.End(x))
	} else {
		s.to.note(s.to.run.Add(x))
	}
}

// Begin counts a call from its beginning, in a live run. Use it as
// [chaos.InjectorOptions.OnBegin], together with Record. Without it a call counts
// only when it has ended; see [timeline.Run.Begin].
func (s *Source) Begin(_ context.Context, e chaos.Event) {
	r := s.to
	if injectedByName(&e) || e.Call == 0 {
		return
	}
	x := s.sample(&e)
	p, err := r.run.Begin(x)
	if err != nil {
		return // Record reports the problem when the call has ended
	}
	r.begun.Store(true)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending[pendingCall{s, e.Call}] = p
}

// pendingCall is a call in flight of one of the injectors.
type pendingCall struct {
	source *Source
	call   uint64
}

func injectedByName(e *chaos.Event) bool { return e.Layer == "" && e.Rule != "" && e.Rule == e.Target }

// began takes what Begin made of a call that has ended; nil: Begin was not called.
func (r *Recorder) began(c pendingCall) *timeline.Pending {
	if c.call == 0 || !r.begun.Load() {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.pending[c]
	delete(r.pending, c)
	return p
}

// sample converts an event. It allocates nothing.
func (s *Source) sample(e *chaos.Event) timeline.Sample {
	x := timeline.Sample{
		Caller: e.Caller, Target: e.Target, Lane: e.Lane, Key: e.Key,
		Type: s.to.typeOf(e), Start: e.Start + s.shift, End: e.End + s.shift,
		Failed: e.Outcome != chaos.OutcomeOK, Attempt: e.Attempt,
	}
	x.Class, _, _ = strings.Cut(e.Lane, "/")
	return x
}

func (r *Recorder) typeOf(e *chaos.Event) timeline.NodeType {
	if r.is != nil {
		if given := r.is(*e); given != "" {
			return given
		}
	}
	switch e.Layer {
	case chaos.LayerTool:
		return timeline.NodeTool
	case chaos.LayerLLM:
		return timeline.NodeLLM
	case chaos.LayerHTTP:
		return timeline.NodeHTTP
	}
	return timeline.NodePoint
}

func (r *Recorder) note(err error) {
	if err == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refused == 0 {
		r.refusal = err
	}
	r.refused++
}

// Run returns the run of the calls so far. It may be queried while calls are added.
func (r *Recorder) Run() *timeline.Run { return r.run }

// Refused returns the number of calls that were left out of the run because their sample was
// invalid, and the error of the first.
func (r *Recorder) Refused() (n int64, first error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refused, r.refusal
}

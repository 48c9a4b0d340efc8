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
	// is wrapped as a plain function; "" leaves it to the default. It must be fast and
	// safe for concurrent use. By default the layer of the point decides, then its name:
	// llm and model are models, http and https are HTTP, tool and tools are tools, agent
	// is an agent. Each may have a suffix after a dot or slash. Everything else is a
	// point. nil: the default for all.
	Type func(chaos.Event) timeline.NodeType
	// Class returns the class of a call. It must be fast, safe for concurrent use,
	// and return few different values (no request ids). nil: the label of the lane,
	// which is its part before the first slash. The lane "checkout/worker-3", set
	// by [chaos.WithLane], has the class "checkout".
	Class func(chaos.Event) string
}

// A Recorder turns the events of an injector into a run. Its memory is that of the run; it does
// not grow with the number of calls.
// All methods are safe for concurrent use. Make one with [NewRecorder]; the zero
// value is not usable.
type Recorder struct {
	run   *timeline.Run
	class func(chaos.Event) string
	is    func(chaos.Event) timeline.NodeType
	begun atomic.Bool // Begin was called

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
	r := &Recorder{class: o.Class, is: o.Type}
	var err error
	if r.run, err = timeline.NewRun(&run); err != nil {
		return nil, err
	}
	return r, nil
}

// Record adds the call of an event. Use it as [chaos.InjectorOptions.OnEvent], and
// set RecordAll there: otherwise only calls that a rule matched leave events, and
// only they are callers.
//
// The times of an event count from when its injector was armed; Record takes them
// as offsets from the run's epoch. So make the recorder just before the injector,
// and use [Recorder.From] for an injector that is armed later or again.
//
// A fault injected by name with [chaos.Injector.InjectNow] belongs to no call, and
// is left out.
func (r *Recorder) Record(_ context.Context, e chaos.Event) { r.record(nil, 0, &e) }

// Begin counts a call from its beginning, in a live run. Use it as
// [chaos.InjectorOptions.OnBegin], together with Record. Without it a call counts
// only when it has ended; see [timeline.Run.Begin].
func (r *Recorder) Begin(_ context.Context, e chaos.Event) { r.begin(nil, 0, &e) }

// A Source is an injector that a [Recorder] listens to; see [Recorder.From].
type Source struct {
	to    *Recorder
	shift time.Duration
}

// From returns a source for an injector armed at the given time. Use its Record and
// Begin in place of those of the recorder; one recorder may have several sources.
// Calls before the run's epoch are refused.
func (r *Recorder) From(armed time.Time) *Source {
	return &Source{to: r, shift: armed.Sub(r.run.Epoch())}
}

// Record adds a call as [Recorder.Record] does.
func (s *Source) Record(_ context.Context, e chaos.Event) { s.to.record(s, s.shift, &e) }

// Begin counts a call as [Recorder.Begin] does.
func (s *Source) Begin(_ context.Context, e chaos.Event) { s.to.begin(s, s.shift, &e) }

// pendingCall is a call in flight of one of the injectors.
type pendingCall struct {
	source *Source
	call   uint64
}

// injectedByName reports whether the event is that of [chaos.Injector.InjectNow].
func injectedByName(e *chaos.Event) bool { return e.Layer == "" && e.Rule != "" && e.Rule == e.Target }

func (r *Recorder) begin(source *Source, shift time.Duration, e *chaos.Event) {
	if injectedByName(e) || e.Call == 0 {
		return
	}
	s := r.sample(e)
	s.Start += shift
	p, err := r.run.Begin(s)
	if err != nil {
		return // record reports the problem when the call has ended
	}
	r.begun.Store(true)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pending == nil {
		r.pending = make(map[pendingCall]*timeline.Pending)
	}
	r.pending[pendingCall{source, e.Call}] = p
}

func (r *Recorder) record(source *Source, shift time.Duration, e *chaos.Event) {
	if injectedByName(e) {
		return
	}
	s := r.sample(e)
	s.Start += shift
	s.End += shift
	r.add(&s, r.began(pendingCall{source, e.Call}))
}

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
func (r *Recorder) sample(e *chaos.Event) timeline.Sample {
	s := timeline.Sample{
		Caller: e.Caller, Target: e.Target, Lane: e.Lane, Key: e.Key,
		Type: r.typeOf(e), Start: e.Start, End: e.End,
		Failed: e.Outcome != chaos.OutcomeOK, Attempt: e.Attempt,
	}
	if r.class != nil {
		s.Class = r.class(*e)
		return s
	}
	s.Class, _, _ = strings.Cut(e.Lane, "/")
	return s
}

// typeOf returns the node type of the point that an event is of.
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
	return typeByName(e.Target)
}

// typeByName is for points whose layer does not give the type: a wrapped client of a
// model is a point like any other.
func typeByName(target string) timeline.NodeType {
	word, rest := target, ""
	if end := strings.IndexAny(target, "./:"); end >= 0 {
		word, rest = target[:end], target[end:]
	}
	colon := strings.HasPrefix(rest, ":")
	switch {
	case word == "http", word == "https":
		return timeline.NodeHTTP
	case colon:
	case word == "llm", word == "model": // as modelapi.Named has them
		return timeline.NodeLLM
	case word == "agent":
		return timeline.NodeAgent
	case rest != "" && (word == "tool" || word == "tools"):
		return timeline.NodeTool
	}
	return timeline.NodePoint
}

func (r *Recorder) add(s *timeline.Sample, p *timeline.Pending) {
	var err error
	if p != nil {
		err = p.End(*s)
	} else {
		err = r.run.Add(*s)
	}
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

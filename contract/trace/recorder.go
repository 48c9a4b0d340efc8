package trace

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// Options are the settings of a [Recorder]; the zero value, and nil, work.
type Options struct {
	_ struct{}
	// Run says how finely the run is kept. A zero Epoch means the moment at
	// which the recorder is made.
	Run timeline.RunOptions
	// Types say what kind of node an injection point is; the first that
	// matches counts. After them llm and model are models, http and https are
	// HTTP, tool and tools are tools, agent is an agent, each with all that
	// follows a dot or slash, and everything else is a point.
	Types []NodeRule
	// Class gives the class of a call; it must be fast, safe for concurrent
	// use, and give few different answers (no request ids). nil: the label of
	// the lane, which is its part before the first slash: the lane
	// "checkout/worker-3", set by [chaos.WithLane] in the context, has the class "checkout".
	Class func(chaos.Event) string
	// Keep is the number of raw samples kept besides, the newest; older ones
	// are dropped and counted. 0: none.
	Keep int
}

// largestKeep bounds the raw samples, which take about 200 bytes each.
const largestKeep = 1 << 22

// A Recorder turns the events of an injector into a run. Its memory is that of
// the run, plus that of the raw samples it was told to keep: it does not grow
// with the number of calls. All methods are safe for concurrent use. Make one
// with [NewRecorder]; the zero value is not usable.
type Recorder struct {
	run   *timeline.Run
	class func(chaos.Event) string
	types types
	told  atomic.Bool // of a call that began

	mu      sync.Mutex // guards what follows
	pending map[pendingCall]*timeline.Pending
	ring    ring
	refused int64
	refusal error
}

// NewRecorder makes a recorder, or says all that is wrong with the options.
func NewRecorder(o *Options) (*Recorder, error) {
	if o == nil {
		o = &Options{}
	}
	run := o.Run
	if run.Epoch.IsZero() {
		run.Epoch = time.Now()
	}
	r := &Recorder{class: o.Class, ring: ring{max: o.Keep}}
	var wrong problems
	var err error
	if r.run, err = timeline.NewRun(&run); err != nil {
		wrong.add(err)
	}
	if err := r.types.compile(o.Types); err != nil {
		wrong.add(err)
	}
	if o.Keep < 0 || o.Keep > largestKeep {
		wrong.add(&InputError{Field: "keep", Value: o.Keep, Allowed: "0 to 4194304 samples"})
	}
	if err := wrong.join(); err != nil {
		return nil, err
	}
	return r, nil
}

// Record adds the call that an event tells of. It is made for
// [chaos.InjectorOptions.OnEvent]; set Record there too, or only struck calls
// are seen and only they are callers.
//
// The event's times count from when its injector was armed, and are taken to
// count from the run's epoch: make the recorder just before the injector, and
// use [Recorder.From] for an injector that is armed later or again.
//
// A fault that was fired by its name, with no call behind it, is no call:
// [chaos.Injector.InjectNow] leaves nothing in the run.
func (r *Recorder) Record(_ context.Context, e chaos.Event) { r.record(nil, 0, &e) }

// Begin counts a call from its beginning, in a live run: it is made for
// [chaos.InjectorOptions.OnBegin], beside Record, which it needs. Without it a
// call is not there before it has ended; see [timeline.Run.Begin].
func (r *Recorder) Begin(_ context.Context, e chaos.Event) { r.begin(nil, 0, &e) }

// A Source is an injector that a [Recorder] listens to; see [Recorder.From].
type Source struct {
	to    *Recorder
	shift time.Duration
}

// From is for an injector armed at the given time, whose Record and Begin stand
// for those of the recorder: one recorder may listen to several. Calls before the
// run's epoch are refused.
func (r *Recorder) From(armed time.Time) *Source {
	return &Source{to: r, shift: armed.Sub(r.run.Epoch())}
}

// RecordFrom is the Record of [Recorder.From].
func (r *Recorder) RecordFrom(armed time.Time) func(context.Context, chaos.Event) {
	return r.From(armed).Record
}

// Record is [Recorder.Record].
func (s *Source) Record(_ context.Context, e chaos.Event) { s.to.record(s, s.shift, &e) }

// Begin is [Recorder.Begin].
func (s *Source) Begin(_ context.Context, e chaos.Event) { s.to.begin(s, s.shift, &e) }

// pendingCall is a call in flight of one of the injectors.
type pendingCall struct {
	source *Source
	call   uint64
}

// fired reports whether the event is of a fault that was fired by its name.
func fired(e *chaos.Event) bool { return e.Layer == "" && e.Rule != "" && e.Rule == e.Target }

func (r *Recorder) begin(source *Source, shift time.Duration, e *chaos.Event) {
	if fired(e) || e.Call == 0 {
		return
	}
	s := r.sample(e)
	s.Start += shift
	p, err := r.run.Begin(s)
	if err != nil {
		return // what is wrong is said when it has ended
	}
	r.told.Store(true)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pending == nil {
		r.pending = make(map[pendingCall]*timeline.Pending)
	}
	r.pending[pendingCall{source, e.Call}] = p
}

func (r *Recorder) record(source *Source, shift time.Duration, e *chaos.Event) {
	if fired(e) {
		return
	}
	s := r.sample(e)
	s.Start += shift
	s.End += shift
	r.add(&s, r.began(pendingCall{source, e.Call}))
}

// began is what Begin made of a call, which has ended now; nil: nothing.
func (r *Recorder) began(c pendingCall) *timeline.Pending {
	if c.call == 0 || !r.told.Load() {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.pending[c]
	delete(r.pending, c)
	return p
}

// sample says what an event means for the timeline. It allocates nothing.
func (r *Recorder) sample(e *chaos.Event) timeline.Sample {
	s := timeline.Sample{
		Caller: e.Caller, Target: e.Target, Lane: e.Lane, Key: e.Key,
		Type: r.types.of(e.Target, e.Layer), Start: e.Start, End: e.End,
		Failed: e.Outcome != chaos.OutcomeOK, Attempt: e.Attempt,
	}
	if e.Delivered {
		s.Rule, s.Fault = e.Rule, e.Fault
	}
	if r.class != nil {
		s.Class = r.class(*e)
		return s
	}
	s.Class = e.Lane
	if slash := strings.IndexByte(e.Lane, '/'); slash >= 0 {
		s.Class = e.Lane[:slash]
	}
	return s
}

func (r *Recorder) add(s *timeline.Sample, p *timeline.Pending) {
	var err error
	if p != nil {
		err = p.End(*s)
	} else {
		err = r.run.Add(*s)
	}
	if err == nil && r.ring.max == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.ring.add(s)
		return
	}
	if r.refused == 0 {
		r.refusal = err
	}
	r.refused++
}

// Run is the run recorded so far. It may be asked while recording goes on.
func (r *Recorder) Run() *timeline.Run { return r.run }

// Recording is a copy of the raw samples kept, in the order in which the calls
// ended: see [Options].Keep. Some may have been dropped; [Recorder.Stats] says how many.
func (r *Recorder) Recording() *Recording {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &Recording{Epoch: r.run.Epoch(), Samples: r.ring.snapshot()}
}

// Stats say what a recorder could not keep.
type Stats struct {
	Kept    int   `json:"kept"`    // raw samples
	Dropped int64 `json:"dropped"` // raw samples, to make room for newer ones; the run counts them all the same
	Refused int64 `json:"refused"` // calls that are not in the run, because their sample was invalid
	Folded  int64 `json:"folded"`  // calls that the run counts as the node "(other)"; see [timeline.RunOptions].MaxSeries
	// Refusal is why the first refused call was.
	Refusal error `json:"-"`
}

// Stats counts what was left out so far.
func (r *Recorder) Stats() Stats {
	folded := r.run.Folded()
	r.mu.Lock()
	defer r.mu.Unlock()
	return Stats{Kept: len(r.ring.samples), Dropped: r.ring.dropped, Refused: r.refused, Folded: folded, Refusal: r.refusal}
}

// ring keeps the newest samples up to max.
type ring struct {
	max     int
	samples []timeline.Sample
	oldest  int
	dropped int64
}

func (k *ring) add(s *timeline.Sample) {
	if len(k.samples) < k.max {
		k.samples = append(k.samples, *s)
		return
	}
	k.samples[k.oldest] = *s
	if k.oldest++; k.oldest == k.max {
		k.oldest = 0
	}
	k.dropped++
}

func (k *ring) snapshot() []timeline.Sample {
	samples := make([]timeline.Sample, 0, len(k.samples))
	return append(append(samples, k.samples[k.oldest:]...), k.samples[:k.oldest]...)
}

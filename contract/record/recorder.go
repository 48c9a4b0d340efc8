package record

import (
	"strings"
	"sync"
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
	// "checkout/worker-3", set by [chaos.Lane] in the context, has the class "checkout".
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

	mu      sync.Mutex // guards what follows
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
// use [Recorder.RecordFrom] for an injector that is armed later or again.
func (r *Recorder) Record(e chaos.Event) {
	s := r.sample(&e)
	r.add(&s)
}

// RecordFrom is [Recorder.Record] for an injector armed at the given time: one
// recorder may listen to several. Calls before the run's epoch are refused.
func (r *Recorder) RecordFrom(armed time.Time) func(chaos.Event) {
	shift := armed.Sub(r.run.Epoch())
	return func(e chaos.Event) {
		s := r.sample(&e)
		s.Start += shift
		s.End += shift
		r.add(&s)
	}
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

func (r *Recorder) add(s *timeline.Sample) {
	err := r.run.Add(*s)
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

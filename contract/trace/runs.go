package trace

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// A Kind is the role of a run in a comparison.
type Kind string

// The kinds of runs.
const (
	KindBaseline Kind = "baseline"
	KindScenario Kind = "scenario"
)

// A State is the state of a run: under way, done or failed.
type State string

// The states. A run that was recorded elsewhere and added is done.
const (
	StateDone    State = ""
	StateRunning State = "running"
	StateFailed  State = "failed"
)

// An Entry is one run of a [Runs]. Its JSON is a row of get_runs.
type Entry struct {
	// ID names the run within its store; "": the store gives it one, "run-1" and so on.
	ID string `json:"id"`
	// Label is for people.
	Label string `json:"label"`
	// CreatedAt is when the run began, in UTC; zero: when it was added.
	CreatedAt time.Time `json:"createdAt"`
	// Kind is baseline or scenario; "": baseline.
	Kind Kind `json:"kind"`
	// State is left out of the JSON of a run that is done.
	State State `json:"state,omitempty"`
	// Metadata is the host's own data.
	Metadata map[string]string `json:"metadata,omitempty"`

	// Seed is the seed of the run's draws.
	Seed uint64 `json:"-"`
	// Plan holds the faults that were in force; nil: none.
	Plan *chaos.Plan `json:"-"`
	// Base is the id of the run that a scenario varies. Parameters are the
	// differences.
	Base       string     `json:"-"`
	Parameters Parameters `json:"-"`
	// Timeline has the calls of the run. Required. It grows while the run goes on.
	Timeline *timeline.Run `json:"-"`
}

// RunsOptions are the settings of [NewRuns]. The zero value, and nil, give the
// defaults.
type RunsOptions struct {
	_ struct{}
	// MaxRuns is the largest number of runs kept; 0: 100. A new run then replaces
	// the oldest, which [Runs.Dropped] counts. A run under way is not dropped.
	MaxRuns int
	// Workload is what [Runs.RunBaseline] and [Runs.RunScenario] run. nil: they
	// return [ErrNoWorkload].
	Workload *Workload
	// Recorder has the options of the recorders of the workload. The epoch and the
	// length of the bins of a scenario are those of the run it varies.
	Recorder Options
}

const (
	defaultMaxRuns = 100
	largestMaxRuns = 1 << 16
	maxLabel       = 1 << 10
)

// Runs keeps the newest runs by id, and runs a workload under changed conditions.
// All methods are safe for concurrent use. Make one with [NewRuns]; the zero value
// is not usable.
type Runs struct {
	options RunsOptions

	mu      sync.Mutex
	entries []*kept // oldest first
	given   int     // ids made so far
	dropped int
}

// kept is an entry, with its outcome where the workload made it.
type kept struct {
	Entry
	done   chan struct{} // closed when the workload has ended; nil for runs from elsewhere
	result Result
	err    error
}

// NewRuns makes an empty Runs. The error joins every problem of the options.
func NewRuns(o *RunsOptions) (*Runs, error) {
	s := &Runs{options: *cmp.Or(o, &RunsOptions{})}
	wrong := fields.ListUpTo(maxReported)
	most := s.options.MaxRuns
	wrong.Demand(most >= 0 && most != 1 && most <= largestMaxRuns, "maxRuns", most, "2 to 65536 runs, or 0 for 100")
	s.options.MaxRuns = cmp.Or(s.options.MaxRuns, defaultMaxRuns)
	w := s.options.Workload
	wrong.Demand(w == nil || w.Run != nil, "workload.run", nil, "a function")
	_, err := NewRecorder(&s.options.Recorder)
	wrong.Add(err)
	if err := wrong.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

// Add keeps a run that was recorded elsewhere, and returns its id. The error joins
// every problem, such as an id that is taken, each a [*FieldError].
func (s *Runs) Add(e Entry) (id string, err error) {
	e.Kind = cmp.Or(e.Kind, KindBaseline)
	e.State, e.Metadata = StateDone, maps.Clone(e.Metadata)
	if err := e.check(); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.keep(&kept{Entry: e}, &e); err != nil {
		return "", err
	}
	return e.ID, nil
}

// keep adds a run, drops the oldest if needed, and gives it an id if it has none.
// s.mu is held; e gets the id.
func (s *Runs) keep(k *kept, e *Entry) error {
	if k.ID == "" {
		k.ID = s.freeID()
	} else if s.find(k.ID) != nil {
		return fields.Wrong("id", k.ID, "an id of its own: another run has it")
	}
	if k.CreatedAt.IsZero() {
		k.CreatedAt = time.Now()
	}
	k.CreatedAt = k.CreatedAt.UTC().Round(0)
	for len(s.entries) >= s.options.MaxRuns {
		oldest := slices.IndexFunc(s.entries, func(k *kept) bool { return k.State != StateRunning })
		s.entries = slices.Delete(s.entries, oldest, oldest+1)
		s.dropped++
	}
	s.entries = append(s.entries, k)
	*e = k.Entry
	return nil
}

func (s *Runs) freeID() string {
	for {
		s.given++
		if id := fmt.Sprintf("run-%d", s.given); s.find(id) == nil {
			return id
		}
	}
}

func (s *Runs) find(id string) *kept {
	for _, k := range s.entries {
		if k.ID == id {
			return k
		}
	}
	return nil
}

func (e *Entry) check() error {
	wrong := fields.ListUpTo(maxReported)
	wrong.Demand(e.Timeline != nil, "timeline", nil, "a run")
	wrong.Demand(e.Kind == KindBaseline || e.Kind == KindScenario, "kind", string(e.Kind), "baseline or scenario")
	wrong.Add(checkLabel(e.Label))
	return wrong.Err()
}

func checkLabel(label string) error {
	if len(label) > maxLabel {
		return fields.Wrong("label", label, "at most 1024 bytes")
	}
	return nil
}

// Get returns the run with an id, and reports whether there is one.
func (s *Runs) Get(id string) (Entry, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.find(id)
	if k == nil {
		return Entry{}, false
	}
	return k.copy(), true
}

// List returns the runs kept, oldest first; it is never nil.
func (s *Runs) List() []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Entry, len(s.entries))
	for i, k := range s.entries {
		list[i] = k.copy()
	}
	return list
}

// Page returns the runs of a kind ("": any), newest first, without the first offset and
// at most limit of them, and how many there are in all. The page is never nil.
func (s *Runs) Page(kind Kind, offset, limit int) (page []Entry, all int) {
	page = []Entry{}
	for _, e := range slices.Backward(s.List()) {
		if kind != "" && e.Kind != kind {
			continue
		}
		if all++; all > offset && len(page) < limit {
			page = append(page, e)
		}
	}
	return page, all
}

// Dropped returns the number of runs dropped to make room for newer ones.
func (s *Runs) Dropped() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dropped
}

func (k *kept) copy() Entry {
	e := k.Entry
	e.Metadata = maps.Clone(e.Metadata)
	return e
}

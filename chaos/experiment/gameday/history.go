package gameday

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/chaos/experiment"
	"github.com/shakedown-go/shakedown/internal/wholefile"
)

const defaultMax = 1000

// A History is a bounded, append-only list of results, safe for concurrent use.
type History struct {
	mu    sync.Mutex
	max   int
	path  string    // empty: in memory only
	began []*CutOff // runs of this process that are under way, earliest first
	state state
}

// state is what a history holds. Its file has the runs under way among those that are open.
type state struct {
	Added   uint64              `json:"added"`   // results that were ever added
	Open    []CutOff            `json:"open"`    // runs that did not end in an earlier process, earliest first
	Gone    map[string]tally    `json:"gone"`    // results that are no longer kept, by experiment
	Results []experiment.Result `json:"results"` // oldest first
}

type tally struct {
	Runs      uint64 `json:"runs"`
	Succeeded uint64 `json:"succeeded"`
}

func (t tally) plus(r experiment.Result) tally {
	t.Runs++
	if r.Success {
		t.Succeeded++
	}
	return t
}

// A CutOff is a run that began and has no recorded end: the process ended first.
// Its experiment may not have been rolled back.
type CutOff struct {
	Name      string    `json:"experiment_name"`
	StartedAt time.Time `json:"started_at"` // UTC
}

// NewHistory makes an empty history in memory that keeps the latest max
// results. 0 or less: 1,000.
func NewHistory(max int) *History {
	if max <= 0 {
		max = defaultMax
	}
	return &History{max: max, state: state{Open: []CutOff{}, Gone: map[string]tally{}}}
}

// OpenHistory opens the history in a file, or makes a new one. It keeps the latest
// max results; 0 or less: 1,000. [History.CutOff] returns the runs that began and did
// not end. A file that holds no history is an error, and is not touched.
func OpenHistory(path string, max int) (*History, error) {
	h := NewHistory(max)
	h.path = path
	doc, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err == nil:
		if err = h.read(doc); err != nil {
			return nil, fmt.Errorf("gameday: history: %s: %w", path, err)
		}
	default:
		return nil, fmt.Errorf("gameday: history: %w", err)
	}
	h.trim()
	if err := h.write(); err != nil {
		return nil, err
	}
	return h, nil
}

func (h *History) read(doc []byte) error {
	h.state = state{} // what the file does not have is not there
	if err := json.Unmarshal(doc, &h.state); err != nil {
		return err
	}
	if h.state.Open == nil || h.state.Gone == nil || h.state.Added < uint64(len(h.state.Results)) {
		return errors.New("it is no history; allowed: a file that OpenHistory made")
	}
	return nil
}

// Add appends a result. When it returns nil, the result is on the disk, if the
// history is in a file. With an error the result is only in memory, and is lost
// with the process unless a later one is written.
func (h *History) Add(r experiment.Result) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.add(r)
}

// add appends a result; h.mu is held.
func (h *History) add(r experiment.Result) error {
	h.state.Added++
	h.state.Results = append(h.state.Results, r)
	h.trim()
	return h.write()
}

// Begin records that an experiment begins, as Add records a result: [History.CutOff] names the run if the process
// ends before the run does. Call end once, also after an error: it adds the result; nil means that the experiment
// was not run.
func (h *History) Begin(name string) (end func(*experiment.Result) error, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	run := &CutOff{Name: name, StartedAt: time.Now().UTC()}
	h.began = append(h.began, run)
	return func(r *experiment.Result) error {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.began = slices.DeleteFunc(h.began, func(b *CutOff) bool { return b == run })
		if r == nil {
			return h.write()
		}
		return h.add(*r)
	}, h.write()
}

// CutOff returns the runs of earlier processes that began and did not end, earliest first, until [History.Settle].
// At most as many are kept as results.
func (h *History) CutOff() []CutOff {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]CutOff{}, h.state.Open...)
}

// Settle removes the runs of an experiment from [History.CutOff]: an operator has
// checked them and undone what was left. It returns their number. The error is that
// of the file.
func (h *History) Settle(name string) (n int, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n = len(h.state.Open)
	h.state.Open = slices.DeleteFunc(h.state.Open, func(c CutOff) bool { return c.Name == name })
	n -= len(h.state.Open)
	return n, h.write()
}

// write replaces the file, if there is one; h.mu is held.
func (h *History) write() error {
	if h.path == "" {
		return nil
	}
	file := h.state
	file.Open = append([]CutOff{}, file.Open...)
	for _, run := range h.began {
		file.Open = append(file.Open, *run)
	}
	doc, err := json.Marshal(file)
	if err == nil {
		err = wholefile.Write(h.path, doc)
	}
	if err != nil {
		return fmt.Errorf("gameday: history: %w", err)
	}
	return nil
}

// trim drops the oldest results and cut-off runs.
func (h *History) trim() {
	if over := len(h.state.Results) - h.max; over > 0 {
		for _, r := range h.state.Results[:over] {
			h.state.Gone[r.Name] = h.state.Gone[r.Name].plus(r)
		}
		h.state.Results = slices.Delete(h.state.Results, 0, over)
	}
	h.state.Open = h.state.Open[max(0, len(h.state.Open)-h.max):]
}

// Results returns the kept results of an experiment, oldest first; name empty:
// of all. It is never nil.
func (h *History) Results(name string) []experiment.Result {
	h.mu.Lock()
	defer h.mu.Unlock()
	results := make([]experiment.Result, 0, len(h.state.Results))
	for _, r := range h.state.Results {
		if name == "" || r.Name == name {
			results = append(results, r)
		}
	}
	return results
}

// SuccessRate returns the number of runs of an experiment (name empty: of all), and
// the share of them that succeeded, from 0 to 1; 0 without runs. Runs whose results
// are no longer kept count too.
func (h *History) SuccessRate(name string) (runs int, rate float64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all tally
	for of, t := range h.state.Gone {
		if name == "" || of == name {
			all.Runs, all.Succeeded = all.Runs+t.Runs, all.Succeeded+t.Succeeded
		}
	}
	for _, r := range h.state.Results {
		if name == "" || r.Name == name {
			all = all.plus(r)
		}
	}
	return int(all.Runs), float64(all.Succeeded) / float64(cmp.Or(all.Runs, 1))
}

// Score is the chaos part of an overall score, as scoring.Parts has it: 100 times the
// share of all runs that succeeded; nil without runs.
func (h *History) Score() *float64 {
	runs, rate := h.SuccessRate("")
	if runs == 0 {
		return nil
	}
	return new(100 * rate)
}

// Dropped returns the number of results that are no longer kept.
func (h *History) Dropped() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.state.Added - uint64(len(h.state.Results))
}

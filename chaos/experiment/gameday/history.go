package gameday

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/chaos/experiment"
)

// defaultMax is the number of results that a history keeps by default.
const defaultMax = 1000

// A History is a bounded, append-only list of results, safe for concurrent use.
type History struct {
	mu      sync.Mutex
	max     int
	entries []entry           // results, oldest first
	gone    map[string]tally  // results that are no longer kept, by experiment
	last    uint64            // number of the latest result: how many were ever added
	runs    uint64            // number of the latest run that began
	open    map[uint64]CutOff // runs under way in this process
	cut     map[uint64]CutOff // runs that an earlier process did not end
	file    *file             // nil: in memory only
}

// entry is a line of the file: a result, or something else that a history needs
// after a restart.
type entry struct {
	Number  uint64             `json:"number,string"`        // results added so far, with this one
	Run     uint64             `json:"run,string,omitempty"` // the number of the run; 0: its beginning was not recorded
	Started *CutOff            `json:"started,omitempty"`    // the run began
	Settled bool               `json:"settled,omitempty"`    // the run needs no attention
	Gone    map[string]tally   `json:"gone,omitempty"`       // results that the file no longer has
	Result  *experiment.Result `json:"result,omitempty"`
}

// tally counts runs of one experiment.
type tally struct {
	Runs      uint64 `json:"runs"`
	Succeeded uint64 `json:"succeeded"`
}

func (t *tally) add(r *experiment.Result) {
	t.Runs++
	if r.Success {
		t.Succeeded++
	}
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
	return &History{max: max, gone: make(map[string]tally), open: make(map[uint64]CutOff), cut: make(map[uint64]CutOff)}
}

// OpenHistory opens the history in a file, or makes a new one. It keeps the latest
// max results; 0 or less: 1,000. The file has at most twice as many lines.
// [History.CutOff] returns the runs that began and did not end. An incomplete last
// line, as a crash leaves it, is removed. Damage before the last line is an error,
// because no crash causes it. Close the history after use.
func OpenHistory(path string, max int) (*History, error) {
	h := NewHistory(max)
	f, entries, err := openFile(path)
	if err != nil {
		return nil, fmt.Errorf("gameday: history: %w", err)
	}
	h.file = f
	for _, e := range entries {
		h.read(e)
	}
	h.trim()
	return h, nil
}

// read applies a line of the file.
func (h *History) read(e entry) {
	h.last, h.runs = max(h.last, e.Number), max(h.runs, e.Run)
	switch {
	case e.Gone != nil:
		h.gone = e.Gone
	case e.Started != nil:
		h.cut[e.Run] = *e.Started
	case e.Settled:
		delete(h.cut, e.Run)
	case e.Result != nil:
		delete(h.cut, e.Run)
		h.entries = append(h.entries, e)
	}
}

// Add appends a result. When it returns nil, the result is on the disk, if the
// history is in a file. With an error the result is only in memory, and is lost
// with the process.
func (h *History) Add(r experiment.Result) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.add(r, 0)
}

// add appends the result of a run; h.mu is held.
func (h *History) add(r experiment.Result, run uint64) error {
	h.last++
	e := entry{Number: h.last, Run: run, Result: &r}
	h.entries = append(h.entries, e)
	h.trim()
	return h.write(e)
}

// Begin records that an experiment begins. When it returns a nil error, the record
// is on the disk, if the history is in a file. So [History.CutOff] names the run if
// the process ends before the run does. Call end once: it adds the result as
// [History.Add] does; nil means that the experiment was not run. end can be called
// also after an error.
func (h *History) Begin(name string) (end func(*experiment.Result) error, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.runs++
	run, began := h.runs, CutOff{Name: name, StartedAt: time.Now().UTC()}
	h.open[run] = began
	err = h.write(entry{Number: h.last, Run: run, Started: &began})
	return func(r *experiment.Result) error {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.open, run)
		if r == nil {
			return h.write(entry{Number: h.last, Run: run, Settled: true})
		}
		return h.add(*r, run)
	}, err
}

// CutOff returns the runs of earlier processes that began and did not end, earliest
// first. They may not have been rolled back. At most as many are kept as results.
// They are listed until [History.Settle].
func (h *History) CutOff() []CutOff {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]CutOff, 0, len(h.cut))
	for _, run := range slices.Sorted(maps.Keys(h.cut)) {
		list = append(list, h.cut[run])
	}
	return list
}

// Settle removes the runs of an experiment from [History.CutOff]: an operator has
// checked them and undone what was left. It returns their number. The error is that
// of the file.
func (h *History) Settle(name string) (n int, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for run, c := range h.cut {
		if c.Name == name {
			delete(h.cut, run)
			n++
			err = errors.Join(err, h.write(entry{Number: h.last, Run: run, Settled: true}))
		}
	}
	return n, err
}

// write puts a line into the file, if there is one; h.mu is held.
func (h *History) write(e entry) error {
	if h.file == nil {
		return nil
	}
	err := h.file.append(e)
	if err == nil && h.file.lines > 2*h.max {
		err = h.file.replace(h.lines())
	}
	if err != nil {
		return fmt.Errorf("gameday: history: %w", err)
	}
	return nil
}

// lines returns the lines with the whole content of the history.
func (h *History) lines() []entry {
	lines := []entry{{Number: h.last - uint64(len(h.entries)), Run: h.runs, Gone: h.gone}}
	started := maps.Clone(h.cut)
	maps.Copy(started, h.open)
	for _, run := range slices.Sorted(maps.Keys(started)) {
		c := started[run]
		lines = append(lines, entry{Number: lines[0].Number, Run: run, Started: &c})
	}
	return append(lines, h.entries...)
}

// trim drops the oldest entries and cut-off runs. It copies the entries when their
// array is full, so that dropped ones do not stay in memory.
func (h *History) trim() {
	if over := len(h.entries) - h.max; over > 0 {
		for _, e := range h.entries[:over] {
			t := h.gone[e.Result.Name]
			t.add(e.Result)
			h.gone[e.Result.Name] = t
		}
		h.entries = h.entries[over:]
		if cap(h.entries) < h.max+1 {
			h.entries = slices.Grow(slices.Clone(h.entries), h.max)
		}
	}
	if over := len(h.cut) - h.max; over > 0 {
		for _, run := range slices.Sorted(maps.Keys(h.cut))[:over] {
			delete(h.cut, run)
		}
	}
}

// Results returns the kept results of an experiment, oldest first; name empty:
// of all. It is never nil.
func (h *History) Results(name string) []experiment.Result {
	h.mu.Lock()
	defer h.mu.Unlock()
	results := make([]experiment.Result, 0, len(h.entries))
	for _, e := range h.entries {
		if name == "" || e.Result.Name == name {
			results = append(results, *e.Result)
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
	for of, t := range h.gone {
		if name == "" || of == name {
			all.Runs, all.Succeeded = all.Runs+t.Runs, all.Succeeded+t.Succeeded
		}
	}
	for _, e := range h.entries {
		if name == "" || e.Result.Name == name {
			all.add(e.Result)
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
	return h.last - uint64(len(h.entries))
}

// Close closes the file, if there is one. Adding a result after that is an error.
func (h *History) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.file == nil {
		return nil
	}
	return h.file.close()
}

var errClosed = errors.New("it is closed")

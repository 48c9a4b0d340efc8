package gameday

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/shakedown-go/shakedown/contract/experiment"
)

// defaultMax is how many results a history keeps unless told otherwise.
const defaultMax = 1000

// A History is a bounded, append-only list of results, safe for concurrent use.
type History struct {
	mu      sync.Mutex
	max     int
	entries []entry // oldest first
	last    uint64  // number of the latest entry, which is that of all results ever added
	file    *file   // nil: in memory only
}

// entry is a result and its number, from 1.
type entry struct {
	Number uint64            `json:"number,string"`
	Result experiment.Result `json:"result"`
}

// NewHistory makes an empty history in memory that keeps the latest max
// results. 0 or less: 1,000.
func NewHistory(max int) *History {
	if max <= 0 {
		max = defaultMax
	}
	return &History{max: max}
}

// OpenHistory opens the history in a file, or makes a new one. The latest max
// results are kept, at most twice as many are in the file; 0 or less: 1,000. A torn end, as
// a crash leaves it, is cut off. A file that is damaged before its end is an
// error: it was no crash. Close it after use.
func OpenHistory(path string, max int) (*History, error) {
	h := NewHistory(max)
	f, entries, err := openFile(path)
	if err != nil {
		return nil, fmt.Errorf("gameday: history: %w", err)
	}
	h.file, h.entries = f, entries
	if len(entries) > 0 {
		h.last = entries[len(entries)-1].Number
	}
	h.trim()
	return h, nil
}

// Add appends a result. Once it returns nil, the result is on the disk, if the
// history is in a file. With an error it is remembered all the same, but will be
// lost with the process.
func (h *History) Add(r experiment.Result) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last++
	e := entry{h.last, r}
	h.entries = append(h.entries, e)
	h.trim()
	if h.file == nil {
		return nil
	}
	err := h.file.append(e)
	if err == nil && h.file.lines > 2*h.max {
		err = h.file.replace(h.entries)
	}
	if err != nil {
		return fmt.Errorf("gameday: history: %w", err)
	}
	return nil
}

// trim drops the oldest entries. It copies now and then, so that what was
// dropped does not stay in memory.
func (h *History) trim() {
	if over := len(h.entries) - h.max; over > 0 {
		h.entries = h.entries[over:]
		if cap(h.entries) < h.max+1 {
			h.entries = slices.Grow(slices.Clone(h.entries), h.max)
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
			results = append(results, e.Result)
		}
	}
	return results
}

// SuccessRate counts the kept results of an experiment, name empty: of all, and
// says which share of them succeeded; 0 with none.
func (h *History) SuccessRate(name string) (runs int, rate float64) {
	results := h.Results(name)
	good := 0
	for _, r := range results {
		if r.Success {
			good++
		}
	}
	if len(results) == 0 {
		return 0, 0
	}
	return len(results), float64(good) / float64(len(results))
}

// Dropped is the number of results that are not kept any more.
func (h *History) Dropped() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last - uint64(len(h.entries))
}

// Close closes the file, if there is one. Results added later are an error.
func (h *History) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.file == nil {
		return nil
	}
	return h.file.close()
}

var errClosed = errors.New("it is closed")

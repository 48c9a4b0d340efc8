package timeline

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Bound is one end of a window: the index of a bin, or a time, which means the
// bin that it falls in. Both ends of a window are inclusive. The zero value is
// open: it means the first bin as a start, and the last as an end.
//
// In JSON it is a number, an RFC 3339 string, or null.
type Bound struct {
	kind boundKind
	bin  int
	time time.Time
}

type boundKind uint8

const (
	boundOpen boundKind = iota
	boundBin
	boundTime
)

// Bin returns the bound at the bin with that index, from 0.
func Bin(i int) Bound { return Bound{kind: boundBin, bin: i} }

// At returns the bound at the bin that t falls in. A time before the run's epoch,
// or before the bins that a live run keeps, means the first bin.
func At(t time.Time) Bound { return Bound{kind: boundTime, time: t} }

// String returns the bin index, the time in RFC 3339, or "" for an open bound.
func (b Bound) String() string {
	switch b.kind {
	case boundBin:
		return strconv.Itoa(b.bin)
	case boundTime:
		return b.time.Format(time.RFC3339Nano)
	default:
		return ""
	}
}

// UnmarshalJSON reads a bin index, an RFC 3339 string, or null for an open bound.
func (b *Bound) UnmarshalJSON(text []byte) error {
	s := string(bytes.TrimSpace(text))
	if s == "null" || strings.HasPrefix(s, `"`) && json.Unmarshal(text, &s) == nil && s == "" {
		*b = Bound{}
		return nil
	}
	if i, err := strconv.Atoi(s); err == nil {
		*b = Bin(i)
		return nil
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return fields.Wrong("bound", json.RawMessage(text), "a bin index or a time in RFC 3339")
	}
	*b = At(t)
	return nil
}

// MarshalJSON writes a number, a string or null.
func (b Bound) MarshalJSON() ([]byte, error) {
	switch b.kind {
	case boundBin:
		return strconv.AppendInt(nil, int64(b.bin), 10), nil
	case boundTime:
		return json.Marshal(b.String())
	default:
		return []byte("null"), nil
	}
}

// A Query selects a part of a run. The zero value selects the whole run, with all
// classes together.
type Query struct {
	_ struct{}
	// Start and End bound the window, both inclusive. Bins after the last recorded
	// one are left out of the answer.
	Start, End Bound
	// Nodes selects nodes; nil: all that were called. A node that the run does not
	// have is an error.
	Nodes []string
	// Classes selects classes. An answer with a place for the class shows each
	// separately, any other shows them together. nil: all together.
	Classes []string
	// MaxBins is the largest number of bins of a window; 0 means 1000.
	MaxBins int
}

// A WindowError reports a window that ends before it starts, or that is too large.
type WindowError struct {
	StartBin, EndBin int
	MaxBins          int
}

// Error returns "endBin must be >= startBin." or "Requested window N exceeds
// maxBins M.": the exact texts of the MCP tools.
func (e *WindowError) Error() string {
	if e.EndBin < e.StartBin {
		return "endBin must be >= startBin."
	}
	return fmt.Sprintf("Requested window %d exceeds maxBins %d.", uint64(e.EndBin-e.StartBin)+1, e.MaxBins)
}

// A span is a window in bins of the present length, both ends inclusive.
type span struct{ first, last int }

func (w span) bins() int { return w.last - w.first + 1 }

// window resolves the bounds against the recorded bins.
func (q Query) window(x extent) (span, error) {
	if x.bins == 0 {
		return span{}, fields.Because("window", q.Start.String()+".."+q.End.String(),
			errors.New("the run has no samples"), "")
	}
	limit := cmp.Or(q.MaxBins, defaultMaxBins)
	if limit < 0 {
		return span{}, fields.Wrong("maxBins", limit, "0 or more")
	}
	w := span{first: x.resolve(q.Start, x.first), last: x.resolve(q.End, x.bins-1)}
	if w.first < 0 {
		return span{}, fields.Wrong("startBin", w.first, "0 or more")
	}
	if w.first < x.first && w.first <= w.last {
		return span{}, fields.Wrong("startBin", w.first,
			fmt.Sprintf("%d or more: earlier bins are no longer kept", x.first))
	}
	if w.last < w.first || w.last-w.first >= limit {
		return span{}, &WindowError{w.first, w.last, limit}
	}
	if w.first >= x.bins {
		return span{}, fields.Wrong("startBin", w.first, fmt.Sprintf("at most %d, the last recorded bin", x.bins-1))
	}
	w.last = min(w.last, x.bins-1)
	return w, nil
}

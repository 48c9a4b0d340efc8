package trace

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/otlp"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// trace collects the spans of one input. Callers are known only when all spans are
// read.
type trace struct {
	options  ReadOptions
	spans    []span
	byID     map[otlp.ID]int
	repeated int
	wrong    *fielderror.List
}

type span struct {
	id, parent otlp.ID
	root       bool
	inner      bool // its parent is the same call, seen by another instrumentation
	lane       string
	source     string // the service that exported it
	start, end int64  // unix ns
	sample     timeline.Sample
}

// missingCaller is the caller of spans whose parent is not in the input.
const missingCaller = "(missing)"

// span adds one span, unless it has problems. Those that otlp found are in wrong
// already.
func (t *trace) span(at *otlp.Place, in *otlp.Span) {
	s := span{
		id: in.ID, parent: in.Parent, root: in.Root, start: in.Start, end: in.End,
		lane:   strings.ToLower(in.TraceID),
		source: cmp.Or(in.Resource.Text("service.name"), "(no service.name)"),
		sample: t.sampleOf(at, in),
	}
	if !s.root {
		s.lane = strings.ToLower(in.ParentID)
	}
	if s.sample.Target == "" {
		at.Refuse("name", nil, "a name that is not empty")
	}
	if !at.Bad() {
		t.keep(at, s)
	}
}

func (t *trace) keep(at *otlp.Place, s span) {
	first, repeated := t.byID[s.id]
	if !repeated {
		t.byID[s.id] = len(t.spans)
		t.spans = append(t.spans, s)
		return
	}
	if same := &t.spans[first]; same.start != s.start || same.end != s.end || same.sample != s.sample {
		at.Refuse("spanId", hex.EncodeToString(s.id[16:]), "an id of its own: another span of the trace has it")
		return
	}
	t.repeated++
}

// sampleOf returns the sample of a span, without what depends on other spans.
func (t *trace) sampleOf(at *otlp.Place, in *otlp.Span) timeline.Sample {
	node, kind := in.Node()
	s := timeline.Sample{
		Target: node, Type: typeOf(kind),
		Failed: in.Failed(),
	}
	if service := in.Resource.Text("service.name"); service != "" && node != "" {
		s.Target = strings.ReplaceAll(service, ".", "_") + "." + node
	}
	s.Class = cmp.Or(in.Attributes.Text(t.options.ClassBy), in.Resource.Text(t.options.ClassBy))
	if args := in.Attributes.Find("gen_ai.tool.call.arguments"); args != nil {
		s.Key = args.Hash()
	}
	if resent := in.Attributes.Text("http.request.resend_count"); resent != "" {
		n, err := strconv.ParseInt(resent, 10, 32)
		if err != nil || n < 0 {
			at.Refuse("attributes.http.request.resend_count", resent, "a number of times, 0 or more")
		}
		s.Attempt = int(n) + 1
	}
	return s
}

// typeOf returns the type of a kind of span.
func typeOf(kind otlp.Kind) timeline.NodeType {
	switch kind {
	case otlp.Tool:
		return timeline.NodeTool
	case otlp.Agent:
		return timeline.NodeAgent
	case otlp.Model:
		return timeline.NodeLLM
	case otlp.HTTP:
		return timeline.NodeHTTP
	}
	return timeline.NodePoint
}

// samples joins the spans to their parents.
func (t *trace) samples() *SampleList {
	r := &SampleList{Epoch: time.Unix(0, 0).UTC(), Samples: make([]timeline.Sample, 0, len(t.spans))}
	if len(t.spans) == 0 {
		return r
	}
	for i := range t.spans {
		t.spans[i].inner = t.innerOf(&t.spans[i])
	}
	earliest := t.spans[0].start
	for i := range t.spans {
		earliest = min(earliest, t.spans[i].start)
	}
	earliest -= earliest % int64(time.Second)
	r.Epoch = time.Unix(0, earliest).UTC()
	inner, orphans := 0, 0
	for i := range t.spans {
		s := &t.spans[i]
		if s.inner {
			inner++
			continue
		}
		x := s.sample
		x.Lane = s.lane
		x.Start, x.End = time.Duration(s.start-earliest), time.Duration(s.end-earliest)
		if parent, there := t.byID[s.parent]; there && !s.root {
			x.Caller = t.spans[parent].sample.Target
		} else if !s.root {
			x.Caller = missingCaller
			orphans++
		}
		r.Samples = append(r.Samples, x)
	}
	r.note(t.repeated, "spans exported again, counted once")
	r.note(inner, "spans of a tool directly inside a span of the same tool, not counted again")
	r.note(orphans, `spans whose parent is not there, called by "`+missingCaller+`"`)
	r.NumberAttempts()
	return r
}

// maxGap is the longest pause within one input. One clock that is years wrong would make
// the bins of the run years long.
const maxGap = 12 * time.Hour

// refuseGaps refuses spans that lie more than maxGap after all others began.
func (t *trace) refuseGaps() {
	byStart := make([]*span, len(t.spans))
	for i := range t.spans {
		byStart[i] = &t.spans[i]
	}
	slices.SortStableFunc(byStart, func(a, b *span) int { return cmp.Compare(a.start, b.start) })
	for i, s := range byStart {
		next, gap := s, time.Duration(s.end-byStart[len(byStart)-1].start)
		if i+1 < len(byStart) {
			next = byStart[i+1]
			gap = max(gap, time.Duration(next.start-s.start))
		}
		if gap > maxGap {
			found := fmt.Sprintf("spans of %q and %q, %v apart", s.source, next.source, gap)
			t.wrong.Wrong("input", fielderror.Found(found),
				fmt.Sprintf("spans of one run, without a pause of more than %v: one clock may be wrong", maxGap))
			return
		}
	}
}

// refuseCycles rejects spans that are inside each other: none of them would be a
// real call.
func (t *trace) refuseCycles() {
	otlp.Cycles(len(t.spans), func(i int) (int, bool) { return t.parentOf(&t.spans[i]) }, func(i int) {
		t.wrong.Wrong("parentSpanId", hex.EncodeToString(t.spans[i].parent[16:]),
			fmt.Sprintf("the id of a span that is not inside span %x itself", t.spans[i].id[16:]))
	})
}

func (t *trace) parentOf(s *span) (at int, there bool) {
	if s.root {
		return 0, false
	}
	at, there = t.byID[s.parent]
	return at, there
}

// innerOf reports whether a tool's span lies directly in a span of the same tool.
func (t *trace) innerOf(s *span) bool {
	if s.root || s.sample.Type != timeline.NodeTool {
		return false
	}
	parent, there := t.byID[s.parent]
	return there && t.spans[parent].sample.Target == s.sample.Target
}

func (r *SampleList) note(n int, what string) {
	if n > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%s: %d", what, n))
	}
}

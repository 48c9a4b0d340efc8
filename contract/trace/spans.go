package trace

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/jsonhash"
	"github.com/shakedown-go/shakedown/internal/otlp"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// trace collects the spans of one input. Callers are known only when all spans are
// read.
type trace struct {
	spans    []span
	byID     map[otlp.ID]int
	repeated int
	wrong    *fielderror.List
}

type span struct {
	id, parent otlp.ID
	root       bool
	lane       string
	source     string // the service that exported it
	start, end int64  // unix ns
	sample     timeline.Sample
}

const missingCaller = "(missing)"

// classBy is the attribute with the class of a call, first of its span, then of the resource.
const classBy = "shakedown.class"

// span adds one span, unless it has problems. Those that otlp found are in wrong
// already.
func (t *trace) span(at *otlp.Place, in *otlp.Span) {
	s := span{
		id: in.ID, parent: in.Parent, root: in.Root, start: in.Start, end: in.End,
		lane:   strings.ToLower(in.TraceID),
		source: cmp.Or(in.Resource.Text("service.name"), "(no service.name)"),
		sample: sampleOf(in),
	}
	if !s.root {
		s.lane = strings.ToLower(in.ParentID)
	}
	if s.sample.Target == "" {
		at.Refuse("name", nil, "a name that is not empty")
	}
	if at.Bad() {
		return
	}
	first, repeated := t.byID[s.id]
	switch {
	case !repeated:
		t.byID[s.id] = len(t.spans)
		t.spans = append(t.spans, s)
	case t.spans[first].start != s.start || t.spans[first].end != s.end || t.spans[first].sample != s.sample:
		at.Refuse("spanId", hex.EncodeToString(s.id[16:]), "an id of its own: another span of the trace has it")
	default:
		t.repeated++
	}
}

// sampleOf returns the sample of a span, without what depends on other spans.
func sampleOf(in *otlp.Span) timeline.Sample {
	node, kind := in.Node()
	s := timeline.Sample{Target: node, Type: cmp.Or(nodeTypes[kind], timeline.NodePoint), Failed: in.Failed()}
	if service := in.Resource.Text("service.name"); service != "" && node != "" {
		s.Target = strings.ReplaceAll(service, ".", "_") + "." + node
	}
	s.Class = cmp.Or(in.Attributes.Text(classBy), in.Resource.Text(classBy))
	args := in.Attributes.Find("gen_ai.tool.call.arguments")
	if args != nil && (args.String != nil || args.List != nil || args.Array != nil) {
		s.Key = jsonhash.Sum(args.JSON())
	}
	return s
}

// nodeTypes are those of kinds of spans. Any other is a point.
var nodeTypes = map[otlp.Kind]timeline.NodeType{otlp.Tool: timeline.NodeTool, otlp.Agent: timeline.NodeAgent,
	otlp.Model: timeline.NodeLLM, otlp.HTTP: timeline.NodeHTTP}

// samples joins the spans to their parents. A tool's span directly in a span of the same tool is the
// same call, seen by another instrumentation.
func (t *trace) samples() *sampleList {
	r := &sampleList{epoch: time.Unix(0, 0).UTC()}
	if len(t.spans) == 0 {
		return r
	}
	earliest := slices.MinFunc(t.spans, func(a, b span) int { return cmp.Compare(a.start, b.start) }).start
	earliest -= earliest % int64(time.Second)
	r.epoch, r.samples = time.Unix(0, earliest).UTC(), make([]timeline.Sample, 0, len(t.spans))
	inner, orphans := 0, 0
	for i := range t.spans {
		s := &t.spans[i]
		x := s.sample
		switch parent, there := t.parentOf(i); {
		case there:
			x.Caller = t.spans[parent].sample.Target
			if x.Type == timeline.NodeTool && x.Caller == x.Target {
				inner++
				continue
			}
		case !s.root:
			x.Caller = missingCaller
			orphans++
		}
		x.Lane = s.lane
		x.Start, x.End = time.Duration(s.start-earliest), time.Duration(s.end-earliest)
		r.samples = append(r.samples, x)
	}
	r.note(t.repeated, "spans exported again, counted once")
	r.note(inner, "spans of a tool directly inside a span of the same tool, not counted again")
	r.note(orphans, `spans whose parent is not there, called by "`+missingCaller+`"`)
	numberAttempts(r.samples)
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

// parentOf is the span that a span is directly in.
func (t *trace) parentOf(i int) (at int, there bool) {
	at, there = t.byID[t.spans[i].parent]
	return at, there && !t.spans[i].root
}

func (r *sampleList) note(n int, what string) {
	if n > 0 {
		r.notes = append(r.notes, fmt.Sprintf("%s: %d", what, n))
	}
}

package trace

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/jsonhash"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// trace collects the spans of one input. Callers are known only when all spans are
// read.
type trace struct {
	options  ReadOptions
	spans    []span
	byID     map[spanID]int
	repeated int
	wrong    *fielderror.List
}

// A spanID is the 16 bytes of the trace's id and the 8 of the span's.
type spanID [24]byte

type span struct {
	id, parent spanID
	root       bool
	inner      bool // its parent is the same call, seen by another instrumentation
	lane       string
	source     string // the service that exported it
	start, end int64  // unix ns
	sample     timeline.Sample
}

// missingCaller is the caller of spans whose parent is not in the input.
const missingCaller = "(missing)"

func (t *trace) add(line int, request *otlpRequest) {
	if request.ResourceSpans == nil {
		t.wrong.Add(fields.Wrong("resourceSpans", nil, "an array: an ExportTraceServiceRequest has it").At(line, 0))
		return
	}
	for i, rs := range *request.ResourceSpans {
		for j, ss := range rs.ScopeSpans {
			for k := range ss.Spans {
				if len(t.spans) >= t.options.MaxSamples {
					t.wrong.Add(fields.Wrong("input", fielderror.Found("too long"),
						fmt.Sprintf("at most %d spans", t.options.MaxSamples)).At(line, 0))
					return
				}
				at := place{t, line, fmt.Sprintf("resourceSpans[%d].scopeSpans[%d].spans[%d].", i, j, k)}
				t.span(at, &ss.Spans[k], rs.Resource.Attributes)
			}
		}
	}
}

// A place is the position of a span in the input.
type place struct {
	*trace
	line int
	path string
}

func (p place) refuse(field string, value any, allowed string) {
	if value == "" {
		value = nil
	}
	p.wrong.Add(fields.Wrong(p.path+field, value, allowed).At(p.line, 0))
}

// span adds one span, or reports all its problems.
func (t *trace) span(at place, in *otlpSpan, resource otlpAttributes) {
	var s span
	before := t.wrong.Count()
	at.id(s.id[:16], "traceId", in.TraceID)
	at.id(s.id[16:], "spanId", in.SpanID)
	s.root = strings.Trim(in.ParentID, "0") == ""
	copy(s.parent[:16], s.id[:16])
	s.lane = strings.ToLower(in.TraceID)
	if !s.root {
		at.id(s.parent[16:], "parentSpanId", in.ParentID)
		s.lane = strings.ToLower(in.ParentID)
		if s.parent == s.id {
			at.refuse("parentSpanId", in.ParentID, "the id of another span")
		}
	}
	s.start = at.time("startTimeUnixNano", in.Start)
	s.end = at.time("endTimeUnixNano", in.End)
	if s.end < s.start && s.end > 0 {
		at.refuse("endTimeUnixNano", string(in.End), "not before startTimeUnixNano, which is "+string(in.Start))
	}
	if in.Status.Code < 0 || in.Status.Code > otlpStatusError {
		at.refuse("status.code", in.Status.Code, "0 (unset), 1 (ok) or 2 (error)")
	}
	s.source = cmp.Or(resource.text("service.name"), "(no service.name)")
	s.sample = t.sampleOf(at, in, resource)
	if s.sample.Target == "" {
		at.refuse("name", nil, "a name that is not empty")
	}
	if t.wrong.Count() > before {
		return
	}
	t.keep(at, s)
}

func (t *trace) keep(at place, s span) {
	first, repeated := t.byID[s.id]
	if !repeated {
		t.byID[s.id] = len(t.spans)
		t.spans = append(t.spans, s)
		return
	}
	if same := &t.spans[first]; same.start != s.start || same.end != s.end || same.sample != s.sample {
		at.refuse("spanId", hex.EncodeToString(s.id[16:]), "an id of its own: another span of the trace has it")
		return
	}
	t.repeated++
}

func (p place) id(to []byte, field, text string) {
	if hex.DecodedLen(len(text)) == len(to) && len(text)%2 == 0 && strings.Trim(text, "0") != "" {
		if _, err := hex.Decode(to, []byte(text)); err == nil {
			return
		}
	}
	p.refuse(field, text, fmt.Sprintf("%d hexadecimal digits, not all 0", 2*len(to)))
}

func (p place) time(field string, text otlpInt) int64 {
	n, err := strconv.ParseUint(string(text), 10, 64)
	if err != nil || n == 0 || n > math.MaxInt64 {
		p.refuse(field, string(text), "nanoseconds since 1970, above 0 and below 2^63, as a string or a number")
		return 0
	}
	return int64(n)
}

// sampleOf returns the sample of a span, without what depends on other spans.
func (t *trace) sampleOf(at place, in *otlpSpan, resource otlpAttributes) timeline.Sample {
	node, is := nodeOf(in)
	s := timeline.Sample{
		Target: node, Type: is,
		Fault: in.Attributes.text("shakedown.fault"), Rule: in.Attributes.text("shakedown.rule"),
		Failed: in.Status.Code == otlpStatusError ||
			in.Status.Code == otlpStatusUnset && in.Attributes.text("error.type") != "",
	}
	if service := resource.text("service.name"); service != "" && node != "" {
		s.Target = strings.ReplaceAll(service, ".", "_") + "." + node
	}
	if s.Class = in.Attributes.text(t.options.ClassBy); s.Class == "" {
		s.Class = resource.text(t.options.ClassBy)
	}
	if args := in.Attributes.find("gen_ai.tool.call.arguments"); args != nil {
		s.Key = args.hash()
	}
	if resent := in.Attributes.text("http.request.resend_count"); resent != "" {
		n, err := strconv.ParseInt(resent, 10, 32)
		if err != nil || n < 0 {
			at.refuse("attributes.http.request.resend_count", resent, "a number of times, 0 or more")
		}
		s.Attempt = int(n) + 1
	}
	return s
}

// hash returns the key of arguments, which are text or a structure.
func (v *otlpValue) hash() uint64 {
	switch {
	case v.String != nil:
		return jsonhash.Sum([]byte(*v.String))
	case v.List != nil:
		return jsonhash.Sum(v.List)
	case v.Array != nil:
		return jsonhash.Sum(v.Array)
	}
	return 0
}

// nodeOf returns the name and type of the node that a span calls, by the semantic
// conventions of OpenTelemetry.
func nodeOf(in *otlpSpan) (string, timeline.NodeType) {
	first := func(keys ...string) string {
		for _, key := range keys {
			if text := in.Attributes.text(key); text != "" {
				return text
			}
		}
		return in.Name
	}
	operation := in.Attributes.text("gen_ai.operation.name")
	switch {
	case operation == "execute_tool" || in.Attributes.text("gen_ai.tool.name") != "":
		return first("gen_ai.tool.name"), timeline.NodeTool
	case in.Attributes.text("mcp.method.name") == "tools/list":
		return "tools/list", timeline.NodeTool
	case operation == "create_agent" || operation == "invoke_agent" || operation == "invoke_workflow":
		return first("gen_ai.agent.name"), timeline.NodeAgent
	case operation != "":
		return first("gen_ai.request.model"), timeline.NodeLLM
	case in.Attributes.text("http.request.method") != "" || in.Attributes.text("http.method") != "":
		if in.Kind == otlpKindClient {
			return first("server.address", "net.peer.name"), timeline.NodeHTTP
		}
		return in.Name, timeline.NodeHTTP
	}
	return in.Name, timeline.NodePoint
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
	r.Notes = t.clockNotes()
	earliest, latest := t.largestPart()
	elsewhere := make(map[string]int) // spans by source
	begin := earliest
	earliest -= earliest % int64(time.Second)
	r.Epoch = time.Unix(0, earliest).UTC()
	inner, orphans := 0, 0
	for i := range t.spans {
		s := &t.spans[i]
		if s.start < begin || s.start > latest || s.end-latest > int64(t.options.MaxGap) {
			elsewhere[s.source]++
			continue
		}
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
	for _, source := range slices.Sorted(maps.Keys(elsewhere)) {
		r.note(elsewhere[source],
			fmt.Sprintf("spans of %q more than %v away from the others, left out", source, t.options.MaxGap))
	}
	r.NumberAttempts()
	return r
}

// largestPart returns the first and the last start in the part of the trace with the
// most spans; of equal parts, the earliest. Pauses of more than MaxGap separate parts.
// A span that ends more than MaxGap after the last start of its part is not counted:
// one of its times is wrong.
func (t *trace) largestPart() (first, last int64) {
	byStart := make([]*span, len(t.spans))
	for i := range t.spans {
		byStart[i] = &t.spans[i]
	}
	slices.SortFunc(byStart, func(a, b *span) int { return cmp.Compare(a.start, b.start) })
	from, most := 0, -1
	for i, s := range byStart {
		if i+1 < len(byStart) && byStart[i+1].start-s.start <= int64(t.options.MaxGap) {
			continue
		}
		fit := 0
		for _, other := range byStart[from : i+1] {
			if other.end-s.start <= int64(t.options.MaxGap) {
				fit++
			}
		}
		if fit > most {
			most, first, last = fit, byStart[from].start, s.start
		}
		from = i + 1
	}
	return first, last
}

// refuseCycles rejects spans that are inside each other: none of them would be a
// real call.
func (t *trace) refuseCycles() {
	const open, done = 1, 2
	state := make([]uint8, len(t.spans))
	for i := range t.spans {
		at, there := i, true
		for there && state[at] == 0 {
			state[at] = open
			at, there = t.parentOf(&t.spans[at])
		}
		if there && state[at] == open {
			t.wrong.Wrong("parentSpanId", hex.EncodeToString(t.spans[at].parent[16:]),
				fmt.Sprintf("the id of a span that is not inside span %x itself", t.spans[at].id[16:]))
		}
		for at, there = i, true; there && state[at] == open; at, there = t.parentOf(&t.spans[at]) {
			state[at] = done
		}
	}
}

func (t *trace) parentOf(s *span) (at int, there bool) {
	if s.root {
		return 0, false
	}
	at, there = t.byID[s.parent]
	return at, there
}

// clockSlack is the difference of clocks below which there is no note.
const clockSlack = int64(time.Millisecond)

// clockNotes names the sources whose clocks disagree: a span cannot begin before the
// span of another service that caused it.
func (t *trace) clockNotes() []string {
	type pair struct{ source, parent string }
	type skew struct {
		spans int
		most  int64
	}
	found := make(map[pair]skew)
	for i := range t.spans {
		s := &t.spans[i]
		at, there := t.byID[s.parent]
		if s.root || !there {
			continue
		}
		p := &t.spans[at]
		if early := p.start - s.start; p.source != s.source && early > clockSlack {
			k := found[pair{s.source, p.source}]
			found[pair{s.source, p.source}] = skew{k.spans + 1, max(k.most, early)}
		}
	}
	var notes []string
	for of, k := range found {
		notes = append(notes,
			fmt.Sprintf("the clocks of %q and %q disagree by %v at least: spans of the first that begin before their parent in the second: %d",
				of.source, of.parent, time.Duration(k.most), k.spans))
	}
	slices.Sort(notes)
	return notes
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

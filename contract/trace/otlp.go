package trace

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/internal/otlp"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// ReadOptions bound the input of [ReadOTLP]. The zero value, and nil, give the defaults.
type ReadOptions struct {
	_ struct{}
	// MaxBytes is the largest length of an input, in bytes; 0: 64 MiB.
	MaxBytes int64
	// Run has the options of the run. A zero Epoch means the earliest start of a span, rounded
	// down to a second.
	Run timeline.RunOptions
}

// ReadOTLP makes a run of OpenTelemetry spans in OTLP JSON: one ExportTraceServiceRequest,
// or several, one after the other, as the collector's file exporter writes them; io.MultiReader
// joins files. Each span becomes a sample; docs/live.md says of which node, and what its members
// come from.
//
// A tool's span inside a span of the same tool (two instrumentations of one call) is not counted
// again, nor is a span that was exported twice; the notes of the run say how many. A pause of more
// than 12 hours is an error that names the services: one of the clocks may be wrong.
//
// Members of unknown names are ignored, as the protocol demands. All other problems
// are joined, the first 16 as a [*FieldError] with its place. With an error there is no run.
func ReadOTLP(r io.Reader, o *ReadOptions) (*timeline.Run, error) {
	options := *cmp.Or(o, &ReadOptions{})
	list, err := readSpans(r, &options)
	if err != nil {
		return nil, err
	}
	return list.run(options.Run)
}

// A sampleList is the samples of an input, with the time of offset 0.
type sampleList struct {
	epoch   time.Time
	samples []timeline.Sample
	notes   []string // decisions made while reading: missing parents, repeated spans
}

// run makes a run of the samples, in the order in which they ended.
func (l *sampleList) run(o timeline.RunOptions) (*timeline.Run, error) {
	if o.Epoch.IsZero() {
		o.Epoch = l.epoch
	}
	o.Notes = slices.Concat(o.Notes, l.notes)
	run, err := timeline.NewRun(&o)
	if err != nil {
		return nil, err
	}
	shift := l.epoch.Sub(run.Epoch())
	for i := range l.samples {
		l.samples[i].Start += shift
		l.samples[i].End += shift
	}
	slices.SortStableFunc(l.samples, func(a, b timeline.Sample) int {
		return cmp.Or(cmp.Compare(a.End, b.End), cmp.Compare(a.Start, b.Start), cmp.Compare(a.Attempt, b.Attempt))
	})
	if err := run.AddAll(l.samples); err != nil {
		return nil, err
	}
	return run, nil
}

func readSpans(r io.Reader, o *ReadOptions) (*sampleList, error) {
	text, err := otlp.ReadAll(r, o.MaxBytes, fields)
	if err != nil {
		return nil, err
	}
	t := trace{byID: make(map[otlp.ID]int), wrong: fields.ListUpTo(maxReported)}
	in := otlp.Reader{Fields: fields, Wrong: t.wrong}
	in.Read(text, t.span)
	otlp.Cycles(len(t.spans), t.parentOf, func(i int) { // none of them would be a real call
		t.wrong.Wrong("parentSpanId", hex.EncodeToString(t.spans[i].parent[16:]),
			fmt.Sprintf("the id of a span that is not inside span %x itself", t.spans[i].id[16:]))
	})
	t.refuseGaps()
	if err := t.wrong.Err(); err != nil {
		return nil, err
	}
	return t.samples(), nil
}

// numberAttempts numbers the samples whose Attempt is 0, by the rule of
// [chaos.Event]: 1 plus the directly preceding failed calls of the same caller,
// target, class, lane and key. A call that began before the preceding one had ended
// is not a retry of it.
func numberAttempts(samples []timeline.Sample) {
	order := make([]*timeline.Sample, len(samples))
	for i := range samples {
		order[i] = &samples[i]
	}
	slices.SortStableFunc(order, func(a, b *timeline.Sample) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
	})
	last := make(map[timeline.Sample]*timeline.Sample)
	for _, s := range order {
		strand := timeline.Sample{Caller: s.Caller, Target: s.Target, Class: s.Class, Lane: s.Lane, Key: s.Key}
		if s.Attempt == 0 {
			s.Attempt = 1
			if before := last[strand]; before != nil && before.Failed && before.End <= s.Start {
				s.Attempt = before.Attempt + 1
			}
		}
		last[strand] = s
	}
}

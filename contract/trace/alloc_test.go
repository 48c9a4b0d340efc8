package trace

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// ReadSpans are the samples of an input, for the tests, with their epoch and notes.
func ReadSpans(text string, o *ReadOptions) (time.Time, []timeline.Sample, []string, error) {
	list, err := readSpans(strings.NewReader(text), o)
	if err != nil {
		return time.Time{}, nil, nil, err
	}
	return list.epoch, list.samples, list.notes, nil
}

// RunOf is the run of samples, for the tests.
func RunOf(samples []timeline.Sample) (*timeline.Run, error) {
	list := sampleList{epoch: time.Unix(0, 0), samples: slices.Clone(samples)}
	return list.run(timeline.RunOptions{})
}

// NumberAttempts is for the tests.
func NumberAttempts(samples []timeline.Sample) { numberAttempts(samples) }

// SampleOf is the sample of an event, for the tests.
func (r *Recorder) SampleOf(e chaos.Event) timeline.Sample { return r.sample(&e) }

func TestTurningAnEventIntoASampleAllocatesNothing(t *testing.T) {
	r, e := newRecorder(t, nil), someEvent()
	assert.Zero(t, testing.AllocsPerRun(100, func() { _ = r.sample(&e) }))
}

func TestRecordingAllocatesNothingOnceTheBinsAreThere(t *testing.T) {
	r, e := newRecorder(t, nil), someEvent()
	for range 2000 { // past the latencies that a bin keeps one by one
		r.Record(context.Background(), e)
	}
	assert.Zero(t, testing.AllocsPerRun(100, func() { r.Record(context.Background(), e) }))
}

func TestMemoryDoesNotGrowWithCalls(t *testing.T) {
	r := newRecorder(t, nil)
	for i := range 20000 {
		e := someEvent()
		e.Target, e.Lane = fmt.Sprintf("node-%d", i), fmt.Sprintf("lane-%d", i)
		e.Start = time.Duration(i) * time.Second
		e.End = e.Start + time.Second
		r.Record(context.Background(), e)
	}
	assert.LessOrEqual(t, r.Run().Bins(), 1000)
	assert.Positive(t, r.Run().Folded())
}

package trace

import (
	"cmp"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// A SampleList is a list of samples with their epoch, kept by a recorder or read
// from a file. It is a plain value, not safe for concurrent changes.
type SampleList struct {
	// Epoch is the wall-clock time of offset 0; zero: 1970-01-01T00:00:00Z.
	Epoch   time.Time
	Samples []timeline.Sample
	// Notes are the decisions made while reading: missing parents, repeated spans.
	// Empty if there were none.
	Notes []string
}

// Run makes a run of the samples. A zero Epoch in the options means that of the
// list. The notes of the list precede those of the run. Errors are those
// of the options and, joined, of invalid samples.
func (r *SampleList) Run(o *timeline.RunOptions) (*timeline.Run, error) {
	var options timeline.RunOptions
	if o != nil {
		options = *o
	}
	if options.Epoch.IsZero() {
		options.Epoch = r.epoch()
	}
	options.Notes = append(options.Notes[:len(options.Notes):len(options.Notes)], r.Notes...)
	run, err := timeline.NewRun(&options)
	if err != nil {
		return nil, err
	}
	return run, r.AddTo(run)
}

func (r *SampleList) epoch() time.Time {
	if r.Epoch.IsZero() {
		return time.Unix(0, 0)
	}
	return r.Epoch
}

// AddTo adds the samples to a run, shifted from the list's epoch to that of
// the run, so several lists can make one run. They are added in the order in
// which they ended. Samples that are invalid in the run, such as those before its
// epoch, are left out; the error joins them.
func (r *SampleList) AddTo(run *timeline.Run) error {
	shift := r.epoch().Sub(run.Epoch())
	samples := slices.Clone(r.Samples)
	for i := range samples {
		samples[i].Start += shift
		samples[i].End += shift
	}
	slices.SortStableFunc(samples, func(a, b timeline.Sample) int {
		return cmp.Or(cmp.Compare(a.End, b.End), cmp.Compare(a.Start, b.Start), cmp.Compare(a.Attempt, b.Attempt))
	})
	return run.AddAll(samples)
}

// NumberAttempts numbers the samples whose Attempt is 0, by the rule of
// [chaos.Event]: 1 plus the directly preceding failed calls of the same caller,
// target, class, lane and key. A call that began before the preceding one had ended
// is not a retry of it.
func (r *SampleList) NumberAttempts() {
	order := make([]*timeline.Sample, len(r.Samples))
	for i := range r.Samples {
		order[i] = &r.Samples[i]
	}
	slices.SortStableFunc(order, func(a, b *timeline.Sample) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
	})
	type strand struct {
		caller, target, class, lane string
		key                         uint64
	}
	last := make(map[strand]*timeline.Sample)
	for _, s := range order {
		k := strand{s.Caller, s.Target, s.Class, s.Lane, s.Key}
		if s.Attempt == 0 {
			s.Attempt = 1
			if before := last[k]; before != nil && before.Failed && before.End <= s.Start {
				s.Attempt = before.Attempt + 1
			}
		}
		last[k] = s
	}
}

package probe

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/glob"
)

// A Sample is one recorded call.
type Sample struct {
	Target   string
	Duration time.Duration
	Failed   bool
}

// A SampleSource returns the recorded calls to judge, such as those of the last
// minutes. [Events] makes one of an injector; any other source may be used.
type SampleSource func(ctx context.Context) ([]Sample, error)

// Events returns the events that an injector has kept, as samples: of all calls with
// [chaos.InjectorOptions.RecordAll], else only of those that a rule matched.
func Events(in *chaos.Injector) SampleSource {
	return func(context.Context) ([]Sample, error) {
		if in == nil {
			return nil, fmt.Errorf("probe: the injector is nil")
		}
		events := in.Events()
		samples := make([]Sample, len(events))
		for i, e := range events {
			samples[i] = Sample{Target: e.Target, Duration: e.End - e.Start, Failed: e.Outcome != chaos.OutcomeOK}
		}
		return samples, nil
	}
}

// An Objective is the share of calls that must be good: not failed, and not slower
// than Within.
type Objective struct {
	_      struct{}
	Target string        // a glob over the targets; empty: all
	Share  float64       // such as 0.99; above 0, below 1
	Within time.Duration // 0: any duration is good
}

// A ServiceLevel is the output of [SLO].
type ServiceLevel struct {
	Calls int `json:"calls"`
	Good  int `json:"good"`
	// Share is good/calls. Burn is the share of bad calls divided by the share that
	// the objective allows; at 1 the error budget is used up. Both are nil without
	// calls.
	Share *float64 `json:"share"`
	Burn  *float64 `json:"burn"`
	// Met reports whether the objective is met; nil without calls, which is not a
	// success.
	Met *bool `json:"met"`
}

// SLO judges recorded calls by an objective and outputs a [ServiceLevel].
func SLO(calls SampleSource, o Objective) Run {
	return func(ctx context.Context) (any, error) {
		if calls == nil || !(o.Share > 0 && o.Share < 1) || o.Within < 0 {
			return nil,
				fmt.Errorf("probe: SLO of share %v within %v; allowed: a source of samples, a share above 0 and below 1, a time of 0 or more", o.Share, o.Within)
		}
		target := o.Target
		target = cmp.Or(target, "*")
		matches, err := glob.Compile(target)
		if err != nil {
			return nil, fmt.Errorf("probe: %w", err)
		}
		samples, err := calls(ctx)
		if err != nil {
			return nil, fmt.Errorf("probe: samples: %w", err)
		}
		return o.judge(samples, matches), nil
	}
}

func (o Objective) judge(samples []Sample, matches *glob.Glob) ServiceLevel {
	var l ServiceLevel
	for _, s := range samples {
		if !matches.Match(s.Target) {
			continue
		}
		l.Calls++
		if !s.Failed && (o.Within == 0 || s.Duration <= o.Within) {
			l.Good++
		}
	}
	if l.Calls == 0 {
		return l
	}
	share := float64(l.Good) / float64(l.Calls)
	burn := float64(l.Calls-l.Good) / float64(l.Calls) / (1 - o.Share)
	met := share >= o.Share
	l.Share, l.Burn, l.Met = &share, &burn, &met
	return l
}

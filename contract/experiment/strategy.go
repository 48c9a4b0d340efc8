package experiment

import "time"

// Strategies say when the hypothesis is verified and when rollbacks run. A zero
// field means the default.
type Strategies struct {
	_          struct{}
	Rollbacks  RollbackStrategy
	Hypothesis HypothesisStrategy
	// Frequency is the time between two checks during the method. 0: 1 s.
	Frequency time.Duration
	// FailFast ends the method after a miss during it: the status is failed, and
	// running activities are cancelled.
	FailFast bool
	// FailFastRatio is the share of missed checks that ends the method, from 0 (the
	// first miss) to 1.
	FailFastRatio float64
}

// A RollbackStrategy says when rollbacks run.
type RollbackStrategy string

// The rollback strategies.
const (
	// RollbackDefault: whenever the method was started, however it ended.
	RollbackDefault  RollbackStrategy = "default"
	RollbackAlways   RollbackStrategy = "always"   // also when the method was not started
	RollbackNever    RollbackStrategy = "never"    // what the method did stays
	RollbackDeviated RollbackStrategy = "deviated" // when the method was started and the steady state missed
)

// A HypothesisStrategy says when the steady state is verified.
type HypothesisStrategy string

// The hypothesis strategies.
const (
	BeforeAndAfter HypothesisStrategy = "default"
	BeforeOnly     HypothesisStrategy = "before-method-only"
	AfterOnly      HypothesisStrategy = "after-method-only"
	DuringOnly     HypothesisStrategy = "during-method-only"
	Continuously   HypothesisStrategy = "continuously" // before, during and after
	Skip           HypothesisStrategy = "skip"         // never
)

func (s HypothesisStrategy) before() bool {
	return s == BeforeAndAfter || s == BeforeOnly || s == Continuously
}

func (s HypothesisStrategy) during() bool { return s == DuringOnly || s == Continuously }

func (s HypothesisStrategy) after() bool {
	return s == BeforeAndAfter || s == AfterOnly || s == Continuously
}

// over returns s with zero fields filled from base and then from the defaults.
func (s Strategies) over(base Strategies) Strategies {
	s.Rollbacks = first(s.Rollbacks, base.Rollbacks, RollbackDefault)
	s.Hypothesis = first(s.Hypothesis, base.Hypothesis, BeforeAndAfter)
	s.Frequency = first(s.Frequency, base.Frequency, time.Second)
	s.FailFast = s.FailFast || base.FailFast
	s.FailFastRatio = first(s.FailFastRatio, base.FailFastRatio)
	return s
}

// first returns the first value that is not zero.
func first[T comparable](values ...T) T {
	var zero T
	for _, v := range values {
		if v != zero {
			return v
		}
	}
	return zero
}

// Dry says what a run leaves out; the values are bits. The journal lists activities
// that were left out with the status skipped. So a run with [DryAll] lists exactly
// what would run.
type Dry uint8

// What a run can leave out.
const (
	DryProbes   Dry = 1 << iota // all probes; a hypothesis without its probes counts as met
	DryActions                  // actions of the method and the rollbacks
	DryPauses                   // pauses before and after activities, and Quiet
	DryControls                 // controls and guards

	DryActivities = DryProbes | DryActions
	DryAll        = DryActivities | DryPauses | DryControls
)

// skips reports whether the activity is left out.
func (d Dry) skips(a *Activity, kind Kind) bool {
	switch {
	case a.Dry != nil:
		return *a.Dry
	case kind == Probe:
		return d&DryProbes != 0
	}
	return d&DryActions != 0
}

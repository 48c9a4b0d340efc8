package trace

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// A ScenarioRequest asks for a run of the workload like an earlier run, with other
// parameters. Its JSON is the input of run_scenario.
type ScenarioRequest struct {
	_ struct{}
	// BaseRunID is the id of the run that is varied. The scenario has its seed,
	// faults and bins. Required.
	BaseRunID string `json:"baseRunId" jsonschema:"run to vary: its seed, its faults and its bins are the scenario's; get_runs lists them" len:"1,128"`
	// Label is for people.
	Label string `json:"label" jsonschema:"name of the new run, for people" len:"1,256"`
	// Parameters are the differences. Without any the run is a plain repetition.
	Parameters Parameters `json:"parameters" jsonschema:"what is different; these three and no others"`
}

// Parameters change the conditions of a workload. A nil field changes nothing.
type Parameters struct {
	_ struct{}
	// CapacityMultiplier scales the concurrency limits that the workload takes from
	// [Conditions.Limit]. Above 0, at most 1000.
	CapacityMultiplier *float64 `json:"capacityMultiplier,omitempty" jsonschema:"scales the workload's concurrency limits" above:"0" range:"0,1000"`
	// RetryDelayMultiplier scales the pauses before retries that the workload takes
	// from [Conditions.RetryDelay]. 0 to 1000.
	RetryDelayMultiplier *float64 `json:"retryDelayMultiplier,omitempty" jsonschema:"scales its pauses before retries" range:"0,1000"`
	// OutageInjection takes a node down for a while.
	OutageInjection *OutageInjection `json:"outageInjection,omitempty" jsonschema:"takes one node down for some bins"`
}

// An OutageInjection takes a node down for some bins. Calls to it that begin in
// those bins are refused.
type OutageInjection struct {
	_ struct{}
	// NodeID is an injection point that the run being varied called. Required.
	NodeID string `json:"nodeId" jsonschema:"a node that the base run called" len:"1,512"`
	// Start is the first bin, or a time in it, of the run being varied. Required.
	Start timeline.Bound `json:"start" jsonschema:"first bin of the outage: its index in the base run, or a time in RFC 3339"`
	// DurationBins is the number of bins, at least 1.
	DurationBins int `json:"durationBins" jsonschema:"length of the outage, in bins" range:"1,1000000"`
}

const maxMultiplier = 1000

// check returns the problems that can be found without running the workload; base
// is the run that is varied.
func (p Parameters) check(base *timeline.Run) error {
	wrong := fields.ListUpTo(maxReported)
	if m := p.CapacityMultiplier; m != nil && !(*m > 0 && *m <= maxMultiplier) {
		wrong.Wrong("parameters.capacityMultiplier", *m, "above 0, at most 1000")
	}
	if m := p.RetryDelayMultiplier; m != nil && !(*m >= 0 && *m <= maxMultiplier) {
		wrong.Wrong("parameters.retryDelayMultiplier", *m, "0 to 1000")
	}
	if o := p.OutageInjection; o != nil {
		o.check(base, wrong)
	}
	return wrong.Err()
}

func (p Parameters) metadata(base Entry) map[string]string {
	m := map[string]string{"baseRunId": base.ID, "seed": strconv.FormatUint(base.Seed, 10)}
	if p.CapacityMultiplier != nil {
		m["capacityMultiplier"] = fmt.Sprint(*p.CapacityMultiplier)
	}
	if p.RetryDelayMultiplier != nil {
		m["retryDelayMultiplier"] = fmt.Sprint(*p.RetryDelayMultiplier)
	}
	if o := p.OutageInjection; o != nil {
		m["outageInjection"] = fmt.Sprintf("%s from %v for %d bins", o.NodeID, o.Start, o.DurationBins)
	}
	return m
}

func (o *OutageInjection) check(base *timeline.Run, wrong *fielderror.List) {
	const field = "parameters.outageInjection."
	var called []string
	for _, e := range base.Graph(timeline.GraphQuery{}).Edges {
		called = append(called, e.To)
	}
	slices.Sort(called)
	if !slices.Contains(called, o.NodeID) {
		wrong.Wrong(field+"nodeId", o.NodeID, "a node that was called: "+text.Some(slices.Compact(called), 8))
	}
	bins := base.Bins()
	if first := base.BinAt(o.Start); first < 0 || first >= bins {
		wrong.Wrong(field+"start", o.Start.String(),
			fmt.Sprintf("bin 0 to %d of the run being varied, or a time in it", bins-1))
	}
	wrong.Demand(o.DurationBins >= 1 && o.DurationBins <= maxOutageBins,
		field+"durationBins", o.DurationBins, "1 to 1048576")
}

const maxOutageBins = 1 << 20

// Conditions give a workload its concurrency limits and its pauses, so that a
// scenario can change them. A parameter that the workload does not ask for has no
// effect, and is reported. [Runs] makes the conditions; the zero value is not usable.
// All methods are safe for concurrent use.
type Conditions struct {
	seed       uint64
	capacity   float64
	retryDelay float64
	limits     atomic.Int64 // calls of Limit
	delays     atomic.Int64 // calls of RetryDelay
}

func newConditions(seed uint64, p Parameters) *Conditions {
	c := &Conditions{seed: seed, capacity: 1, retryDelay: 1}
	if p.CapacityMultiplier != nil {
		c.capacity = *p.CapacityMultiplier
	}
	if p.RetryDelayMultiplier != nil {
		c.retryDelay = *p.RetryDelayMultiplier
	}
	return c
}

// Seed returns the seed for the workload's own draws. A run and its scenarios have
// the same.
func (c *Conditions) Seed() uint64 { return c.seed }

// Limit returns the concurrency limit to use in place of n: n × capacityMultiplier,
// rounded to the nearest, at least 1. An n below 1 means no limit and is returned
// unchanged.
func (c *Conditions) Limit(n int) int {
	c.limits.Add(1)
	if n < 1 || c.capacity == 1 {
		return n
	}
	scaled := math.Round(float64(n) * c.capacity)
	if scaled >= math.MaxInt {
		return math.MaxInt
	}
	return max(1, int(scaled))
}

// RetryDelay returns the pause to make in place of d: d × retryDelayMultiplier,
// rounded to the nanosecond.
func (c *Conditions) RetryDelay(d time.Duration) time.Duration {
	c.delays.Add(1)
	if c.retryDelay == 1 {
		return d
	}
	scaled := math.Round(float64(d) * c.retryDelay)
	if scaled >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(max(scaled, math.MinInt64))
}

package contract

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/text"
)

// maxCover bounds the coverage: the names of injection points may hold numbers.
const maxCover = 1000

// coverage counts the delivered faults of a matrix by target, kind and try.
type coverage struct {
	delivered map[CoverCount]int  // without their counts
	uncalled  map[string]struct{} // the tools that no run called yet
	tools     []string
	full      bool // some are not counted
}

func newCoverage(sources []*worldSource) *coverage {
	c := &coverage{delivered: map[CoverCount]int{}, uncalled: map[string]struct{}{}}
	for _, s := range sources {
		for _, t := range s.tools {
			if _, twice := c.uncalled[t.Name]; !twice {
				c.tools = append(c.tools, t.Name)
			}
			c.uncalled[t.Name] = struct{}{}
		}
	}
	return c
}

func (c *coverage) call(target string) {
	if len(c.uncalled) > 0 {
		delete(c.uncalled, target)
	}
}

// strand names calls that may be tries of the same thing.
type strand struct {
	lane, caller, target string
	key                  uint64
}

// tries returns the try of each call of a run. Equal calls are taken in the order of their
// occurrence, on which their draws depend, and not in that of their ends: that of calls
// that fail in the same instant is another one in the next run.
func tries(events []*chaos.Event) map[*chaos.Event]int {
	strands := map[strand][]*chaos.Event{}
	for _, e := range events {
		k := strand{e.Lane, e.Caller, e.Target, e.Key}
		strands[k] = append(strands[k], e)
	}
	all := make(map[*chaos.Event]int, len(events))
	for _, equal := range strands {
		slices.SortStableFunc(equal, func(a, b *chaos.Event) int { return cmp.Compare(a.Occurrence, b.Occurrence) })
		try, works, until := 0, true, time.Duration(0) // of the try so far, and when its last call ends
		for i, e := range equal {
			if i == 0 || e.Start >= until { // a new one
				if works {
					try = 0
				}
				try, works = try+1, false
			}
			works, until = works || e.Outcome == chaos.OutcomeOK, max(until, e.End)
			all[e] = try
			if e.AttemptStated {
				all[e] = e.Attempt
			}
		}
	}
	return all
}

// add counts the fault of a kind that was delivered on a call.
func (c *coverage) add(e *chaos.Event, try int, kind string) {
	key := CoverCount{Target: text.Valid(e.Target), Fault: text.Valid(kind), Try: min(max(try, 1), 3)}
	n, seen := c.delivered[key]
	if !seen && len(c.delivered) == maxCover {
		c.full = true
		return
	}
	add(&n, 1)
	c.delivered[key] = n
}

// cover adds the coverage to the report. Of what no fault reached it can only tell if
// every call of every cell was seen.
func (c *collector) cover() {
	r, cov := c.report, c.coverage
	reached := map[string]bool{}
	for row, n := range cov.delivered {
		reached[row.Target] = true
		row.Delivered = n
		r.Coverage = append(r.Coverage, row)
	}
	if len(r.Faults) > 0 && !c.cancelled && !r.Filtered && r.Dropped == 0 && !cov.full {
		for _, tool := range cov.tools {
			if name := text.Valid(tool); !reached[name] {
				_, uncalled := cov.uncalled[tool]
				r.Coverage = append(r.Coverage, CoverCount{Target: name, Uncalled: uncalled})
			}
		}
	}
	slices.SortFunc(r.Coverage, func(a, b CoverCount) int {
		return cmp.Or(cmp.Compare(a.Target, b.Target), cmp.Compare(a.Fault, b.Fault), cmp.Compare(a.Try, b.Try))
	})
	if cov.full {
		c.engine.warn(fmt.Sprintf("The coverage has the first %d combinations of target, fault and try. Names with numbers in them make many targets.", maxCover))
	}
}

// sameness finds out whether all answers of a matrix are equal though its prompts differ or
// faults were delivered, and nothing shows that the agent did anything in a run without
// faults: no call of it succeeded, and no state changed. Such an agent may never have
// reached its model. An agent that says "done" after its work is none of these.
type sameness struct {
	answers        int
	answer, prompt string
	calm, faulted  bool // there were such runs
	prompts        bool // there were several
	differ, acted  bool
}

// add looks at the observations of a run.
func (s *sameness) add(observations []*Observation, dropped int) {
	if s.differ || s.acted {
		return
	}
	met := countDeliveries(observations).delivered > 0
	s.faulted, s.calm = s.faulted || met, s.calm || !met && len(observations) > 0
	for _, o := range observations {
		if s.answers == 0 {
			s.answer, s.prompt = o.Response, o.Prompt
		}
		s.answers++
		s.prompts = s.prompts || o.Prompt != s.prompt
		s.differ = s.differ || o.Err != nil || o.Response != s.answer
		s.acted = s.acted || !met && (dropped > 0 || acts(o))
	}
}

// acts reports whether a call of the agent succeeded, or the world changed.
func acts(o *Observation) bool {
	for i := range o.Events {
		if o.Events[i].Outcome == chaos.OutcomeOK {
			return true
		}
	}
	return !reflect.DeepEqual(o.Before, o.After)
}

// warning is what the report says of it; "": nothing.
func (s *sameness) warning() string {
	if s.differ || s.acted || s.answers < 2 || !s.calm || !s.faulted && !s.prompts {
		return ""
	}
	why := "whatever the prompt"
	if s.faulted {
		why = "with faults and without"
	}
	return fmt.Sprintf("All %d answers are the same, %s: %s. No call of the agent succeeded in a run without faults: it may never "+
		"have reached its model, and what held then says nothing.", s.answers, why, text.Quote(s.answer, 80))
}

package contract

import (
	"fmt"
	"reflect"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/text"
)

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

package contract

import (
	"fmt"

	"github.com/shakedown-go/shakedown/chaos"
)

// An Outline says what a matrix asks, for programs.
type Outline struct {
	Name       string             `json:"name" jsonschema:"what contract_run and contract_report call it"`
	Cells      int                `json:"cells" jsonschema:"number of cells: invariant x scenario x trial, where the invariant applies"`
	Trials     int                `json:"trials" jsonschema:"how often each invariant is asked in each scenario"`
	Seed       string             `json:"seed" jsonschema:"seed of all draws, a decimal string"`
	Parallel   bool               `json:"parallel" jsonschema:"cells have worlds of their own and run side by side"`
	Scenarios  []OutlineScenario  `json:"scenarios"`
	Invariants []OutlineInvariant `json:"invariants"`
}

// An OutlineScenario is a scenario of an [Outline].
type OutlineScenario struct {
	Name  string        `json:"name"`
	Rules []OutlineRule `json:"rules" jsonschema:"the faults in force; none: a calm run"`
}

// An OutlineRule is a rule of an [OutlineScenario]. Fault is the kind that the fault
// declares, or its Go type.
type OutlineRule struct {
	Name   string `json:"name,omitempty"`
	Target string `json:"target" jsonschema:"glob of the injection points it matches"`
	Fault  string `json:"fault" jsonschema:"kind of the fault"`
}

// An OutlineInvariant is an invariant of an [Outline].
type OutlineInvariant struct {
	ID       string   `json:"id"`
	Severity Severity `json:"severity"`
	Applies  string   `json:"applies" jsonschema:"in which scenarios it is asked" enum:"Always,ToolFaults,LLMFaults,AnyFault,NoFault"`
}

// Outline says what the matrix asks. Its lists are never nil.
func (m *Matrix) Outline() Outline {
	o := Outline{Name: m.Name, Cells: len(m.Cells()), Trials: max(m.Trials, 1), Seed: fmt.Sprint(m.Seed),
		Parallel:  m.NewWorld != nil,
		Scenarios: []OutlineScenario{}, Invariants: []OutlineInvariant{}}
	for _, s := range m.Scenarios {
		one := OutlineScenario{Name: s.Name, Rules: []OutlineRule{}}
		for _, r := range s.Rules {
			one.Rules = append(one.Rules, OutlineRule{r.Name, r.Target, shownKind(r.Fault)})
		}
		o.Scenarios = append(o.Scenarios, one)
	}
	for _, i := range m.Invariants {
		o.Invariants = append(o.Invariants, OutlineInvariant{i.Name, i.Severity, i.Applies.String()})
	}
	return o
}

func shownKind(f chaos.Fault) string {
	if kind := kindOf(f); kind != "" {
		return kind
	}
	return fmt.Sprintf("%T", f)
}

package contract

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
)

// Validate reports every problem that can be found without making a world,
// joined: each a [*FieldError], those of rules wrapping a [*chaos.RuleError].
func (m *Matrix) Validate() error {
	_, err := m.compile()
	return err
}

// compile checks the whole matrix and compiles its scenarios.
func (m *Matrix) compile() ([]*compiledScenario, error) {
	if m == nil {
		return nil, &FieldError{Field: "Matrix", Value: absent("nil"), Allowed: "a matrix"}
	}
	var p problems
	m.checkWorld(&p)
	if len(m.Scenarios) == 0 {
		p.add("Scenarios", absent("empty"), "at least one, such as Calm()", nil)
	}
	if len(m.Invariants) == 0 {
		p.add("Invariants", absent("empty"), "at least one", nil)
	}
	if m.Trials < 0 {
		p.add("Trials", m.Trials, "1 or more, or 0 for 1", nil)
	}
	if m.Timeout < 0 {
		p.add("Timeout", m.Timeout, "a duration of 0 (none) or more", nil)
	}
	scenarios := m.checkScenarios(&p)
	m.checkInvariants(&p, scenarios)
	m.checkPrompts(&p)
	m.checkSize(&p)
	return scenarios, errors.Join(p...)
}

// maxCells bounds the size of a matrix. A larger one is probably a typing error;
// it is also the largest number of equal cells that a score counts.
const maxCells = 1_000_000_000

func (m *Matrix) checkSize(p *problems) {
	each := int64(max(len(m.Scenarios), 1)) * int64(max(len(m.Invariants), 1)) // an int may have 32 bits
	if most := maxCells / each; int64(m.Trials) > most {
		p.add("Trials", m.Trials, fmt.Sprintf("at most %d, which with these scenarios and invariants makes a billion cells", most), nil)
	}
}

func (m *Matrix) checkWorld(p *problems) {
	switch {
	case m.NewWorld == nil && m.World == nil:
		p.add("NewWorld", absent("missing, and so is World"), "exactly one of NewWorld and World", nil)
	case m.NewWorld != nil && m.World != nil:
		p.add("NewWorld", absent("set, and so is World"), "exactly one of NewWorld and World", nil)
	case m.NewWorld != nil && m.Reset != nil:
		p.add("Reset", absent("set beside NewWorld"), "only with World: a fresh world needs no reset", nil)
	case m.World != nil && m.World.Agent == nil:
		p.add("World.Agent", absent("nil"), "an agent", nil)
	}
	for i, point := range m.Points {
		if point == "" {
			p.add(fmt.Sprintf("Points[%d]", i), "", "the name of an injection point", nil)
		}
	}
}

func (m *Matrix) checkScenarios(p *problems) []*compiledScenario {
	scenarios := make([]*compiledScenario, 0, len(m.Scenarios))
	seen := map[string]int{}
	for i, s := range m.Scenarios {
		field := fmt.Sprintf("Scenarios[%d]", i)
		p.name(field+".Name", s.Name, seen, i)
		plan, err := chaos.NewPlan(m.Seed, s.Rules...)
		if err != nil {
			p.addAll(field+".Rules", err)
			continue
		}
		scenarios = append(scenarios, compileScenario(i, s, plan, m.Points))
	}
	return scenarios
}

func (m *Matrix) checkInvariants(p *problems, scenarios []*compiledScenario) {
	seen := map[string]int{}
	for i, inv := range m.Invariants {
		field := fmt.Sprintf("Invariants[%d]", i)
		p.name(field+".Name", inv.Name, seen, i)
		if inv.Err != nil {
			p.add(field, inv.Name, "", inv.Err)
		}
		if inv.Severity.Weight() == 0 {
			p.add(field+".Severity", inv.Severity, "Critical, High, Medium or Low", nil)
		}
		if inv.Check == nil && inv.Err == nil {
			p.add(field+".Check", absent("nil"), "a function", nil)
		}
		if inv.Applies > NoFault {
			p.add(field+".Applies", uint8(inv.Applies), "Always, ToolFaults, LLMFaults, AnyFault or NoFault", nil)
		}
		if all := NeedBaseline | NeedState | NeedResults; inv.Needs&^all != 0 {
			p.add(field+".Needs", uint8(inv.Needs), "a combination of NeedBaseline, NeedState and NeedResults", nil)
		}
		if inv.Baseline != "" && !inv.Needs.Has(NeedBaseline) {
			p.add(field+".Baseline", inv.Baseline, "a baseline only with NeedBaseline in Needs", nil)
		}
		if len(scenarios) == len(m.Scenarios) && len(scenarios) > 0 && !appliesAnywhere(inv.Applies, scenarios) {
			p.add(field+".Applies", inv.Applies.String(), "a value that holds in at least one scenario: this invariant would never be asked", nil)
		}
	}
}

func (m *Matrix) checkPrompts(p *problems) {
	if len(m.Prompts) > 0 {
		return
	}
	for _, inv := range m.Invariants {
		if len(inv.Probes) == 0 {
			p.add("Prompts", absent(fmt.Sprintf("empty, and invariant %q has no probes", inv.Name)), "at least one, or probes in every invariant", nil)
			return
		}
	}
}

func appliesAnywhere(a Applies, scenarios []*compiledScenario) bool {
	return slices.ContainsFunc(scenarios, func(s *compiledScenario) bool { return s.applies(a) })
}

// problems collects errors, each once.
type problems []error

func (p *problems) add(field string, value any, allowed string, cause error) {
	*p = append(*p, &FieldError{Field: field, Value: value, Allowed: allowed, Err: cause})
}

var namePattern = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// addAll adds each of several joined problems under its field.
func (p *problems) addAll(field string, joined error) {
	if all, ok := joined.(interface{ Unwrap() []error }); ok {
		for _, err := range all.Unwrap() {
			p.add(field, nil, "", err)
		}
		return
	}
	p.add(field, nil, "", joined)
}

// name checks a name that becomes part of a subtest's name.
func (p *problems) name(field, name string, seen map[string]int, i int) {
	if !namePattern.MatchString(name) {
		p.add(field, name, "one or more letters, digits, '.', '_' and '-': it becomes part of a subtest's name", nil)
		return
	}
	if first, twice := seen[name]; twice {
		p.add(field, name, fmt.Sprintf("a name of its own: number %d has this one", first), nil)
	}
	seen[name] = i
}

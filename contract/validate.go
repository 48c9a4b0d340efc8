package contract

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/fielderror"
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
		return nil, fields.Wrong("Matrix", fielderror.Found("nil"), "a matrix")
	}
	p := fields.List()
	m.checkWorld(p)
	if len(m.Scenarios) == 0 {
		p.Wrong("Scenarios", fielderror.Found("empty"), "at least one, such as Calm()")
	}
	if len(m.Invariants) == 0 {
		p.Wrong("Invariants", fielderror.Found("empty"), "at least one")
	}
	if m.Trials < 0 {
		p.Wrong("Trials", m.Trials, "1 or more, or 0 for 1")
	}
	if m.Timeout < 0 {
		p.Wrong("Timeout", m.Timeout, "a duration of 0 (none) or more")
	}
	scenarios := m.checkScenarios(p)
	m.checkInvariants(p, scenarios)
	m.checkPrompts(p)
	m.checkSize(p)
	return scenarios, p.Err()
}

// maxCells bounds the size of a matrix. A larger one is probably a typing error;
// it is also the largest number of equal cells that a score counts.
const maxCells = 1_000_000_000

func (m *Matrix) checkSize(p *fielderror.List) {
	each := int64(max(len(m.Scenarios), 1)) * int64(max(len(m.Invariants), 1)) // an int may have 32 bits
	if most := maxCells / each; int64(m.Trials) > most {
		p.Wrong("Trials", m.Trials, fmt.Sprintf("at most %d, which with these scenarios and invariants makes a billion cells", most))
	}
}

func (m *Matrix) checkWorld(p *fielderror.List) {
	switch {
	case m.NewWorld == nil && m.World == nil:
		p.Wrong("NewWorld", fielderror.Found("missing, and so is World"), "exactly one of NewWorld and World")
	case m.NewWorld != nil && m.World != nil:
		p.Wrong("NewWorld", fielderror.Found("set, and so is World"), "exactly one of NewWorld and World")
	case m.NewWorld != nil && m.Reset != nil:
		p.Wrong("Reset", fielderror.Found("set beside NewWorld"), "only with World: a fresh world needs no reset")
	case m.World != nil && m.World.Agent == nil:
		p.Wrong("World.Agent", fielderror.Found("nil"), "an agent")
	}
	for i, point := range m.Points {
		if point == "" {
			p.Wrong(fmt.Sprintf("Points[%d]", i), "", "the name of an injection point")
		}
	}
}

func (m *Matrix) checkScenarios(p *fielderror.List) []*compiledScenario {
	scenarios := make([]*compiledScenario, 0, len(m.Scenarios))
	seen := map[string]int{}
	for i, s := range m.Scenarios {
		field := fmt.Sprintf("Scenarios[%d]", i)
		checkName(p, field+".Name", s.Name, seen, i)
		plan, err := chaos.NewPlan(m.Seed, s.Rules...)
		if err != nil {
			p.Each(field+".Rules", err)
			continue
		}
		scenarios = append(scenarios, compileScenario(i, s, plan, m.Points))
	}
	return scenarios
}

func (m *Matrix) checkInvariants(p *fielderror.List, scenarios []*compiledScenario) {
	seen := map[string]int{}
	for i, inv := range m.Invariants {
		field := fmt.Sprintf("Invariants[%d]", i)
		checkName(p, field+".Name", inv.Name, seen, i)
		if inv.Err != nil {
			p.Because(field, inv.Name, inv.Err, "")
		}
		if inv.Severity.Weight() == 0 {
			p.Wrong(field+".Severity", inv.Severity, "Critical, High, Medium or Low")
		}
		if inv.Check == nil && inv.Err == nil {
			p.Wrong(field+".Check", fielderror.Found("nil"), "a function")
		}
		if inv.Applies > NoFault {
			p.Wrong(field+".Applies", uint8(inv.Applies), "Always, ToolFaults, LLMFaults, AnyFault or NoFault")
		}
		if all := NeedBaseline | NeedState | NeedResults; inv.Needs&^all != 0 {
			p.Wrong(field+".Needs", uint8(inv.Needs), "a combination of NeedBaseline, NeedState and NeedResults")
		}
		if inv.Baseline != "" && !inv.Needs.Has(NeedBaseline) {
			p.Wrong(field+".Baseline", inv.Baseline, "a baseline only with NeedBaseline in Needs")
		}
		if len(scenarios) == len(m.Scenarios) && len(scenarios) > 0 && !appliesAnywhere(inv.Applies, scenarios) {
			p.Wrong(field+".Applies", inv.Applies.String(), "a value that holds in at least one scenario: this invariant would never be asked")
		}
	}
}

func (m *Matrix) checkPrompts(p *fielderror.List) {
	if len(m.Prompts) > 0 {
		return
	}
	for _, inv := range m.Invariants {
		if len(inv.Probes) == 0 {
			p.Wrong("Prompts", fielderror.Found(fmt.Sprintf("empty, and invariant %q has no probes", inv.Name)), "at least one, or probes in every invariant")
			return
		}
	}
}

func appliesAnywhere(a Applies, scenarios []*compiledScenario) bool {
	return slices.ContainsFunc(scenarios, func(s *compiledScenario) bool { return s.applies(a) })
}

var namePattern = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// checkName checks a name that becomes part of a subtest's name.
func checkName(p *fielderror.List, field, name string, seen map[string]int, i int) {
	if !namePattern.MatchString(name) {
		p.Wrong(field, name, "one or more letters, digits, '.', '_' and '-': it becomes part of a subtest's name")
		return
	}
	if first, twice := seen[name]; twice {
		p.Wrong(field, name, fmt.Sprintf("a name of its own: number %d has this one", first))
	}
	seen[name] = i
}

package contract

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/internal/text"
)

// Validate reports every problem that can be found without making a world,
// joined: each a [*FieldError], those of rules wrapping a [*chaos.RuleError].
func (m *Matrix) Validate() error {
	_, err := m.compile(false)
	return err
}

// compile checks the whole matrix and compiles its scenarios. A Runner needs no
// scenario, and asks each invariant wherever its caller says.
func (m *Matrix) compile(forRunner bool) ([]*compiledScenario, error) {
	if m == nil {
		return nil, fields.Wrong("Matrix", fielderror.Found("nil"), "a matrix")
	}
	p := fields.List()
	m.checkWorld(p)
	if len(m.Scenarios) == 0 && !forRunner {
		p.Wrong("Scenarios", fielderror.Found("empty"), "at least one, such as Calm()")
	}
	if len(m.Invariants) == 0 {
		p.Wrong("Invariants", fielderror.Found("empty"), "at least one")
	}
	if m.Trials < 0 {
		p.Wrong("Trials", m.Trials, "1 or more, or 0 for 1")
	}
	if m.AllowInconclusive < 0 {
		p.Wrong("AllowInconclusive", m.AllowInconclusive, "0 or more")
	}
	if m.Timeout < 0 {
		p.Wrong("Timeout", m.Timeout, "a duration of 0 (none) or more")
	}
	scenarios := m.checkScenarios(p)
	m.checkInvariants(p)
	if !forRunner {
		m.checkApplies(p, scenarios)
	}
	m.checkPrompts(p)
	m.checkGoals(p)
	m.checkSize(p)
	return scenarios, p.Err()
}

// maxCells bounds the size of a matrix. A larger one is probably a typing error;
// it is also the largest number of equal cells that a score counts.
const maxCells = 1_000_000_000

func (m *Matrix) checkSize(p *fielderror.List) {
	each := int64(max(len(m.Scenarios), 1)) * int64(max(len(m.Invariants), 1)) // an int may have 32 bits
	if most := maxCells / each; int64(m.Trials) > most {
		p.Wrong("Trials", m.Trials,
			fmt.Sprintf("at most %d, which with these scenarios and invariants makes a billion cells", most))
	}
}

func (m *Matrix) checkWorld(p *fielderror.List) {
	switch {
	case m.NewWorld == nil && m.World == nil:
		m.checkOwnWorlds(p)
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

// sharesWorld reports whether the cells of a scenario have no world of their own.
func (m *Matrix) sharesWorld(s Scenario) bool { return m.NewWorld == nil && s.NewWorld == nil }

// checkOwnWorlds checks a matrix without worlds, in which each scenario must have its own.
func (m *Matrix) checkOwnWorlds(p *fielderror.List) {
	if !slices.ContainsFunc(m.Scenarios, func(s Scenario) bool { return s.NewWorld != nil }) {
		p.Wrong("NewWorld", fielderror.Found("missing, and so is World"), "exactly one of NewWorld and World")
		return
	}
	for i, s := range m.Scenarios {
		if m.sharesWorld(s) {
			p.Wrong(fmt.Sprintf("Scenarios[%d].NewWorld", i),
				fielderror.Found("missing, and the matrix has neither NewWorld nor World"),
				"a function, or worlds of the matrix")
		}
	}
	if m.Reset != nil {
		p.Wrong("Reset", fielderror.Found("set without World"), "only with World: a fresh world needs no reset")
	}
}

func (m *Matrix) checkScenarios(p *fielderror.List) []*compiledScenario {
	scenarios := make([]*compiledScenario, 0, len(m.Scenarios))
	seen := map[string]int{}
	for i, s := range m.Scenarios {
		field := fmt.Sprintf("Scenarios[%d]", i)
		checkName(p, field+".Name", s.Name, seen, i)
		if n := len(s.Baselines); n > 0 && n != len(s.Prompts) {
			p.Wrong(field+".Baselines", fielderror.Found(fmt.Sprintf("a list of %d", n)),
				fmt.Sprintf("as many as its Prompts, which are %d, or none", len(s.Prompts)))
		}
		if !s.Layer.Valid() {
			p.Wrong(field+".Layer", string(s.Layer), "a layer of package chaos, or empty")
		}
		plan, err := chaos.NewPlan(m.Seed, s.Rules...)
		if err != nil {
			p.Each(field+".Rules", err)
			continue
		}
		scenarios = append(scenarios, compileScenario(i, s, plan, m.Points))
	}
	return scenarios
}

func (m *Matrix) checkInvariants(p *fielderror.List) {
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
		if !appliesNames.Has(inv.Applies) {
			p.Wrong(field+".Applies", uint8(inv.Applies), appliesNames.Allowed())
		}
		for k, pattern := range inv.Scenarios {
			if _, err := glob.Compile(pattern); err != nil || pattern == "" {
				p.Because(fmt.Sprintf("%s.Scenarios[%d]", field, k), pattern, err, "a glob of names of scenarios")
			}
		}
		inv.checkRate(p, field)
		if all := NeedBaseline | NeedState | NeedResults | NeedCalm; inv.Needs&^all != 0 {
			p.Wrong(field+".Needs", uint8(inv.Needs),
				"a combination of NeedBaseline, NeedState, NeedResults and NeedCalm")
		}
		if inv.Baseline != "" && !inv.Needs.Has(NeedBaseline) {
			p.Wrong(field+".Baseline", inv.Baseline, "a baseline only with NeedBaseline in Needs")
		}
	}
}

// checkApplies checks that each invariant is asked, if all scenarios are sound.
func (m *Matrix) checkApplies(p *fielderror.List, scenarios []*compiledScenario) {
	if len(scenarios) != len(m.Scenarios) || len(scenarios) == 0 {
		return
	}
	for _, i := range m.unasked(scenarios) {
		field, value := "Applies", m.Invariants[i].Applies.String()
		if len(m.Invariants[i].Scenarios) > 0 {
			field, value = "Scenarios", strings.Join(m.Invariants[i].Scenarios, ", ")
		}
		p.Wrong(fmt.Sprintf("Invariants[%d].%s", i, field), value,
			"a value that holds in at least one scenario: this invariant would never be asked")
	}
}

func (m *Matrix) checkPrompts(p *fielderror.List) {
	if len(m.Prompts) > 0 ||
		!slices.ContainsFunc(m.Scenarios, func(s Scenario) bool { return len(s.Prompts) == 0 }) {
		return
	}
	for _, inv := range m.Invariants {
		if len(inv.Probes) == 0 {
			p.Wrong("Prompts", fielderror.Found(fmt.Sprintf("empty, and invariant %q has no probes", inv.Name)),
				"at least one, or probes in every invariant, or prompts in every scenario")
			return
		}
	}
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

func (m *Matrix) checkGoals(p *fielderror.List) {
	var names []string
	for _, s := range m.Scenarios {
		names = append(names, s.Name)
	}
	first := map[string]int{}
	for i, g := range m.Goals {
		field := fmt.Sprintf("Goals[%d]", i)
		before, twice := first[g.Name]
		switch {
		case !namePattern.MatchString(g.Name):
			p.Wrong(field+".Name", g.Name, "one or more letters, digits, '.', '_' and '-'")
		case twice:
			p.Wrong(field+".Name", g.Name, fmt.Sprintf("a name of its own: number %d has this one", before))
		default:
			first[g.Name] = i
		}
		if g.Err != nil {
			p.Because(field, g.Name, g.Err, "")
		} else if g.Reached == nil {
			p.Wrong(field+".Reached", fielderror.Found("nil"), "a function")
		}
		for k, s := range g.Scenarios {
			if !slices.Contains(names, s) {
				p.Wrong(fmt.Sprintf("%s.Scenarios[%d]", field, k), s, strings.Join(names, ", ")+text.Meant(s, names))
			}
		}
	}
}

func (inv *Invariant) checkRate(p *fielderror.List, field string) {
	const least = 1e-5
	if a := inv.AtLeast; !(a == 0 || a == 1 || a >= least && a <= 1-least) {
		p.Wrong(field+".AtLeast", a, "0.00001 to 0.99999, or 0 or 1 for every trial")
		return
	}
	switch {
	case inv.Poor == 0:
	case !inv.IsRate():
		p.Wrong(field+".Poor", inv.Poor, "a rate only with AtLeast, which must be a rate too")
	case !(inv.Poor >= least/2 && inv.AtLeast-inv.Poor >= least/2):
		p.Wrong(field+".Poor", inv.Poor,
			fmt.Sprintf("0.000005 to less than the %v of AtLeast, by 0.000005 or more, or 0 for the default",
				inv.AtLeast))
	}
}

func (o *RunOptions) check() error {
	p := fields.List()
	if o.Workers < 0 {
		p.Wrong("RunOptions.Workers", o.Workers, "1 or more, or 0 for GOMAXPROCS")
	}
	if o.Watchdog < 0 {
		p.Wrong("RunOptions.Watchdog", o.Watchdog, "a duration above 0, or 0 for five minutes")
	}
	if o.Gather&^(NeedState|NeedResults|NeedCalm) != 0 {
		p.Wrong("RunOptions.Gather", uint8(o.Gather), "a combination of NeedState, NeedResults and NeedCalm")
	}
	o.Budget.check(p, o.Sequential)
	if o.Keep > KeepCounts {
		p.Wrong("RunOptions.Keep", uint8(o.Keep), "KeepBroken, KeepAll, KeepNone or KeepCounts")
	}
	return p.Err()
}

// set reports whether there is a limit.
func (b *Budget) set() bool { return b.Trials != 0 || b.Time != 0 || b.Cost != 0 || b.CostOf != nil }

func (b *Budget) check(p *fielderror.List, sequential bool) {
	if b.set() && !sequential {
		p.Wrong("RunOptions.Budget", fielderror.Found("set without Sequential"), "a budget only with Sequential")
	}
	if b.Trials < 0 {
		p.Wrong("RunOptions.Budget.Trials", b.Trials, "1 or more, or 0 for no limit")
	}
	if b.Time < 0 {
		p.Wrong("RunOptions.Budget.Time", b.Time, "a duration above 0, or 0 for no limit")
	}
	if !(b.Cost >= 0) || math.IsInf(b.Cost, 1) {
		p.Wrong("RunOptions.Budget.Cost", b.Cost, "a number above 0, or 0 for no limit")
	}
	if (b.Cost != 0) != (b.CostOf != nil) {
		p.Wrong("RunOptions.Budget.CostOf",
			fielderror.Found(fmt.Sprintf("set: %t, beside a Cost of %v", b.CostOf != nil, b.Cost)),
			"a function with Cost, and none without")
	}
}

// fields makes the errors of this package.
const fields = fielderror.Package("contract")

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

const fields = fielderror.Package("contract")

// Validate reports every problem that can be found without making a world,
// joined: each a [*FieldError], those of rules wrapping a [*chaos.RuleError].
func (m *Matrix) Validate() error {
	_, err := m.compile(false)
	return err
}

// maxCells bounds the size of a matrix. A larger one is probably a typing error;
// it is also the largest number of equal cells that a score counts.
const maxCells = 1_000_000_000

// compile checks the whole matrix and compiles its scenarios. A Runner needs no
// scenario, and asks each invariant wherever its caller says.
func (m *Matrix) compile(forRunner bool) ([]*compiledScenario, error) {
	if m == nil {
		return nil, fields.Wrong("Matrix", fielderror.Found("nil"), "a matrix")
	}
	p := fields.List()
	m.checkWorld(p)
	p.Demand(len(m.Scenarios) > 0 || forRunner, "Scenarios", fielderror.Found("empty"), "at least one, such as Calm()")
	p.Demand(len(m.Invariants) > 0, "Invariants", fielderror.Found("empty"), "at least one")
	p.Demand(m.Trials >= 0, "Trials", m.Trials, "1 or more, or 0 for 1")
	p.Demand(m.AllowInconclusive >= 0, "AllowInconclusive", m.AllowInconclusive, "0 or more")
	p.Demand(m.Timeout >= 0, "Timeout", m.Timeout, "a duration of 0 (none) or more")
	scenarios := m.checkScenarios(p)
	m.checkInvariants(p)
	if !forRunner && len(scenarios) == len(m.Scenarios) && len(scenarios) > 0 {
		for _, i := range m.unasked(scenarios) {
			field, value := "Applies", m.Invariants[i].Applies.String()
			if len(m.Invariants[i].Scenarios) > 0 {
				field, value = "Scenarios", strings.Join(m.Invariants[i].Scenarios, ", ")
			}
			p.Wrongf("a value that holds in at least one scenario: this invariant would never be asked", value,
				"Invariants[%d].%s", i, field)
		}
	}
	own := !slices.ContainsFunc(m.Scenarios, func(s Scenario) bool { return len(s.Prompts) == 0 })
	without := slices.IndexFunc(m.Invariants, func(i Invariant) bool { return len(i.Probes) == 0 })
	if len(m.Prompts) == 0 && !own && without >= 0 {
		p.Wrong("Prompts", fielderror.Found(fmt.Sprintf("empty, and invariant %q has no probes", m.Invariants[without].Name)),
			"at least one, or probes in every invariant, or prompts in every scenario")
	}
	m.checkGoals(p)
	each := int64(max(len(m.Scenarios), 1)) * int64(max(len(m.Invariants), 1)) // an int may have 32 bits
	most := maxCells / each
	p.Demand(int64(m.Trials) <= most, "Trials", m.Trials,
		fmt.Sprintf("at most %d, which with these scenarios and invariants makes a billion cells", most))
	return scenarios, p.Err()
}

func (m *Matrix) sharesWorld(s Scenario) bool { return m.NewWorld == nil && s.NewWorld == nil }

func (m *Matrix) checkWorld(p *fielderror.List) {
	const one, withWorld = "exactly one of NewWorld and World", "only with World: a fresh world needs no reset"
	neither := m.NewWorld == nil && m.World == nil
	own := slices.ContainsFunc(m.Scenarios, func(s Scenario) bool { return s.NewWorld != nil })
	switch {
	case neither && !own:
		p.Wrong("NewWorld", fielderror.Found("missing, and so is World"), one)
	case m.NewWorld != nil && m.World != nil:
		p.Wrong("NewWorld", fielderror.Found("set, and so is World"), one)
	case m.World == nil:
		p.Demand(m.Reset == nil, "Reset", fielderror.Found("set without World"), withWorld)
	default:
		p.Demand(m.World.Agent != nil, "World.Agent", fielderror.Found("nil"), "an agent")
	}
	for i, s := range m.Scenarios {
		if neither && own && s.NewWorld == nil {
			p.Wrongf("a function, or worlds of the matrix",
				fielderror.Found("missing, and the matrix has neither NewWorld nor World"), "Scenarios[%d].NewWorld", i)
		}
	}
	for i, point := range m.Points {
		p.Demand(point != "", fmt.Sprintf("Points[%d]", i), "", "the name of an injection point")
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
		p.Demand(s.Layer.Valid(), field+".Layer", string(s.Layer), "a layer of package chaos, or empty")
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
		checkFunction(p, field, inv.Name, "Check", inv.Err, inv.Check == nil)
		p.Demand(inv.Severity.Weight() > 0, field+".Severity", inv.Severity, "Critical, High, Medium or Low")
		p.Demand(appliesNames.Has(inv.Applies), field+".Applies", uint8(inv.Applies), appliesNames.Allowed())
		for k, pattern := range inv.Scenarios {
			if _, err := glob.Compile(pattern); err != nil || pattern == "" {
				p.Because(fmt.Sprintf("%s.Scenarios[%d]", field, k), pattern, err, "a glob of names of scenarios")
			}
		}
		inv.checkRate(p, field)
		all := NeedBaseline | NeedState | NeedResults | NeedCalm
		p.Demand(inv.Needs&^all == 0, field+".Needs", uint8(inv.Needs),
			"a combination of NeedBaseline, NeedState, NeedResults and NeedCalm")
		p.Demand(inv.Baseline == "" || inv.Needs.Has(NeedBaseline), field+".Baseline", inv.Baseline,
			"a baseline only with NeedBaseline in Needs")
	}
}

func (m *Matrix) checkGoals(p *fielderror.List) {
	var names []string
	for _, s := range m.Scenarios {
		names = append(names, s.Name)
	}
	seen := map[string]int{}
	for i, g := range m.Goals {
		field := fmt.Sprintf("Goals[%d]", i)
		checkName(p, field+".Name", g.Name, seen, i)
		checkFunction(p, field, g.Name, "Reached", g.Err, g.Reached == nil)
		for k, s := range g.Scenarios {
			p.Demand(slices.Contains(names, s), fmt.Sprintf("%s.Scenarios[%d]", field, k), s,
				strings.Join(names, ", ")+text.Meant(s, names))
		}
	}
}

var namePattern = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// checkName checks a name, of which those of scenarios and invariants become parts of a subtest's.
func checkName(p *fielderror.List, field, name string, seen map[string]int, i int) {
	first, twice := seen[name]
	switch {
	case !namePattern.MatchString(name):
		p.Wrong(field, name, "one or more letters, digits, '.', '_' and '-'")
	case twice:
		p.Wrong(field, name, fmt.Sprintf("a name of its own: number %d has this one", first))
	default:
		seen[name] = i
	}
}

// checkFunction checks what a constructor of package invariant or goal has made.
func checkFunction(p *fielderror.List, field, name, function string, err error, missing bool) {
	if err != nil {
		p.Because(field, name, err, "")
	} else if missing {
		p.Wrong(field+"."+function, fielderror.Found("nil"), "a function")
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
	p.Demand(o.Workers >= 0, "RunOptions.Workers", o.Workers, "1 or more, or 0 for GOMAXPROCS")
	p.Demand(o.Watchdog >= 0, "RunOptions.Watchdog", o.Watchdog, "a duration above 0, or 0 for five minutes")
	p.Demand(o.Gather&^(NeedState|NeedResults|NeedCalm) == 0, "RunOptions.Gather", uint8(o.Gather),
		"a combination of NeedState, NeedResults and NeedCalm")
	p.Demand(o.Keep <= KeepCounts, "RunOptions.Keep", uint8(o.Keep), "KeepBroken, KeepAll, KeepNone or KeepCounts")
	p.Add(o.Shard.check())
	b := &o.Budget
	p.Demand(!b.set() || o.Sequential, "RunOptions.Budget", fielderror.Found("set without Sequential"),
		"a budget only with Sequential")
	p.Demand(b.Trials >= 0, "RunOptions.Budget.Trials", b.Trials, "1 or more, or 0 for no limit")
	p.Demand(b.Time >= 0, "RunOptions.Budget.Time", b.Time, "a duration above 0, or 0 for no limit")
	p.Demand(b.Cost >= 0 && !math.IsInf(b.Cost, 1), "RunOptions.Budget.Cost", b.Cost,
		"a number above 0, or 0 for no limit")
	p.Demand((b.Cost != 0) == (b.CostOf != nil), "RunOptions.Budget.CostOf",
		fielderror.Found(fmt.Sprintf("set: %t, beside a Cost of %v", b.CostOf != nil, b.Cost)),
		"a function with Cost, and none without")
	return p.Err()
}

func (b *Budget) set() bool { return b.Trials != 0 || b.Time != 0 || b.Cost != 0 || b.CostOf != nil }

// Unasked returns the positions of the invariants that no scenario asks, by
// [Invariant.Applies] and [Invariant.Scenarios]. It needs no worlds. A scenario whose rules
// make no plan asks none.
func (m *Matrix) Unasked() []int { return m.unasked(m.checkScenarios(fields.List())) }

func (m *Matrix) unasked(scenarios []*compiledScenario) (unasked []int) {
	asks := map[Applies]bool{} // those without a list of scenarios
	for _, s := range scenarios {
		for a := Always; a <= NoFault; a++ {
			asks[a] = asks[a] || s.applies(a)
		}
	}
	for i := range m.Invariants {
		inv := &m.Invariants[i]
		if !asks[inv.Applies] || len(inv.Scenarios) > 0 && !slices.ContainsFunc(scenarios, inv.askedIn) {
			unasked = append(unasked, i)
		}
	}
	return unasked
}

func (inv *Invariant) askedIn(s *compiledScenario) bool {
	named := func(pattern string) bool {
		g, err := glob.Compile(pattern)
		return err == nil && g.Match(s.Name)
	}
	return s.applies(inv.Applies) && (len(inv.Scenarios) == 0 || slices.ContainsFunc(inv.Scenarios, named))
}

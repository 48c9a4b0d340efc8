package replay

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/findings"
	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/internal/hash"
)

// FromEvents makes a session of the events of one run, in the order in which the calls
// began, as [chaos.Injector.Events] and an observation list them. It has the calls of
// the tools of registries and dispatch functions, and of models; those of other
// injection points, such as wrapped functions, are not the agent's to ask for. They are
// as the agent saw them: with the error or the result that a fault put there. A call
// that a fault made the callee run twice is one.
//
// Record with [chaos.InjectorOptions].RecordAll, or calls without a fault are not there,
// and with KeepValues. Without it the calls have hashes of their arguments, and their
// results are listed as missing, so that a player refuses the session and says why.
//
// The session needs a name before it is written. An empty o.Dialect becomes "events".
// Events of several cells are an error, a [*FieldError].
func FromEvents(o Origin, events []chaos.Event) (*Session, error) {
	for i := range events {
		if cell := events[i].Cell; cell != events[0].Cell {
			return nil, fields.Wrong(fmt.Sprintf("events[%d].cell", i), cell,
				fmt.Sprintf("events of one cell; the first is of %q", events[0].Cell))
		}
	}
	if o.Dialect == "" {
		o.Dialect = "events"
	}
	return &Session{Source: o, Calls: callsOf(events)}, nil
}

// callsOf are the calls of tools and models among the events.
func callsOf(events []chaos.Event) []findings.Call {
	listed := slices.DeleteFunc(slices.Clone(events), func(e chaos.Event) bool { return e.Target == chaos.ListTarget })
	all := findings.Calls(listed)
	calls := make([]findings.Call, 0, len(all))
	numbers := make([]int, len(all)) // of a call in calls, or of the one around it; 0: none
	for i, c := range all {
		if c.Parent > 0 {
			c.Parent = numbers[c.Parent-1]
		}
		numbers[i] = c.Parent
		switch listed[i].Layer {
		case chaos.LayerTool, chaos.LayerLLM:
			calls = append(calls, c)
			numbers[i] = len(calls)
		}
	}
	return calls
}

// FromCell makes a session of a cell that a matrix ran: its calls as the agent saw them,
// what it was asked, its last answer, and why the cell did not hold. The report must
// have its observations ([contract.CellReport.Observations]), and the matrix must have
// kept the values of the calls.
//
// [Session.Plan] injects the faults of the cell again, in a live world: into the calls
// of the same numbers, where the calls of a rule were to one tool in one lane and one
// after the other; otherwise into those with the same coordinates ([when.Exactly]), which
// an agent that asks in another way does not make. Delays that were drawn are drawn anew
// in a scenario of another name. A cell without rules has no plan. If the plan cannot be
// made, the session is returned without it, and the error says why: rules that hold Go
// code, or calls that no event shows.
func FromCell(m *contract.Matrix, c *contract.CellReport) (*Session, error) {
	if m == nil || c == nil {
		return nil, errors.New("replay: FromCell: a matrix and the report of one of its cells are required")
	}
	observations := c.Observations()
	if len(observations) == 0 {
		return nil, fields.Wrong("observations", nil, "a report with the observations of its cell")
	}
	s := &Session{
		Name: fileName(c.Cell.String()), Contract: m.Name, ExpectedFailure: c.Why,
		Source: Origin{Dialect: fromCell, ID: c.Cell.String()},
	}
	var events []chaos.Event
	dropped := 0
	for _, o := range observations {
		s.Prompts = append(s.Prompts, o.Prompt)
		s.Answer, s.Tools = o.Response, o.Tools
		events = append(events, o.Events...)
		dropped += o.Dropped
	}
	s.Calls = callsOf(events)
	if dropped > 0 {
		return nil, fmt.Errorf("replay: cell %v: %d calls did not fit the log; allowed: a cell with all of its calls",
			c.Cell, dropped)
	}
	plan, err := planOf(m, c, events)
	if err != nil {
		return s, fmt.Errorf("replay: cell %v: its faults cannot be kept: %w", c.Cell, err)
	}
	s.Plan = plan
	return s, nil
}

// fromCell is the dialect of sessions that [FromCell] makes.
const fromCell = "cell"

// planOf is the plan of a cell as data; nil: it had no rules.
func planOf(m *contract.Matrix, c *contract.CellReport, events []chaos.Event) (*planjson.Plan, error) {
	i := slices.IndexFunc(m.Scenarios, func(s contract.Scenario) bool { return s.Name == c.Cell.Scenario })
	if i < 0 {
		return nil, fields.Wrong("cell.scenario", c.Cell.Scenario, "a scenario of the matrix")
	}
	if len(m.Scenarios[i].Rules) == 0 {
		return nil, nil
	}
	plan, err := chaos.NewPlan(m.Seed, m.Scenarios[i].Rules...)
	if err != nil {
		return nil, err
	}
	events = slices.DeleteFunc(slices.Clone(events), func(e chaos.Event) bool { return e.Layer == "" })
	exact, err := exactly(plan, events)
	if err != nil {
		return nil, err
	}
	return planjson.Describe(byNumber(exact, plan, events), nil)
}

// exactly returns the rules of a plan that matched, each for the calls that it matched,
// delivered or not, since a fault may have remembered them. Calls on which a rule was
// held back are left out.
func exactly(plan *chaos.Plan, events []chaos.Event) (*chaos.Plan, error) {
	matched := make(map[string][]when.Coord)
	for _, e := range events {
		at := when.Coord{Lane: e.Lane, Target: e.Target, Key: e.Key, Occurrence: e.Occurrence}
		for _, rule := range slices.Concat(e.Also, e.Idle, e.Masked, []string{e.Rule}) {
			matched[rule] = append(matched[rule], at)
		}
	}
	var rules []chaos.Rule
	for _, r := range plan.Rules() {
		if calls := matched[r.Name]; len(calls) > 0 {
			rules = append(rules, chaos.Rule{Name: r.Name, Target: r.Target, When: when.Exactly(calls...),
				Fault: r.Fault, Layer: r.Layer})
		}
	}
	return chaos.NewPlan(plan.Seed(), rules...)
}

// byNumber returns a plan whose rules look at the numbers of calls instead
// of their coordinates, where a number says as much.
func byNumber(exact, of *chaos.Plan, events []chaos.Event) *chaos.Plan {
	rules := exact.Rules()
	for i := range rules {
		if target, numbers := numbersOf(rules[i].Name, events); numbers != nil {
			rules[i].Target, rules[i].When = glob.Literal(target), when.Nth(numbers...)
		}
	}
	plan, err := chaos.NewPlan(of.Seed(), rules...)
	if err != nil {
		return exact
	}
	return plan
}

// numbersOf are the numbers of the calls that a rule matched, and their target; none if
// a number does not identify a call: there are several targets or lanes, or calls
// overlapped.
func numbersOf(rule string, events []chaos.Event) (target string, numbers []int) {
	lane := ""
	for i := range events {
		e := &events[i]
		if e.Rule != rule && !slices.Contains(slices.Concat(e.Also, e.Idle, e.Masked), rule) {
			continue
		}
		if numbers == nil {
			target, lane = e.Target, e.Lane
		}
		if e.Target != target || e.Lane != lane {
			return "", nil
		}
		numbers = append(numbers, int(e.Ordinal)+1)
	}
	end := time.Duration(-1)
	for i := range events {
		switch e := &events[i]; {
		case e.Target != target:
		case e.Lane != lane, e.Start < end: // a number is one in each lane
			return "", nil
		default:
			end = e.End
		}
	}
	return target, numbers
}

// mostInName is the most characters of a name that is made of another.
const mostInName = 120

// fileName makes the name of a session of any name. Where that changes it, a hash of the
// name follows, so that two names have two.
func fileName(name string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r == '/':
			return '_'
		case r < 0x80 && validName.MatchString("a"+string(r)):
			return r
		}
		return '-'
	}, name)
	clean = strings.TrimLeft(clean, ".")
	if len(clean) > mostInName || strings.ContainsRune(name, '_') || strings.ReplaceAll(name, "/", "_") != clean {
		clean = fmt.Sprintf("%s-%08x", clean[:min(len(clean), mostInName)], uint32(hash.String(name)))
	}
	return clean
}

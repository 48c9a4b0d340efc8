package replay

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
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
	o.Dialect = cmp.Or(o.Dialect, "events")
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

// FromCell makes a session of a cell that a matrix ran, with the values of its calls kept: these
// as the agent saw them, what it was asked, its last answer, and why the cell did not hold. The
// report must have its observations ([contract.CellReport.Observations]).
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
	return planjson.Describe(exact, nil)
}

// exactly returns the rules of a plan that matched, each for the calls that it matched,
// delivered or not, since a fault may have remembered them. Calls on which a rule was
// held back are left out. A rule looks at the numbers of calls where they say as much as coordinates.
func exactly(plan *chaos.Plan, events []chaos.Event) (*chaos.Plan, error) {
	matched := make(map[string][]int)
	for i, e := range events {
		for _, rule := range slices.Concat(e.Also, e.Idle, e.Masked, []string{e.Rule}) {
			matched[rule] = append(matched[rule], i)
		}
	}
	var exact, numbered []chaos.Rule
	for _, of := range plan.Rules() {
		calls := matched[of.Name]
		if len(calls) == 0 {
			continue
		}
		coords := make([]when.Coord, len(calls))
		for k, i := range calls {
			e := &events[i]
			coords[k] = when.Coord{Lane: e.Lane, Target: e.Target, Key: e.Key, Occurrence: e.Occurrence}
		}
		r := chaos.Rule{Name: of.Name, Target: of.Target, When: when.Exactly(coords...), Fault: of.Fault,
			Layer: of.Layer}
		exact = append(exact, r)
		if numbers := numbersOf(slices.Compact(calls), events); numbers != nil {
			r.Target, r.When = glob.Literal(events[calls[0]].Target), when.Nth(numbers...)
		}
		numbered = append(numbered, r)
	}
	made, err := chaos.NewPlan(plan.Seed(), exact...)
	if better, worse := chaos.NewPlan(plan.Seed(), numbered...); err == nil && worse == nil {
		return better, nil
	}
	return made, err
}

// numbersOf are the numbers of calls; none if a number does not identify a call: there are
// several targets or lanes, or calls overlapped.
func numbersOf(calls []int, events []chaos.Event) (numbers []int) {
	first := &events[calls[0]]
	for _, i := range calls {
		if e := &events[i]; e.Target != first.Target || e.Lane != first.Lane {
			return nil
		}
		numbers = append(numbers, int(events[i].Ordinal)+1)
	}
	end := time.Duration(-1)
	for i := range events {
		switch e := &events[i]; {
		case e.Target != first.Target:
		case e.Lane != first.Lane, e.Start < end: // a number is one in each lane
			return nil
		default:
			end = e.End
		}
	}
	return numbers
}

// mostInName is the most characters of a name that is made of another.
const mostInName = 120

var notInName = regexp.MustCompile(`[^A-Za-z0-9._-]`)

// fileName makes the name of a session of any name. Where that changes more than slashes, a hash of the
// name follows, so that two names have two.
func fileName(name string) string {
	clean := strings.TrimLeft(notInName.ReplaceAllString(strings.ReplaceAll(name, "/", "_"), "-"), ".")
	if len(clean) > mostInName || strings.ContainsRune(name, '_') || strings.ReplaceAll(name, "/", "_") != clean {
		clean = fmt.Sprintf("%s-%08x", clean[:min(len(clean), mostInName)], uint32(hash.String(name)))
	}
	return clean
}

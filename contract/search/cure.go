package search

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/habits"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// Cure finds what would mend the defects of r, a report of m that [Explain] has explained: the fewest habits of
// package contract/habits, put around the tools that the agent is given, under which no cell of a defect breaks any
// more. It sets [contract.Defect].Cure of each, and of the report Cure and CureSearch. It changes nothing else in r.
// Each habit acts on the tools alone that its cure names, which the worlds list: [HabitsOf] makes the same.
// Without defects it makes no run.
//
// Habits mend a defect if in runs of all its cells, under the rules of their scenarios and under the habits, the
// invariants hold; its faults were delivered, as many as the defect has and on the same targets, and on equal calls
// where the agent makes them, or else are when they are injected by the numbers of their calls or by their
// coordinates; the run of the fewest faults holds too; and whatever held in other cells and without faults holds under
// the habits. Of equal cells one is run for the latter. Calls that only fail, or time out before the work, in place of
// the defect's faults, break nothing under the habits that they do not break for the same reason without, at each set
// of targets that the defect has: else they would hide the failure from the agent. What is undecided is not mended,
// and must not break.
//
// Of an agent that does not repeat itself no cell of the defect may break in any of several runs. What breaks in some
// trials without habits, also within a promised rate, may break under them, but not more often in a sequential test.
//
// Errors are those of [Explain]. What was found before the end of ctx is in r.
func Cure(ctx context.Context, m *contract.Matrix, r *contract.Report, o *Options) error {
	e, err := newExplainer(m, r, o)
	if err != nil || len(r.Defects) == 0 {
		return err
	}
	e.shapes = newShaper(e.targets())
	if err = e.begin(ctx, 0); err != nil {
		return err
	}
	defer e.runner.Close()
	return newCurer(e).cure(ctx)
}

// A curer searches for what mends the defects of a report.
type curer struct {
	*explainer
	known     []*habits.Habit // those of the options, or all
	habits    habitSet        // those that act on some tool, each on all on which it can
	abstained []string        // the others, each with its reasons
	random    bool            // the agent was seen not to repeat itself
	calmIn    string          // a scenario in which nothing is broken; "": there is none
	held      []heldCell      // one for each different run
	all       []*ailing
}

// An ailing defect is one with what is known of it.
type ailing struct {
	*curer
	d       *contract.Defect
	cells   []brokenCell // of copies the first
	targets []string
	fewest  *sourceRun   // the run of its fewest faults; nil: it cannot be made, or does not break
	failing []*sourceRun // runs of faults whose calls are to fail only: one for each set of its targets

	test    stats.SPRT // of a random agent: whether its cells break
	singles []attempt  // of each habit alone
	tried   []attempt  // those that were decided on
	chosen  partSet    // the numbers of the habits that mend it
	refused string     // what stood against habits under which its cells hold
	against *heldCell  // the cell that did last; nil: none
}

// A sourceRun is a run of some faults of a source.
type sourceRun struct {
	*source
	set   partSet
	swaps map[int]swap
}

// A brokenCell is a cell that a defect broke.
type brokenCell struct {
	contract.Cell
	copies []contract.Cell // the cells of the defect whose runs are equal, with itself
	needs  map[need]int    // the faults without which it would not have broken
	base   *runDigest      // without habits
}

// A curedRun is what is kept of a run of a curer besides.
type curedRun struct {
	calls  int // of tools
	took   time.Duration
	passed int64              // calls that passed what the agent is given
	met    map[need]int       // faults delivered on calls of the agent: by target, and by target and kind
	spared []string           // the targets of those calls on which none was
	asked  map[operation]bool // those calls: whether one of them met a fault
}

// HabitsOf returns those of all that a cure names, each on its tools alone, for [contract.RunOptions].Around and
// [habits.Around]; nil: all are [habits.All]. Habits of other names are left out.
func HabitsOf(c *contract.Cure, all []*habits.Habit) (of []*habits.Habit) {
	if all == nil {
		all = habits.All()
	}
	for _, own := range c.Habits {
		if i := slices.IndexFunc(all, func(h *habits.Habit) bool { return h.Name == own.Name }); i >= 0 {
			of = append(of, all[i].Only(own.Tools...))
		}
	}
	return of
}

// A habitSet are habits around the tools, in the order of the options. They are tried as they are named, by [HabitsOf]:
// else a habit might act on a tool that is not named, such as one that its world does not list.
type habitSet []contract.CureHabit

func (s habitSet) String() string {
	var does []string
	for _, h := range s {
		does = append(does, h.Does)
	}
	return strings.Join(does, " and ")
}

func (s habitSet) has(name string) bool {
	return slices.ContainsFunc(s, func(h contract.CureHabit) bool { return h.Name == name })
}

func newCurer(e *explainer) *curer {
	c := &curer{explainer: e, random: e.report.Repeatable == "no"}
	digest := e.runs.digest
	e.runs.digest = func(r runRequest, result *contract.Result) *runDigest {
		run := &runDigest{} // of one with too many calls: it decides nothing
		if r.Passed.Load() <= mostPassed {
			run = digest(r, result)
		}
		run.curedRun = curedRunOf(result.Observations, r.Passed.Load(), r.Habits)
		return run
	}
	for i := range e.report.Defects {
		c.random = c.random || e.report.Defects[i].Runs > 0
	}
	if c.known = e.o.Habits; c.known == nil {
		c.known = habits.All()
	}
	for _, h := range c.known {
		c.abstainOrAct(h)
	}
	for _, s := range e.matrix.Scenarios {
		if len(s.Rules) == 0 && s.Layer == "" && s.Rewrite == nil && s.NewWorld == nil &&
			len(s.Prompts) == 0 && c.calmIn == "" {
			c.calmIn = s.Name
		}
	}
	c.findHeld()
	for i := range e.report.Defects {
		c.all = append(c.all, c.ailing(&e.report.Defects[i]))
	}
	return c
}

// abstainOrAct lists a habit among those that act on some tool of some world, or among the others. In a scenario with
// worlds of its own a tool of the same name may declare something else.
func (c *curer) abstainOrAct(h *habits.Habit) {
	own := contract.CureHabit{Name: h.Name, Does: h.Does}
	worlds := []string{""} // that of the matrix
	for _, s := range c.matrix.Scenarios {
		worlds = append(worlds, s.Name)
	}
	var reasons []string
	for _, scenario := range worlds {
		names, why := h.On(c.runner.ToolsIn(scenario))
		if len(names) == 0 && !slices.Contains(reasons, why) {
			reasons = append(reasons, why)
		}
		for _, name := range names {
			if !slices.Contains(own.Tools, name) {
				own.Tools = append(own.Tools, name)
			}
		}
	}
	if len(own.Tools) == 0 {
		c.abstained = append(c.abstained, h.Name+": "+strings.Join(reasons, "; "))
	} else {
		c.habits = append(c.habits, own)
	}
}

// curedRunOf keeps what a run shows beside what was found in it. Calls that the habits of the set make of their own,
// such as looks, are none of the agent's: a fault on them does not reach it. Those with which they repeat what a fault
// met are, and so are those of middleware that the agent has in its code.
func curedRunOf(observations []*contract.Observation, passed int64, set habitSet) *curedRun {
	run := &curedRun{passed: passed, met: map[need]int{}, asked: map[operation]bool{}}
	met := map[operation]bool{} // by the last call
	for _, o := range observations {
		run.took += o.Elapsed
		for i := range o.Events {
			e := &o.Events[i]
			if e.Layer == "" {
				continue // InjectNow: no call
			}
			if e.Layer == chaos.LayerTool {
				run.calls++
			}
			op := operationOf(e)
			own := set.has(e.Habit) && !met[op]
			met[op] = e.Delivered && !own
			if !own {
				run.asked[op] = run.asked[op] || e.Delivered
			}
			switch {
			case own:
			case !e.Delivered && !slices.Contains(run.spared, e.Target):
				run.spared = append(run.spared, e.Target)
			case e.Delivered:
				run.met[need{target: e.Target}] += 1 + len(e.Also)
				if e.Fault != "" { // else its rule alone names it
					run.met[need{e.Target, e.Fault}]++
				}
			}
		}
	}
	return run
}

// copyOf names the run of a cell, with one name for copies.
func (c *curer) copyOf(r *contract.CellReport) string {
	if r.Copy == 0 || c.random || slices.ContainsFunc(c.runner.Rules(r.Cell.Scenario), mayDraw) {
		return c.runOf(r.Cell)
	}
	return fmt.Sprintf("%q %q copy %d", r.Cell.Scenario, c.probes[r.Cell.Invariant], r.Copy)
}

// What depends on no draw. Of others, such as a program's own, it is not known.
var (
	drawlessTriggers = []string{"always", "first", "after", "nth", "every", "exactly"}
	drawlessFaults   = []string{"error", "resource_exhaustion", "network_partition", "panic", "disk_full", "auth_expired",
		"duplicate", "lost_request", "delivered_twice", "silent_no_op", "latency", "timeout", "lost_reply", "hang", "replace",
		"http_status"}
	drawlessDelays = []string{"", "fixed", "degrading", "degrading_over"}
)

// mayDraw reports whether a rule may draw: then equal runs need not be equal with the calls that habits add.
func mayDraw(r chaos.Rule) bool {
	among := func(kinds []string, of any) bool {
		d, known := of.(chaos.Described)
		var own struct{ Distribution string } // of latency
		if known {
			_ = json.Unmarshal(d.Describe().Params, &own)
		}
		return known && slices.Contains(kinds, d.Describe().Kind) && slices.Contains(drawlessDelays, own.Distribution)
	}
	return r.When != nil && !among(drawlessTriggers, r.When) || !among(drawlessFaults, r.Fault)
}

func (c *curer) ailing(d *contract.Defect) *ailing {
	a := &ailing{curer: c, d: d}
	reports := c.cellReports()
	places := map[string]int{}
	for i := range d.Breaks {
		b := &d.Breaks[i]
		needs := c.needsOf(d.Deliveries, b.At)
		for n := range needs {
			if !slices.Contains(a.targets, n.target) {
				a.targets = append(a.targets, n.target)
			}
		}
		for _, cell := range b.Cells {
			copied := cell.String()
			if r := reports[cell]; r != nil {
				copied = fmt.Sprintf("%s %s at %q", c.copyOf(r), cell.Invariant, b.At)
			}
			at, known := places[copied]
			if !known {
				at, places[copied] = len(a.cells), len(a.cells)
				a.cells = append(a.cells, brokenCell{Cell: cell, needs: needs})
			}
			a.cells[at].copies = append(a.cells[at].copies, cell)
		}
	}
	slices.Sort(a.targets)
	return a
}

// A need is faults at a target. Of an agent that does not repeat itself they are told by their kind too: of others the
// run of the fewest faults shows that it is these that do not break it.
type need struct{ target, fault string }

// needsOf counts the faults of a defect. at are its targets where they are others, in the same order.
func (c *curer) needsOf(deliveries []contract.Delivery, at []string) map[need]int {
	targets, needs := map[string]string{}, map[need]int{}
	for _, d := range deliveries {
		if _, known := targets[d.Target]; !known {
			targets[d.Target] = d.Target
			if i := len(targets) - 1; i < len(at) {
				targets[d.Target] = at[i]
			}
		}
		n := need{target: targets[d.Target]}
		if c.random {
			n.fault = d.Fault
		}
		needs[n]++
	}
	return needs
}

// cure searches, and fills in the report.
func (c *curer) cure(ctx context.Context) (err error) {
	for _, a := range c.all {
		a.d.Cure = nil
	}
	for _, tasksOf := range []func(*ailing) []task{
		func(a *ailing) []task { return []task{a.learn} },
		(*ailing).trySingles,
		func(a *ailing) []task { return []task{a.choose} },
		func(a *ailing) []task { return []task{a.chooseMore} },
	} {
		var tasks []task
		for _, a := range c.all {
			if a.d.Cure == nil {
				tasks = append(tasks, tasksOf(a)...)
			}
		}
		err = cmp.Or(err, c.runs.Run(ctx, tasks...))
	}
	c.report.Cure = nil
	err = cmp.Or(err, c.runs.Run(ctx, c.chooseForAll))
	c.report.CureSearch = &contract.CureSearch{Runs: c.runs.Spent.Runs, Elapsed: time.Since(c.runs.Begun),
		Stopped: c.secrets.Text(c.runs.Cut), Abstained: c.abstained}
	return err
}

// learn makes the runs without habits: what is not broken in them cannot be seen mended.
func (a *ailing) learn(ask askFunc) {
	switch d := a.d; {
	case len(d.Deliveries) == 0 && (d.Difference != "" || d.Cut):
		a.none("no habit tried: it is not known what breaks it")
		return
	case d.Unconfirmed:
		a.none("no habit tried: it is not confirmed that this breaks it")
		return
	case len(a.cells) == 0:
		a.none("no habit tried: its cells are counted in another defect")
		return
	}
	calls, passed := 0, int64(0)
	requests := a.requests(a.cells, nil)
	for k := 0; k < a.doubted(); k++ {
		requests = append(requests, a.nth(a.cells[k%len(a.cells)].Cell, nil, 1+k/len(a.cells)))
	}
	inRounds(requests, len(requests))
	for i := range requests {
		at, run := &a.cells[i%len(a.cells)], ask(requests[i])
		if run == nil {
			a.cut()
			return
		}
		at.base = cmp.Or(at.base, run)
		calls += run.calls
		passed += run.passed
		if !a.random && !run.judgedBy(at.Invariant).Broke {
			a.none("no habit tried: without habits " + at.String() + " did not break again")
			return
		}
	}
	switch {
	case calls == 0 && passed == 0:
		a.none("no habit tried: it calls no tools")
	case passed == 0:
		a.none("no habit tried: its calls do not pass World.Tools")
	case len(a.habits) == 0:
		a.none("no habit tried: none here can act on its tools")
	case a.random:
		a.learnRate(ask)
		a.findFailing()
	default:
		a.findFewest(ask)
		a.findFailing()
	}
}

// doubted is how many more runs must break before an agent of which nobody has tried it is taken for one that repeats
// itself: under an agent that breaks now and then, habits that do nothing seem to mend. Cells count too, unless trials
// that met the same differed.
func (a *ailing) doubted() int {
	if a.random || a.report.Repeatable == "yes" {
		return 0
	}
	broke := len(a.cells)
	for _, at := range a.cells {
		if !slices.ContainsFunc(a.report.Repeats, func(n contract.RepeatCount) bool {
			return n.Scenario == at.Scenario && n.Groups > 0 && n.Alike == 0
		}) {
			broke += len(at.copies)
		}
	}
	return leastCalm - broke
}

// findFewest finds the fewest faults of the defect in one of its cells, by the numbers of their calls.
func (a *ailing) findFewest(ask askFunc) {
	for i := range a.cells {
		at := &a.cells[i]
		run := &sourceRun{source: a.byNumber(at), swaps: map[int]swap{}}
		for _, d := range a.d.Deliveries {
			k := slices.IndexFunc(run.Parts, func(p part) bool {
				rule, _, _ := strings.Cut(d.Rule, "~") // see swapName
				return p.Rule == rule && p.Coord() == coordOfDelivery(&d)
			})
			if k < 0 {
				continue
			}
			run.set = append(run.set, k)
			if p := &run.Parts[k]; p.Fault != d.Fault {
				for _, w := range ladder(p) {
					if w.kind == d.Fault {
						run.swaps[k] = w
					}
				}
			}
		}
		if len(run.set) == 0 || len(run.set) < len(a.d.Deliveries) {
			continue
		}
		broken := ask(a.with(run.request(run.set, run.swaps), nil))
		if broken != nil && broken.judgedBy(at.Invariant).Broke {
			a.fewest, run.Whole = run, broken
		}
		return
	}
}

// findFailing lists a run for each set of targets of the defect: that of its fewest faults, or else of all faults that
// a cell met there.
func (a *ailing) findFailing() {
	known := map[string]bool{}
	if a.fewest != nil {
		a.failing = append(a.failing, a.fewest)
		known[fmt.Sprintf("%q", targetsOf(a.needsOf(a.d.Deliveries, nil)))] = true
	}
	for i := range a.cells {
		run, targets := &sourceRun{source: a.byNumber(&a.cells[i])}, targetsOf(a.cells[i].needs)
		for k := range run.Parts {
			if slices.Contains(targets, run.Parts[k].Target) {
				run.set = append(run.set, k)
			}
		}
		if key := fmt.Sprintf("%q", targets); !known[key] && len(run.set) > 0 { // a random agent may have met none
			known[key], a.failing = true, append(a.failing, run)
		}
	}
}

func targetsOf(needs map[need]int) (all []string) {
	for n := range needs {
		if !slices.Contains(all, n.target) {
			all = append(all, n.target)
		}
	}
	slices.Sort(all)
	return all
}

// byNumber is a cell whose faults are injected by the numbers of their calls in lane and target: a habit may change
// the arguments, and with them the coordinates. By those it is where habits add or spare calls: see byCalls.
func (c *curer) byNumber(at *brokenCell) *source {
	s := &source{Cell: at.Cell, Key: c.runOf(at.Cell) + " by number", Rules: c.runner.Rules(at.Scenario),
		Whole: at.base, Random: true}
	s.takeApart()
	return s
}

// exactly is a source whose faults are injected by the coordinates of their calls.
func (s *source) exactly() *source {
	exact := *s
	exact.Key, exact.Random = s.Key+" exactly", false
	return &exact
}

// own is the run of a cell under the rules of its scenario and under habits.
func (c *curer) own(at contract.Cell, set habitSet) runRequest { return c.nth(at, set, 0) }

// nth is the n-th of these runs.
func (c *curer) nth(at contract.Cell, set habitSet, n int) runRequest {
	r := runRequest{Cell: at, Rules: c.runner.Rules(at.Scenario), Key: c.runOf(at) + " own"}
	return c.with(r.numbered(n), set)
}

// calm is the run of a cell's prompts without faults.
func (c *curer) calm(at contract.Cell) runRequest {
	kind := " calm"
	if c.calmIn != "" { // it is the run of a cell
		at.Scenario, at.Trial, kind = c.calmIn, 1, " own"
	}
	return runRequest{Cell: at, Key: c.runOf(at) + kind}
}

// with puts habits around the tools of a run.
func (c *curer) with(r runRequest, set habitSet) runRequest {
	r.Key = fmt.Sprintf("%s with %q", r.Key, []contract.CureHabit(set)) // String leaves out the tools
	r.Detail, r.Passed, r.Habits = ofFaults, new(atomic.Int64), set
	user, around := c.o.Run.Around, habits.Around(HabitsOf(&contract.Cure{Habits: set}, c.known)...)
	r.Around = func(tools chaos.ToolRegistry) chaos.ToolRegistry {
		if user != nil {
			tools = cmp.Or(user(tools), tools)
		}
		return passing{around(tools), r.Passed, len(set) > 0}
	}
	return r
}

// mostPassed bounds the calls of a run under habits: an agent that polls may never end if they are answered at once.
const mostPassed = 10_000

// passing counts the calls that pass it. Of bounded ones, those that are too many take a second each, so that virtual
// time goes on.
type passing struct {
	chaos.ToolRegistry
	calls   *atomic.Int64
	bounded bool
}

func (p passing) CallTool(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
	if p.calls.Add(1) > mostPassed && p.bounded {
		time.Sleep(time.Second)
	}
	return p.ToolRegistry.CallTool(ctx, name, args)
}

// none ends the search for what mends the defect.
func (a *ailing) none(why string) { a.d.Cure = &contract.Cure{Why: a.secrets.Text(why)} }

func (a *ailing) cut() { a.d.Cure = notSearched() }

func notSearched() *contract.Cure {
	return &contract.Cure{Why: "not searched to its end", Cut: true}
}

// addPlaces counts cells of a defect, of which some hold, with their copies.
func addPlaces(all []contract.CurePlace, cells []brokenCell, holding []int) []contract.CurePlace {
	for i := range cells {
		c := &cells[i]
		at := slices.IndexFunc(all, func(p contract.CurePlace) bool {
			return p.Scenario == c.Scenario && p.Invariant == c.Invariant
		})
		if at < 0 {
			at, all = len(all), append(all, contract.CurePlace{Scenario: c.Scenario, Invariant: c.Invariant})
		}
		all[at].Cells += len(c.copies)
		if slices.Contains(holding, i) {
			all[at].Held += len(c.copies)
		}
	}
	return all
}

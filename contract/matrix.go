package contract

import (
	"context"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
)

// A Matrix asks every invariant in every scenario, as many times as Trials says.
// Each cell is an independent run of the agent, in a world of its own (NewWorld)
// or in one that is reset before (World and Reset).
//
// A Matrix must not be changed while it runs. It may run several times, also at
// once if no scenario is in World.
type Matrix struct {
	_ struct{}
	// Name appears in reports.
	Name string
	// NewWorld makes the world of one cell. Cells then run in parallel, and in
	// virtual time under package contracttest. It must make everything in the world: what it
	// does not make, such as a package variable, all cells share, and no probe finds that.
	// Exactly one of NewWorld and World is required, or neither if every scenario has a NewWorld.
	//
	// ctx carries the cell's injector ([chaos.FromContext]), which acts from when NewWorld has
	// returned to the cell's last answer; later calls get [chaos.ErrCellEnded]. See [CellOf] too.
	NewWorld func(ctx context.Context) (*World, error)
	// World is one world for all cells, which run one at a time, in real time. Cells of
	// a scenario with a NewWorld of its own run beside them.
	World *World
	// Reset returns World to its initial state before each cell.
	Reset func(ctx context.Context) error
	// Open readies what all cells share, such as a proxy in front of an agent's tools, before the
	// first world is made or looked at; closing ends it after the last cell of [Matrix.Run] or
	// [Matrix.RunCell], or when a [Runner] is closed. An error of Open ends the run before any
	// agent is called; one of closing is a warning of Run. nil: there is nothing to ready.
	Open func(ctx context.Context) (closing func() error, err error)
	// Points names injection points outside the tool registry: wrapped functions, streams,
	// transports. Those that the agent calls need not be named, except without a tool registry.
	Points []string
	// StrictPoints makes it an error, before the agent is called, if the target of a
	// rule matches neither a tool nor one of Points. Without it, a target that no run met
	// either is a warning.
	StrictPoints bool
	// Prompts are sent to the agent in each cell, in order. Required unless every
	// invariant has probes or every scenario has prompts.
	Prompts    []string
	Invariants []Invariant // at least one
	Scenarios  []Scenario  // at least one
	Goals      []Goal      // what must be reached in at least one cell; none: nothing
	// Trials is the number of times each invariant is asked in each scenario; 0: 1.
	Trials int
	// Seed is the seed of every random number.
	Seed uint64
	// Timeout limits the time of one answer of the agent, in the cell's own time:
	// virtual in a bubble. 0: only the watchdog of [RunOptions] limits it.
	Timeout time.Duration
	// ShareObservations lets all invariants of a scenario and trial judge the same
	// run, one per prompt list, for agents whose calls cost money. All prompts are then sent;
	// without it, a cell whose invariant broke gets no later ones.
	ShareObservations bool
	// KeepValues keeps the arguments and results of all calls, as JSON, for the HTML page
	// and the run file; without it, for the invariants with [NeedResults]. They may hold
	// secrets. What calls of models said over HTTP is kept with them: see [chaos.Exchange].
	KeepValues bool
	// SkipStateProbe leaves out the probe that finds out whether a shared world without Reset
	// remembers: it sends the first prompt twice, without faults.
	SkipStateProbe bool
	// AllowInconclusive is the number of inconclusive cells that the verdict accepts.
	AllowInconclusive int
	// Secrets are texts, such as keys, that no report may repeat: reasons and evidence have
	// [redacted] in their place. Invariants see them. A text of fewer than six bytes is kept.
	Secrets []string
}

// RunOptions are the settings of [Matrix.Run]; nil and the zero value work.
type RunOptions struct {
	_ struct{}
	// Workers is the number of cells in fresh worlds that run at once; 0: GOMAXPROCS.
	Workers int
	// OnCell is called with the report of each cell, one call at a time, in the order of the
	// matrix or, with Sequential, of the rounds.
	OnCell func(*CellReport)
	// OnProgress is told how far the run is: after cells have ended, ten times a second at most, and at the
	// end, one call at a time. It must be fast.
	OnProgress func(Progress)
	// OnRun returns the context of the run that is made for a cell, made from ctx, such as one with a span; nil: ctx.
	// Several cells may share a run: see [Matrix.ShareObservations]. A failure makes the cell inconclusive.
	OnRun func(ctx context.Context, c Cell) context.Context
	// OnEvent gets the calls of the runs that are cells, as [chaos.InjectorOptions].OnEvent.
	OnEvent func(context.Context, chaos.Event)
	// Around wraps the tools that the agent of each run gets, outside of the faults: what it does with a call
	// happens before a fault can act on it. It is called once for each run, also for calm ones, and not for a
	// world without tools. An agent that calls the tools of its world in another way passes it by. nil, and a
	// result of nil: they stay as they are. A failure makes the cell inconclusive. Package contract/habits makes such
	// functions; one of your own marks the calls that it makes of its own by [chaos.WithHabit].
	Around func(chaos.ToolRegistry) chaos.ToolRegistry
	// Harness connects the run to a test framework or another host. The zero value connects it to none.
	Harness Harness
	// Keep selects the observations that the report retains.
	Keep KeepPolicy
	// Gather is what observations have besides what invariants need: NeedState,
	// NeedResults, NeedCalm. What is missing of it makes no cell inconclusive.
	Gather Needs
	// Watchdog limits the real time of a cell, of a check and of a call of OnCell. A cell that
	// exceeds it is inconclusive. 0: five minutes, and in real time [Matrix.Timeout] for each
	// prompt besides. [Harness.Deadline] may shorten it.
	//
	// In virtual time 0 also means that a cell is inconclusive when nothing but real I/O
	// has kept its clock from moving for about 20 seconds, and so are those that would follow it.
	Watchdog time.Duration
	// Sequential makes [Matrix.Trials] the most: an invariant takes no further trial in
	// a scenario when its [Field] is decided; without [Invariant.AtLeast] that is when it
	// broke. With ShareObservations all fields of a scenario must be decided. [Report.Saved]
	// counts what was not run. The score counts fields, because stopping biases shares of trials.
	Sequential bool
	// Budget limits what a sequential run spends. The zero value is no limit.
	Budget Budget
	// File is the path of the run file, which package contract/report describes; empty: none is
	// written. A file of that name is replaced when the run begins; its folder must exist. Units
	// are appended as they end. At the end the file is written again, whole, in the order of the
	// matrix. It does not have what is found after the run, such as defects.
	File string
	// Build names the program that is tested, such as a commit; empty: the hash of the
	// executable. The run file has it.
	Build string
	// Shard is the share of the units that this run makes; the zero value: all. Its report is that of
	// a part: see [Report.IsPart]. Each shard makes the calm runs that it needs. Budget.Cost is
	// divided by Shard.Count, and what a shard leaves is lost; the other limits are those of
	// each shard.
	Shard Shard
	// Resume is the path of a run file, of any end of its run, from which this run goes on; empty:
	// none. The units that it has whole are not run again, also those of other shards: they are in
	// the report and in File, which may be the same path. Harness.Around and OnCell see their
	// cells too; what Around leaves out of them is in the report all the same. Budget counts them.
	//
	// It must be of the same matrix, seed, library, build and tools, and have evidence; else Run
	// returns a [*FieldError], and one with the line for a line that is not what was written. A last
	// line that was cut is dropped. Where no build is known, a warning says so.
	Resume string

	ioPatience time.Duration // see engine.ioPatience; 0: that of the engine
}

// A Harness holds what the host of a run, such as package contracttest, decides
// about each cell: where it runs, whether it runs, and how a person repeats it.
// Its functions are called from several goroutines.
type Harness struct {
	_ struct{}
	// Around is called once for each cell and runs it by calling run once, in the bubble
	// that it passes; nil: in real time, as a cell in [Matrix.World] must be. It must
	// return, after run has returned. A cell for which it does not call run is not run.
	Around func(c Cell, run func(Bubble) *CellReport)
	// Calm is the bubble of the runs that are not cells: those of the first worlds, those
	// for baselines and those of a [Runner]. Runs in [Matrix.World] are in real time. nil: all are.
	Calm Bubble
	// Rerun is the command line that repeats a cell, for [CellReport.Rerun] of cells that did not
	// hold, with {scenario}, {invariant} and {trial} in place of what the cell has. Between ^ and $
	// a name is written as a regular expression, as -run of go test needs it. Empty: no line.
	Rerun string
	// Deadline is when the host ends the process, as go test does. Cells that have no time
	// left are given up or not run, and are inconclusive. A tenth of the time, at most 15
	// seconds, is kept for the report. Zero: there is none.
	Deadline time.Time
}

// A Bubble runs a function in virtual time. It calls run once and returns when
// all goroutines of the bubble have ended. It returns an error if they are
// blocked for good, or if one is left when run has returned.
type Bubble func(run func()) error

// A KeepPolicy selects the observations that a report retains.
type KeepPolicy uint8

// The policies. With each of them every cell is counted, and OnCell gets its
// report with the evidence.
const (
	KeepBroken KeepPolicy = iota // of cells that are broken or inconclusive, and [CellReport.Calm]
	KeepAll
	KeepNone
	// KeepCounts keeps not even the reports of cells: memory does not grow with their number,
	// except in a sequential run.
	KeepCounts
)

// An Agent is what is under test: it answers a prompt and may call tools to do so, which are
// those of its [World], wrapped with the cell's faults. It must return when ctx ends, and call
// no tool after that. An error that is not its doing should match [ErrNotTheAgent].
type Agent func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error)

// A World is everything that one cell touches: the agent, its tools, and the
// systems that the tools use.
type World struct {
	// Agent is required.
	Agent Agent
	// Tools are the agent's tools; nil when it has none that faults should reach.
	Tools chaos.ToolRegistry
	// State returns the state of the world, for invariants over effects. The value
	// must not change afterwards. What it calls with ctx gets no fault and is not recorded.
	State func(ctx context.Context) (any, error)
	// Err reports why the answers of the agent say nothing about it, such as a recorded
	// conversation that has no answer to what was asked. It is asked after each answer. An
	// error makes the cell inconclusive, unless an earlier answer broke its invariant, and no
	// later prompt is sent. It must be safe to call while the agent's goroutines run. In a
	// shared world [Matrix.Reset] must clear the error. nil: all answers count.
	Err func() error
	// Close releases the world after its cell; nil: nothing to release.
	Close func() error
}

// A Scenario is what a cell is tested with: mostly the set of rules that inject faults.
type Scenario struct {
	_ struct{}
	// Name becomes part of a subtest's name: letters, digits, '.', '_' and '-'. Required.
	Name string
	// Rules decide which calls get which fault; none: a calm scenario, without faults.
	Rules []chaos.Rule
	// AllowUndelivered keeps the scenario from making the verdict inconclusive
	// when no fault was delivered in any of its cells.
	AllowUndelivered bool
	// NewWorld makes the worlds of this scenario in place of what the matrix has; see
	// [Matrix.NewWorld]. Their tools may be others than those of other scenarios.
	NewWorld func(ctx context.Context) (*World, error)
	// Prompts replace those of the matrix, but not the probes of an invariant.
	Prompts []string
	// Baselines are known calm answers to Prompts, one for each or none; no calm run is made
	// for them. Text in [Invariant.Baseline] takes precedence.
	Baselines []string
	// Layer is what is broken in this scenario besides what Rules break, such as tools
	// that answer as they did in an incident. [Invariant.Applies] treats it as the layer of a
	// rule. Cells of a scenario with neither Rules nor Rewrite are then never undelivered.
	Layer chaos.Layer
	// Rewrite replaces each prompt and each probe when it is sent, except in calm runs. A
	// prompt whose text changed counts as a delivered fault. It must depend on the text alone
	// and be safe for concurrent use. nil: prompts are sent as they are.
	Rewrite func(prompt string) string
}

// Under returns a scenario of the rules, with a copy of the list.
func Under(name string, rules ...chaos.Rule) Scenario {
	return Scenario{Name: name, Rules: slices.Clone(rules)}
}

// Calm returns the scenario "calm", which has no faults.
func Calm() Scenario { return Scenario{Name: "calm"} }

// A Budget limits what a sequential run spends; see [RunOptions.Sequential]. The zero
// value is no limit. It is spent in rounds of at most 16 trials, however many workers
// there are, on the open fields with the greatest weight of their severity ÷ expected
// further trials, and not on more than it can be expected to decide. When a limit is reached,
// no further round begins. The fields that are then open say how many trials they lack, and the
// verdict is not Pass.
//
// With [Matrix.ShareObservations] a trial is that of a scenario. Calm runs are not counted.
type Budget struct {
	_ struct{}
	// Trials is the most trials; 0: no limit.
	Trials int
	// Time is the real time after which no further round begins; 0: no limit. Two runs with
	// the same seed may then differ.
	Time time.Duration
	// Cost is the sum of CostOf, and of what judges cost, after which no further round begins. 0: no limit.
	Cost float64
	// CostOf returns the cost of a run of the agent, 0 or more, in the unit of Cost. It
	// gets the report of the cell that was first judged on the run, one call at a time. If it
	// fails, no further round begins.
	CostOf func(*CellReport) float64
}

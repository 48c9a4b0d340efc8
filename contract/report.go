package contract

import (
	"fmt"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// CellState is the outcome of a cell; see [scoring.CellState].
type CellState = scoring.CellState

// The outcomes of a cell.
const (
	NotRun       = scoring.CellNotRun
	Held         = scoring.CellHeld
	Broken       = scoring.CellBroken
	Inconclusive = scoring.CellInconclusive
	Undelivered  = scoring.CellUndelivered
)

// A CellReport is the result of one cell.
type CellReport struct {
	Cell     Cell      `json:"cell"`
	Severity Severity  `json:"severity"`
	State    CellState `json:"state"`
	// Layer is [Scenario.Layer]: what was broken besides what Delivered counts.
	Layer chaos.Layer `json:"layer,omitempty"`
	// Violated reports whether the invariant broke. It is true with Broken, and
	// with Undelivered if the invariant broke although no fault was delivered.
	Violated bool `json:"broke,omitempty"`
	// Why is the reason why the state is not Held, for people.
	Why string `json:"why,omitempty"`
	// Delivered counts the calls on which a fault was delivered, and the prompts that
	// [Scenario.Rewrite] changed; Rewritten counts these prompts alone. Undelivered counts the
	// calls on which a fault was injected without effect. All count up to the prompt that
	// broke the invariant.
	Delivered   int `json:"delivered"`
	Undelivered int `json:"undelivered,omitempty"`
	Rewritten   int `json:"rewritten,omitempty"`
	// Undecided reports whether the cell is inconclusive because its check
	// returned [ErrUndecided]; Why has the reason. In other inconclusive cells
	// something was missing or failed before the check, or the check did not return.
	Undecided bool `json:"undecided,omitempty"`
	// DoesNotApply reports whether the faults of the cell do not meet the premise of the invariant:
	// its check returned [ErrDoesNotApply]. The cell is in no count, as if
	// [Invariant.Applies] had left it out. State is NotRun, though the agent ran, and Why has the reason.
	DoesNotApply bool `json:"doesNotApply,omitempty"`
	// Elapsed is how long the agent took for its answers, in the cell's own
	// time: virtual in a bubble.
	Elapsed time.Duration `json:"elapsedNs,omitempty"`
	// LateCalls counts the calls that the agent made between the end of its cell
	// and this report.
	LateCalls int `json:"lateCalls,omitempty"`
	// Abandoned reports whether user code did not end and its goroutine was left behind.
	Abandoned bool `json:"abandoned,omitempty"`
	// Evidence is the observation that decided; or the last one in which a fault was delivered, or else the
	// last one. nil if the [KeepPolicy] does not retain it.
	Evidence *Observation `json:"evidence,omitempty"`
	// Calm are the answers to all prompts in trial 1 of a scenario in which nothing is broken: what the
	// agent does without faults, for whoever shows another cell beside it. Their events lack
	// arguments, results and texts of models. The cell of the first
	// invariant of these prompts has them; [KeepBroken] and [KeepAll] retain them.
	Calm []*Observation `json:"calm,omitempty"`
	// Copy is a hash of the run: its prompts, its calls with the faults that were delivered on
	// them, and its answers. Trials with one Copy are copies: see [Field.Distinct]. 0: not known,
	// and the cell is no copy.
	Copy uint64 `json:"copy,omitempty,string"`
	// Rerun is the command line that repeats the cell, of [Harness.Rerun].
	Rerun string `json:"rerun,omitempty"`

	observed []*Observation
	notes    *cellNotes // nil if the cell was not run
}

// Observations are the answers of the run to all of its prompts, in order, the last of
// them perhaps cut short. They are retained as the Evidence is, but not in a file. They must
// not be changed.
func (r *CellReport) Observations() []*Observation { return slices.Clone(r.observed) }

// A Report is the result of a matrix: its cells in the order of the matrix, the
// score and the verdict.
type Report struct {
	Name string `json:"name,omitempty"`
	Seed uint64 `json:"seed,string"`
	// Cells are empty with KeepCounts.
	Cells []CellReport `json:"cells"`
	// Counts are the cells as the score counts them. Equal cells are one entry with
	// their number, in the order of their first. With KeepCounts this is all that
	// is retained of the cells.
	Counts []scoring.Cell `json:"counts,omitempty"`
	// Faults has, for every rule of every scenario, how often its fault was
	// delivered. A rule whose fault never was has tested nothing.
	Faults []FaultCount `json:"faults,omitempty"`
	// Coverage counts the delivered faults by target, kind and try, in this order. It also
	// names the tools that no fault reached.
	Coverage []CoverCount `json:"coverage,omitempty"`
	// Goals has an entry for each of [Matrix.Goals], in order. They are not judged if
	// Cancelled or in a part.
	Goals []GoalCount `json:"goals,omitempty"`
	// Defects are the ways to break behind the broken cells, the most severe first. Package
	// contract/search finds them; without it there are none.
	Defects []Defect `json:"defects,omitempty"`
	// SearchRuns is the number of runs that the search for defects made, SearchElapsed the
	// real time it took, and SearchStopped why it ended early; empty: it did not.
	SearchRuns    int           `json:"searchRuns,omitempty"`
	SearchElapsed time.Duration `json:"searchElapsedNs,omitempty"`
	SearchStopped string        `json:"searchStopped,omitempty"`
	// Cure is what would mend all defects that habits can mend together, and CureSearch what the search
	// for it and for [Defect.Cure] took; nil: there was no such search, or of Cure, it mends none.
	Cure       *Cure       `json:"cure,omitempty"`
	CureSearch *CureSearch `json:"cureSearch,omitempty"`
	// Repeatable is "yes" if the agent was not seen to differ in runs that met the same, calm
	// and under faults, which is no proof; "no" if it was; and empty if that was not tried.
	// Difference is the first difference.
	Repeatable string `json:"repeatable,omitempty"`
	Difference string `json:"difference,omitempty"`
	// Repeats has an element for each scenario that ran.
	Repeats []RepeatCount `json:"repeats,omitempty"`
	// Fields has the counts and the decision of each invariant in each scenario that it
	// applies to, by scenario.
	Fields []Field `json:"fields,omitempty"`
	// Fingerprint is that of the matrix, and Tools has the tools of its worlds, with hashes
	// of their input schemas. nil and none in a report of an older version.
	Fingerprint *Fingerprint      `json:"fingerprint,omitempty"`
	Tools       map[string]string `json:"tools,omitempty"`
	// Score has the verdict, the value, and the counts: of cells, or with Sequential of fields.
	Score scoring.ContractScore `json:"score"`
	// ByScenario is the share of Score and its interval, with the number of independent trials
	// that would say as much. nil if fewer than two scenarios were decided.
	ByScenario *stats.ClusteredShare `json:"byScenario,omitempty"`
	// Chaos is the score of the cells under rules alone, without those that break also in
	// calm; nil: no scenario has rules, or Sequential, which leaves out twins.
	Chaos *scoring.ChaosScore `json:"chaos,omitempty"`
	// Judges has what judges ruled, one element for each invariant, judge and version; nil:
	// no judge was asked. Their rates are corrected by Correct of package contract/judge.
	Judges []scoring.JudgeScore `json:"judges,omitempty"`
	// Mutation, Replay and Overall are for callers to set, so that all formats show them: Set.Score
	// of package mutate has the first, ReplayOf the second; [scoring.Weights.Overall] joins the parts.
	Mutation *scoring.MutationScore `json:"mutation,omitempty"`
	Replay   *scoring.ReplayScore   `json:"replay,omitempty"`
	Overall  *scoring.Overall       `json:"overall,omitempty"`
	// Scenarios and Invariants are the names in order, for tables.
	Scenarios  []string `json:"scenarios"`
	Invariants []string `json:"invariants"`
	Trials     int      `json:"trials"`
	// SharedObservations reports whether all invariants of a scenario and trial
	// judged the same observations; see [Matrix.ShareObservations].
	SharedObservations bool `json:"shared,omitempty"`
	// Sequential is that of the [RunOptions]. Saved counts the cells that were not needed:
	// they were not run, and no other number counts them.
	Sequential bool `json:"sequential,omitempty"`
	Saved      int  `json:"saved,omitempty"`
	// StateProbed reports whether the state probe was made.
	StateProbed bool `json:"probed,omitempty"`
	// CalmRuns counts the runs of the agent without faults that are not cells: for baselines,
	// for [NeedCalm], of the state probe, and those that find out whether it repeats itself.
	CalmRuns int `json:"calmRuns,omitempty"`
	// Filtered reports whether [Harness.Around] left out some cells.
	Filtered bool `json:"filtered,omitempty"`
	// Shard is that of the [RunOptions], if the report lacks units of others; the zero value: it
	// lacks none. What it lacks is in no list of cells, and counted as not run.
	Shard Shard `json:"shard,omitzero"`
	// Cancelled reports whether the context ended before all cells had run.
	Cancelled bool `json:"cancelled,omitempty"`
	// AllowInconclusive is that of the [Matrix].
	AllowInconclusive int `json:"allowInconclusive,omitempty"`
	// Warnings are sentences about the run as a whole.
	Warnings []string `json:"warnings,omitempty"`
	// Dropped counts the events that did not fit the logs of the cells' runs.
	Dropped int `json:"dropped,omitempty"`
	// Abandoned counts the cells whose user code was left behind.
	Abandoned int `json:"abandoned,omitempty"`
	// Undecided counts the cells with this field; see [CellReport].
	Undecided int `json:"undecided,omitempty"`

	head    *runHead // that of its run file; nil: it was not made by a run
	ofCells [2]int   // of the warnings: see runEnd
}

// IsPart reports whether cells were left out because that was asked for: by [RunOptions].Shard or
// by [Harness.Around]. The verdict of a part is Fail or Inconclusive, never Pass.
func (r *Report) IsPart() bool { return r.Filtered || r.Shard != (Shard{}) }

// Partial reports whether the report is that of a part in which nothing broke that would fail the
// whole: its verdict is Inconclusive, and is shown as PARTIAL. What a part does not know, such as
// whether a promised rate is kept, is for the whole to judge. A part that decided nothing, or has
// more inconclusive cells than AllowInconclusive, is not partial: it is inconclusive by itself. Nor
// is one that was cancelled, or one of a filter in which a trial of a rate broke that is not decided:
// it is mostly run to see that again. But a shard in which that happened, whose faults were not
// delivered, or that has no unit, is: a merge judges it with the others.
func (r *Report) Partial() bool {
	if !r.IsPart() || r.Cancelled || r.Score.Verdict != scoring.Inconclusive {
		return false
	}
	decided, inconclusive := 0, 0
	for _, c := range r.Counts {
		decided += c.Count * asInt(c.State == Held || c.State == Broken)
		inconclusive += c.Count * asInt(c.State == Inconclusive)
	}
	if r.Filtered && slices.ContainsFunc(r.Fields, Field.brokeAndIsOpen) {
		return false
	}
	return inconclusive <= r.AllowInconclusive && (decided > 0 || !r.Filtered && inconclusive == 0)
}

// A FaultCount counts the faults of one rule over the whole matrix. A run that
// several invariants judged, with [Matrix.ShareObservations], counts once.
type FaultCount struct {
	Scenario string `json:"scenario"`
	Rule     string `json:"rule"`   // its name, or the one that its plan gave it
	Target   string `json:"target"` // its glob
	Fault    string `json:"fault"`  // the kind; empty if the fault does not declare it and was never injected
	// Cells counts the runs of the agent in which the fault was delivered, Delivered the calls
	// on which it was, and Undelivered those on which it was injected without effect.
	Cells       int `json:"cells"`
	Delivered   int `json:"delivered"`
	Undelivered int `json:"undelivered"`
}

// A RepeatCount counts the runs of a scenario that met the same prompts and delivered faults,
// and in which the agent did the same.
type RepeatCount struct {
	Scenario string `json:"scenario"`
	// Runs counts the runs under delivered faults that were equal to an earlier one.
	Runs int `json:"runs,omitempty"`
	// Groups counts the different runs, and Alike is the least number of equal ones; 0: the
	// agent was seen to differ, in two runs of equal prompts whose common calls ended alike.
	Groups int `json:"groups,omitempty"`
	Alike  int `json:"alike,omitempty"`
	// Differ names two runs of one trial that show it; those of two trials may differ by seed.
	Differ string `json:"differ,omitempty"`
}

func (n *RepeatCount) differs() bool { return n.Groups > 0 && n.Alike == 0 }

// RepeatedRuns counts the runs under faults that repeated an earlier one and showed the same.
func (r *Report) RepeatedRuns() (n int) {
	for _, c := range r.Repeats {
		add(&n, c.Runs)
	}
	return n
}

// ReplayOf scores the cells of scenarios that replay sessions, by their names.
//
// Errors are [*FieldError], joined: for a scenario that the report does not have, and for a
// Sequential report, whose fields stop when they break: that biases the share of cells.
func (r *Report) ReplayOf(sessions []Scenario) (scoring.ReplayScore, error) {
	p := fields.List()
	if r.Sequential {
		p.Wrong("Report.Sequential", true, "false: a run of all trials")
	}
	names := make(map[string]bool, len(sessions))
	for i, s := range sessions {
		names[s.Name] = true
		if !slices.Contains(r.Scenarios, s.Name) {
			p.Wrong(fmt.Sprintf("sessions[%d].Name", i), s.Name, "a scenario of the report")
		}
	}
	if err := p.Err(); err != nil {
		return scoring.ReplayScore{}, err
	}
	var cells []scoring.Cell
	for _, c := range r.Counts {
		if names[c.Scenario] {
			cells = append(cells, c)
		}
	}
	return scoring.Replay(cells, &scoring.ContractOptions{SharedObservations: r.SharedObservations})
}

// byScenario is [Report.ByScenario].
func (r *Report) byScenario() *stats.ClusteredShare {
	at := map[string]int{}
	var clusters []stats.Tally
	var most []int // decided trials of a field, by cluster
	for i := range r.Fields {
		f := &r.Fields[i]
		held, decided := f.Held, f.Decided
		if r.Sequential {
			held, decided = 0, 0
			switch f.state() {
			case Held:
				held, decided = 1, 1
			case Broken:
				decided = 1
			}
		}
		if decided == 0 {
			continue
		}
		k, seen := at[f.Scenario]
		if !seen {
			k = len(clusters)
			at[f.Scenario] = k
			clusters, most = append(clusters, stats.Tally{Name: f.Scenario}), append(most, 0)
		}
		c := &clusters[k]
		c.Passed, c.Trials = c.Passed+held, c.Trials+decided
		most[k] = max(most[k], decided)
	}
	if len(clusters) < 2 {
		return nil
	}
	share, err := stats.Clustered(clusters, scoring.Level95)
	if err != nil { // above a billion trials
		return nil
	}
	if r.SharedObservations { // one answer, however many invariants judge it
		observations := 0
		for _, n := range most {
			observations += n
		}
		share = share.Within(observations)
	}
	return &share
}

// A Defect is one way in which the agent breaks, which package contract/search finds behind
// broken cells. It changes neither a cell nor the verdict.
type Defect struct {
	// Sentence says which faults break it, such as "orders.get fails twice in a row".
	Sentence string `json:"sentence"`
	// Severity is the greatest of what it breaks.
	Severity Severity `json:"severity"`
	// Deliveries are the fewest faults that break it, in the order of their calls. None: it
	// breaks without any fault, or no set of faults is known, as Difference says.
	Deliveries []Delivery `json:"deliveries,omitempty"`
	// Breaks are the invariants that it breaks, the most severe first.
	Breaks []Break `json:"breaks,omitempty"`
	// Facts are sentences that were read off runs and events, such as "when it only fails,
	// it holds".
	Facts []string `json:"facts,omitempty"`
	// Rerun is the command line that repeats it; empty: there is none.
	Rerun string `json:"rerun,omitempty"`
	// Cut reports whether a budget ended the search for fewer or milder faults.
	Cut bool `json:"cut,omitempty"`
	// Difference is where two runs under the same faults first differed; empty: they did not.
	Difference string `json:"difference,omitempty"`
	// Broke and Runs are how many runs under these faults broke, of how many, and Rate is
	// the interval of that share. A defect of a repeatable agent has none of them.
	Broke int               `json:"broke,omitempty"`
	Runs  int               `json:"runs,omitempty"`
	Rate  *scoring.Interval `json:"rate,omitempty"`
	// Unconfirmed reports whether these runs did not break often enough to be sure.
	Unconfirmed bool `json:"unconfirmed,omitempty"`
	// Cure is what would mend it; nil: that was not searched for.
	Cure *Cure `json:"cure,omitempty"`
}

// A Break is an invariant that a [Defect] breaks, at its targets. Where these differ, it has an
// entry for each.
type Break struct {
	// ID is that of the file that keeps the defect for this invariant: 8 hexadecimal
	// digits. Empty: it is not kept.
	ID        string   `json:"id,omitempty"`
	Invariant string   `json:"invariant"`
	Severity  Severity `json:"severity"`
	// Why is the reason in the first of its cells.
	Why string `json:"why"`
	// Cells are the broken cells of the report that met the faults of the defect, and those of
	// no other defect that is counted before.
	Cells []Cell `json:"cells,omitempty"`
	// At names the targets of the faults in these cells, where the sentence names others or a
	// choice of several.
	At []string `json:"at,omitempty"`
}

// A Delivery is one rule whose fault was delivered on one call.
type Delivery struct {
	Rule   string `json:"rule"`
	Fault  string `json:"fault"` // the kind
	Target string `json:"target"`
	Lane   string `json:"lane,omitempty"`
	// The coordinates of the call, as in [chaos.Event].
	Key        uint64 `json:"key,string"`
	Occurrence uint64 `json:"occurrence,string"`
	Ordinal    uint64 `json:"ordinal,string"`
	Attempt    int    `json:"attempt"`
}

// A GoalCount counts the runs in which a [Goal] was reached.
type GoalCount struct {
	Goal string `json:"goal"`
	// Scenarios are those in whose cells it may be reached; none: all.
	Scenarios []string `json:"scenarios,omitempty"`
	// Cells is the number of runs of the agent in which it was reached, of Of runs.
	Cells int `json:"cells"`
	Of    int `json:"of"`
	// Failed is how its function failed, as by a panic; empty: it did not.
	Failed string `json:"failed,omitempty"`
}

// A CoverCount counts the calls on which faults were delivered, over the whole matrix.
type CoverCount struct {
	Target string `json:"target"`
	// Fault is the kind. Empty: the target is a tool of a world on which no fault was
	// delivered, in a matrix with rules whose cells all ran.
	Fault string `json:"fault"`
	// Try is that of the calls: 1, 2, or 3 for any later one; 0 without a fault. It is
	// [chaos.WithAttempt]'s, else 1 plus the directly preceding tries that failed.
	Try       int `json:"try"`
	Delivered int `json:"delivered"`
	// Uncalled reports whether no cell called the tool.
	Uncalled bool `json:"uncalled,omitempty"`
}

// Reached reports whether the goal was reached in a cell, and its function never failed.
func (g *GoalCount) Reached() bool { return g.Cells > 0 && g.Failed == "" }

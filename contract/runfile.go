package contract

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/scoring"
)

// A run file has a run of a matrix as JSON Lines: a head, a line for each unit, and an end. A
// unit is the cells of one scenario and trial. The head has what the fold reads and no unit
// has, and the end has the report without its cells. Each line ends with a sum of itself.

const (
	runFileKind    = "run"
	runFileVersion = 1
)

// A runHead is the first line.
type runHead struct {
	Shakedown string `json:"shakedown"`
	Version   int    `json:"version"`
	Run       string `json:"run,omitempty"`   // an id; absent with Stable, and of a report without RunOptions.File
	Build     string `json:"build,omitempty"` // of the program that ran; absent as Run is
	Shard     string `json:"shard,omitempty"` // such as 2/8, whose units they are; absent: it lacks none of others
	Library   string `json:"library"`
	Go        string `json:"go"`
	// Facts reports whether units have what each run showed. Without it, what a report
	// counts of runs is read from the end, because nothing is there to count it from.
	Facts bool `json:"facts"`
	// Cells reports whether there are units: a report with KeepCounts has none.
	Cells bool `json:"cells"`

	Name              string            `json:"name,omitempty"`
	Seed              uint64            `json:"seed,string"`
	Trials            int               `json:"trials"`
	Shared            bool              `json:"shared,omitempty"`
	Sequential        bool              `json:"sequential,omitempty"`
	Budget            *headBudget       `json:"budget,omitempty"`
	AllowInconclusive int               `json:"allowInconclusive,omitempty"`
	Probed            bool              `json:"probed,omitempty"`
	Rerun             string            `json:"rerun,omitempty"` // Harness.Rerun
	Fingerprint       *Fingerprint      `json:"fingerprint,omitempty"`
	Tools             map[string]string `json:"tools,omitempty"`
	Scenarios         []headScenario    `json:"scenarios"`
	Invariants        []headInvariant   `json:"invariants"`
	Goals             []headGoal        `json:"goals,omitempty"`
}

type headBudget struct {
	Trials int           `json:"trials,omitempty"`
	Time   time.Duration `json:"timeNs,omitempty"`
	Cost   float64       `json:"cost,omitempty"`
}

type headScenario struct {
	Name             string      `json:"name"`
	Rules            []headRule  `json:"rules,omitempty"`
	Worlds           int         `json:"worlds,omitempty"` // a number that scenarios with worlds of one source have
	Rewrites         bool        `json:"rewrites,omitempty"`
	AllowUndelivered bool        `json:"allowUndelivered,omitempty"`
	Layer            chaos.Layer `json:"layer,omitempty"`
	// Questions are the numbers of what the invariants ask that apply, in order: equal ones
	// are prompts and worlds that are equal. Absent: all are 0.
	Questions []int `json:"questions,omitempty"`
}

type headRule struct {
	Name   string `json:"name"`
	Target string `json:"target"`
	Fault  string `json:"fault"` // the kind; empty if the fault does not declare it
	// Unmet reports whether the target matches no tool and no declared point. Nearest is their nearest name.
	Unmet   bool   `json:"unmet,omitempty"`
	Nearest string `json:"nearest,omitempty"`
}

type headInvariant struct {
	Name     string   `json:"name"`
	Severity Severity `json:"severity"`
	AtLeast  float64  `json:"atLeast,omitempty"`
	Poor     float64  `json:"poor,omitempty"`
	// Scenarios are those in which it applies; absent: all.
	Scenarios []string `json:"scenarios,omitzero"`
}

type headGoal struct {
	Name      string   `json:"name"`
	Scenarios []string `json:"scenarios,omitempty"`
}

// A runUnit is the line of a scenario and trial. Its lists Delivered and Elapsed have an element
// for each cell of States, or one if all are equal; none: all are 0.
type runUnit struct {
	Unit string `json:"unit"` // scenario/trial
	// States has a letter for each invariant of the matrix; see letterOf.
	States    string  `json:"states"`
	Delivered []int   `json:"delivered,omitempty"`
	Elapsed   []int64 `json:"elapsedNs,omitempty"`
	// Runs has an element for each cell of which a run was made, or a judge ruled.
	Runs []*cellNotes `json:"runs,omitempty"`
	// Cells has, by invariant, the unitCell of each cell that has any member.
	Cells map[string]json.RawMessage `json:"cells,omitempty"`
	Ms    int64                      `json:"ms,omitempty"` // the real time of its cells; no report has it
}

// A unitCell is the report of a cell without what the rest of its unit's line says, so that a
// new member of CellReport is in the file without further ado.
type unitCell struct {
	*bareCell
	Cell      hidden `json:"cell,omitempty"`
	Severity  hidden `json:"severity,omitempty"`
	State     hidden `json:"state,omitempty"`
	Violated  hidden `json:"broke,omitempty"`
	Delivered hidden `json:"delivered,omitempty"`
	Elapsed   hidden `json:"elapsedNs,omitempty"`
}

type (
	bareCell CellReport
	hidden   = *struct{}
)

// A runEnd is the last line: the report without its cells.
type runEnd struct {
	End  bool `json:"end"`
	Part bool `json:"part,omitempty"` // it lacks units of its matrix
	// OfCells are the first of the warnings that follow from the cells, and the first behind them: whoever has the
	// cells makes them again.
	OfCells [2]int `json:"warningsOfCells,omitzero"`
	*bareReport
	Cells hidden `json:"cells,omitempty"`
}

type bareReport Report

// The letters of states. Those of cells are in the order of CellState.
const (
	stateLetters = "nhbiu"
	unprovoked   = 'U' // undelivered, and broken all the same
	notNeeded    = 's' // saved, or the run ended before
	doesNotApply = '-'
)

func letterOf(c *CellReport) byte {
	if c.State == Undelivered && c.Violated {
		return unprovoked
	}
	return stateLetters[min(c.State, Undelivered)]
}

// stateOf is the inverse of letterOf. ok is false for another letter.
func stateOf(letter byte) (state CellState, violated, ok bool) {
	if letter == unprovoked {
		return Undelivered, true, true
	}
	at := strings.IndexByte(stateLetters, letter)
	return CellState(max(at, 0)), CellState(at) == Broken, at >= 0
}

func (s *headScenario) injects() bool { return len(s.Rules) > 0 || s.Rewrites }

func (s *headScenario) calm() bool { return !s.injects() && s.Layer == "" }

func (h *runHead) scenarioNames() (names []string) {
	for i := range h.Scenarios {
		names = append(names, h.Scenarios[i].Name)
	}
	return names
}

// askedIn names the scenarios in which an invariant applies.
func (inv *headInvariant) askedIn(h *runHead) []string {
	if inv.Scenarios == nil {
		return h.scenarioNames()
	}
	return inv.Scenarios
}

// rerunLine is the line that repeats a cell, where the outcome is worth one; see [Harness.Rerun].
func rerunLine(pattern string, c *CellReport) string {
	if pattern == "" || c.State == Held || c.State == NotRun {
		return ""
	}
	all := make([]string, 0, 12)
	for _, part := range [][2]string{{"{scenario}", c.Cell.Scenario}, {"{invariant}", c.Cell.Invariant},
		{"{trial}", strconv.Itoa(c.Cell.Trial)}} {
		all = append(all, "^"+part[0]+"$", "^"+regexp.QuoteMeta(part[1])+"$", part[0], part[1])
	}
	return strings.NewReplacer(all...).Replace(pattern)
}

func (e *engine) newHead() *runHead {
	h := newRunHead()
	h.Facts, h.Cells, h.Rerun = true, true, text.Valid(e.o.Harness.Rerun)
	h.Name, h.Seed, h.Trials, h.Shared = text.Valid(e.m.Name), e.m.Seed, e.m.trials(), e.m.ShareObservations
	h.Sequential, h.AllowInconclusive, h.Shard = e.o.Sequential, e.m.AllowInconclusive, e.o.Shard.String()
	if b := &e.o.Budget; b.set() {
		h.Budget = &headBudget{b.Trials, b.Time, b.Cost}
	}
	h.Fingerprint, h.Tools = e.m.fingerprint(e.scenarios), e.toolHashes()
	for i := range e.m.Invariants {
		inv := &e.m.Invariants[i]
		h.Invariants = append(h.Invariants,
			headInvariant{Name: inv.Name, Severity: inv.Severity, AtLeast: inv.promised(), Poor: inv.poor()})
	}
	type question struct {
		source  *worldSource
		prompts string
	}
	questions := map[question]int{}
	for _, s := range e.scenarios {
		own := headScenario{Name: s.Name, Rewrites: s.Rewrite != nil, AllowUndelivered: s.AllowUndelivered,
			Layer: s.Layer, Worlds: slices.Index(e.sources, s.source)}
		for _, r := range s.plan.Rules() {
			own.Rules = append(own.Rules, s.source.headRule(r))
		}
		for _, p := range s.invariants {
			q := question{p.list.source, p.list.spelled}
			n, known := questions[q]
			if !known {
				n = len(questions)
				questions[q] = n
			}
			own.Questions = append(own.Questions, n)
			h.Invariants[p.index].Scenarios = append(h.Invariants[p.index].Scenarios, s.Name)
		}
		if !slices.ContainsFunc(own.Questions, func(n int) bool { return n > 0 }) {
			own.Questions = nil
		}
		h.Scenarios = append(h.Scenarios, own)
	}
	for i := range h.Invariants {
		if inv := &h.Invariants[i]; len(inv.Scenarios) == len(e.scenarios) {
			inv.Scenarios = nil
		}
	}
	for _, g := range e.m.Goals {
		h.Goals = append(h.Goals, headGoal{g.Name, slices.Clone(g.Scenarios)})
	}
	return h
}

func (s *worldSource) headRule(r chaos.Rule) headRule {
	h := headRule{Name: text.Valid(r.Name), Target: text.Valid(r.Target), Fault: text.Valid(kindOf(r.Fault))}
	h.Unmet = slices.ContainsFunc(s.unmet, func(target *glob.Glob) bool { return target.String() == r.Target })
	if h.Unmet {
		h.Nearest = text.Valid(text.Nearest(r.Target, s.known))
	}
	return h
}

func newRunHead() *runHead {
	return &runHead{Shakedown: runFileKind, Version: runFileVersion, Library: libraryVersion(), Go: runtime.Version()}
}

func libraryVersion() string {
	const module = "github.com/shakedown-go/shakedown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range append([]*debug.Module{&info.Main}, info.Deps...) {
			if d.Path == module && d.Version != "" && d.Version != "(devel)" {
				return d.Version
			}
		}
	}
	return "development"
}

// headOrMade is a copy of the report's head, or one made of its lists and cells.
func (r *Report) headOrMade() (*runHead, error) {
	h := newRunHead()
	if r.head != nil {
		*h = *r.head
	} else {
		r.makeHead(h)
	}
	h.Cells, h.Shard = len(r.Cells) > 0 || len(r.Counts) == 0, r.Shard.String()
	return h, h.check()
}

// makeHead makes the head of a report that no run made: a scenario then has faults if one was
// delivered in it, or was not in a cell that says so.
func (r *Report) makeHead(h *runHead) {
	h.Name, h.Seed, h.Trials, h.Shared = r.Name, r.Seed, max(r.Trials, 1), r.SharedObservations
	h.Sequential, h.AllowInconclusive, h.Probed = r.Sequential, r.AllowInconclusive, r.StateProbed
	h.Fingerprint, h.Tools = r.Fingerprint, r.Tools
	for _, name := range r.Scenarios {
		h.Scenarios = append(h.Scenarios, headScenario{Name: name})
	}
	for _, name := range r.Invariants {
		h.Invariants = append(h.Invariants, headInvariant{Name: name, Severity: scoring.Low, Scenarios: []string{}})
	}
	asks := func(f Field) *headScenario {
		k := slices.Index(r.Invariants, f.Invariant)
		if k >= 0 && !slices.Contains(h.Invariants[k].Scenarios, f.Scenario) {
			inv := &h.Invariants[k]
			inv.Severity, inv.AtLeast, inv.Poor = f.Severity, f.AtLeast, f.Poor
			inv.Scenarios = append(inv.Scenarios, f.Scenario)
		}
		if i := slices.Index(r.Scenarios, f.Scenario); i >= 0 {
			return &h.Scenarios[i]
		}
		return new(headScenario) // its cells are refused
	}
	for i := range r.Fields {
		asks(r.Fields[i])
	}
	for _, f := range r.Faults {
		s := asks(Field{Scenario: f.Scenario})
		s.Rules = append(s.Rules, headRule{Name: f.Rule, Target: f.Target, Fault: f.Fault})
	}
	for _, c := range r.Counts {
		s := asks(Field{Scenario: c.Scenario})
		s.AllowUndelivered, s.Rewrites = c.AllowUndelivered, c.HasRules && len(s.Rules) == 0
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		s := asks(Field{Scenario: c.Cell.Scenario, Invariant: c.Cell.Invariant, Severity: c.Severity})
		s.Layer = c.Layer
		s.Rewrites = s.Rewrites ||
			r.Counts == nil && len(s.Rules) == 0 && (c.Delivered > 0 || c.State == Undelivered)
	}
	for _, g := range r.Goals {
		h.Goals = append(h.Goals, headGoal{g.Goal, g.Scenarios})
	}
}

// shard is the zero value for all units, and for a text that is no shard.
func (h *runHead) shard() (s Shard) {
	_ = s.UnmarshalText([]byte(h.Shard)) // check has the error
	return s
}

// mostFields bounds the fields of a file: they take memory, and a short head can name many.
const mostFields = 4_000_000

func (h *runHead) check() error {
	p := fields.ListUpTo(20)
	p.Demand(h.Trials >= 1 && h.Trials <= maxCells, "head.trials", h.Trials, fmt.Sprintf("1 to %d", maxCells))
	if n := len(h.Scenarios) * len(h.Invariants); n > mostFields {
		p.Wrong("head", fielderror.Found(fmt.Sprintf("%d fields", n)), fmt.Sprintf("at most %d", mostFields))
	}
	seen := map[[2]string]bool{} // kind and name
	once := func(kind, name, field string, args ...any) {
		if seen[[2]string{kind, name}] {
			p.Wrongf("each name once", name, field, args...)
		}
		seen[[2]string{kind, name}] = true
	}
	for i := range h.Scenarios {
		s := &h.Scenarios[i]
		once("scenario", s.Name, "head.scenarios[%d]", i)
		for k, r := range s.Rules {
			once("rule of "+s.Name, r.Name, "head.scenarios[%d].rules[%d]", i, k)
		}
	}
	asked := map[string]int{} // invariants that name the scenario; "": that name none, and apply in all
	for i := range h.Invariants {
		inv, field := &h.Invariants[i], fmt.Sprintf("head.invariants[%d]", i)
		once("invariant", inv.Name, "head.invariants[%d]", i)
		p.Demand(inv.Severity.Weight() > 0, field+".severity", inv.Severity, "low, medium, high, critical")
		own := Invariant{AtLeast: inv.AtLeast, Poor: inv.Poor}
		own.checkRate(p, field)
		p.Demand(inv.AtLeast != 1 && (!own.IsRate() || inv.Poor != 0), field+".atLeast", inv.AtLeast,
			"a rate with its poor, or none for every trial")
		asked[""] += asInt(inv.Scenarios == nil)
		kind := "scenario of " + inv.Name
		for k, s := range inv.Scenarios {
			asked[s]++
			once(kind, s, "%s.scenarios[%d]", field, k)
			if !seen[[2]string{"scenario", s}] {
				p.Wrongf("a scenario of the head", s, "%s.scenarios[%d]", field, k)
			}
		}
	}
	for i := range h.Scenarios {
		s := &h.Scenarios[i]
		if q, n := len(s.Questions), asked[""]+asked[s.Name]; q != 0 && q != n {
			p.Wrongf(fmt.Sprintf("one for each of the %d invariants that apply", n),
				fielderror.Found(strconv.Itoa(q)), "head.scenarios[%d].questions", i)
		}
	}
	p.Demand(h.Shard == "" || h.shard().Count > 0, "head.shard", h.Shard, wantShard)
	if h.Fingerprint != nil {
		p.Add(h.Fingerprint.Check())
	}
	return p.Err()
}

// The sum of a line is its last member: eight bytes of the SHA-256 of the line before it.
const (
	sumBegin = `,"sum":"`
	sumEnd   = `"}`
	sumBytes = 8
)

func sumOf(line []byte) string {
	sum := sha256.Sum256(line)
	return base64.RawStdEncoding.EncodeToString(sum[:sumBytes])
}

// writeLine writes an object with its sum.
func writeLine(w io.Writer, object any) error {
	line, err := encodeLine(object)
	if err == nil {
		_, err = w.Write(line)
	}
	if err != nil {
		return fmt.Errorf("contract: run file: %w", err)
	}
	return nil
}

func encodeLine(object any) ([]byte, error) {
	line, err := jsonedit.Marshal(object)
	if err != nil {
		return nil, err
	}
	line = line[:len(line)-1]
	return append(line, sumBegin+sumOf(line)+sumEnd+"\n"...), nil
}

// withoutSum is the object of a line, whose sum must fit.
func withoutSum(line []byte) ([]byte, error) {
	line = bytes.TrimSuffix(line, []byte("\n"))
	cut := len(line) - len(sumBegin) - base64.RawStdEncoding.EncodedLen(sumBytes) - len(sumEnd)
	if cut < 0 || string(line[cut:]) != sumBegin+sumOf(line[:cut])+sumEnd {
		return nil, fields.Wrong("sum", fielderror.Found("another or none"),
			"that of the line, which was changed or cut")
	}
	return append(slices.Clone(line[:cut]), '}'), nil
}

// decodeStrictly reads an object. A member that is not known is of a later version.
func decodeStrictly(text []byte, object any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	d.UseNumber()
	err := d.Decode(object)
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = errors.New("more than one value")
		}
	}
	if err != nil {
		return fields.Because("", nil, err, "")
	}
	return nil
}

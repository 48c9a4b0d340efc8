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
	Shard     string `json:"shard,omitempty"` // such as 2/8; absent: all units
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

// question is the number of what the at-th invariant asks.
func (s *headScenario) question(at int) int {
	if len(s.Questions) == 0 {
		return 0
	}
	return s.Questions[at]
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

// newHead is the head of the file of a run.
func (e *engine) newHead() *runHead {
	h := newRunHead()
	h.Facts, h.Cells, h.Rerun = true, true, text.Valid(e.o.Harness.Rerun)
	h.Name, h.Seed, h.Trials, h.Shared = text.Valid(e.m.Name), e.m.Seed, e.m.trials(), e.m.ShareObservations
	h.Sequential, h.AllowInconclusive, h.Probed = e.o.Sequential, e.m.AllowInconclusive, e.probed
	if b := &e.o.Budget; b.set() {
		h.Budget = &headBudget{b.Trials, b.Time, b.Cost}
	}
	h.Fingerprint, h.Tools = e.m.fingerprint(e.scenarios), e.toolHashes()
	applies := make([][]string, len(e.m.Invariants))
	for i, asked := range e.numberQuestions() {
		s := e.scenarios[i]
		own := headScenario{Name: s.Name, Rewrites: s.Rewrite != nil, AllowUndelivered: s.AllowUndelivered,
			Layer: s.Layer}
		if slices.ContainsFunc(asked, func(n int) bool { return n > 0 }) {
			own.Questions = asked
		}
		for _, r := range s.plan.Rules() {
			own.Rules = append(own.Rules,
				headRule{text.Valid(r.Name), text.Valid(r.Target), text.Valid(kindOf(r.Fault))})
		}
		for _, p := range s.invariants {
			applies[p.index] = append(applies[p.index], s.Name)
		}
		h.Scenarios = append(h.Scenarios, own)
	}
	for i := range e.m.Invariants {
		inv := &e.m.Invariants[i]
		own := headInvariant{Name: inv.Name, Severity: inv.Severity, AtLeast: inv.promised(), Poor: inv.poor()}
		if len(applies[i]) < len(e.scenarios) {
			own.Scenarios = applies[i]
		}
		h.Invariants = append(h.Invariants, own)
	}
	for _, g := range e.m.Goals {
		h.Goals = append(h.Goals, headGoal{g.Name, slices.Clone(g.Scenarios)})
	}
	return h
}

// numberQuestions gives each scenario the numbers of what its invariants ask: prompts and the
// source of worlds. Equal numbers are equal questions.
func (e *engine) numberQuestions() (all [][]int) {
	type question struct {
		source  *worldSource
		prompts string
	}
	numbers, questions := map[*promptList]int{}, map[question]int{}
	for _, s := range e.scenarios {
		var own []int
		for _, p := range s.invariants {
			n, known := numbers[p.list]
			if !known {
				q := question{p.list.source, fmt.Sprintf("%q", p.list.prompts)}
				if n, known = questions[q]; !known {
					n = len(questions)
					questions[q] = n
				}
				numbers[p.list] = n
			}
			own = append(own, n)
		}
		all = append(all, own)
	}
	return all
}

func newRunHead() *runHead {
	return &runHead{Shakedown: runFileKind, Version: runFileVersion, Library: libraryVersion(), Go: runtime.Version()}
}

// libraryVersion is the version of this module in the running program.
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

// headOrMade is a copy of the report's head. For a report that no run made it is made of its
// lists and cells: a scenario then has faults if one was delivered in it, or was not in a cell
// that says so.
func (r *Report) headOrMade() (*runHead, error) {
	h := newRunHead()
	if r.head != nil {
		*h = *r.head
		h.Cells = len(r.Cells) > 0 || len(r.Counts) == 0
		return h, h.check()
	}
	h.Cells = len(r.Cells) > 0 || len(r.Counts) == 0
	h.Name, h.Seed, h.Trials, h.Shared = r.Name, r.Seed, max(r.Trials, 1), r.SharedObservations
	h.Sequential, h.AllowInconclusive, h.Probed = r.Sequential, r.AllowInconclusive, r.StateProbed
	h.Fingerprint, h.Tools = r.Fingerprint, r.Tools
	scenarios, invariants := map[string]*headScenario{}, map[string]*headInvariant{}
	h.Scenarios, h.Invariants = make([]headScenario, len(r.Scenarios)), make([]headInvariant, len(r.Invariants))
	for i, name := range r.Scenarios {
		h.Scenarios[i].Name, scenarios[name] = name, &h.Scenarios[i]
	}
	for i, name := range r.Invariants {
		h.Invariants[i] = headInvariant{Name: name, Severity: scoring.Low, Scenarios: []string{}}
		invariants[name] = &h.Invariants[i]
	}
	asks := func(f Field) (*headScenario, *headInvariant) {
		s, inv := scenarios[f.Scenario], invariants[f.Invariant]
		if s == nil {
			s = new(headScenario) // unitsOf refuses its cells
		}
		if inv != nil && !slices.Contains(inv.Scenarios, f.Scenario) {
			inv.Severity, inv.AtLeast, inv.Poor = f.Severity, f.AtLeast, f.Poor
			inv.Scenarios = append(inv.Scenarios, f.Scenario)
		}
		return s, inv
	}
	for i := range r.Fields {
		asks(r.Fields[i])
	}
	for _, f := range r.Faults {
		s, _ := asks(Field{Scenario: f.Scenario})
		s.Rules = append(s.Rules, headRule{f.Rule, f.Target, f.Fault})
	}
	for _, c := range r.Counts {
		s, _ := asks(Field{Scenario: c.Scenario})
		s.AllowUndelivered, s.Rewrites = c.AllowUndelivered, c.HasRules && len(s.Rules) == 0
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		s, _ := asks(Field{Scenario: c.Cell.Scenario, Invariant: c.Cell.Invariant, Severity: c.Severity})
		s.Layer = c.Layer
		s.Rewrites = s.Rewrites ||
			r.Counts == nil && len(s.Rules) == 0 && (c.Delivered > 0 || c.State == Undelivered)
	}
	for _, g := range r.Goals {
		h.Goals = append(h.Goals, headGoal{g.Goal, g.Scenarios})
	}
	return h, h.check()
}

// mostFields bounds the fields of a file: they take memory, and a short head can name many.
const mostFields = 4_000_000

// check returns what is wrong with a head.
func (h *runHead) check() error {
	p := fields.ListUpTo(20)
	if h.Trials < 1 || h.Trials > maxCells {
		p.Wrong("head.trials", h.Trials, fmt.Sprintf("1 to %d", maxCells))
	}
	if n := len(h.Scenarios) * len(h.Invariants); n > mostFields {
		p.Wrong("head", fielderror.Found(fmt.Sprintf("%d fields", n)), fmt.Sprintf("at most %d", mostFields))
	}
	once := func(field, name string, seen map[string]bool) {
		if seen[name] {
			p.Wrong(field, name, "each name once")
		}
		seen[name] = true
	}
	scenarios, invariants := map[string]bool{}, map[string]bool{}
	for i := range h.Scenarios {
		once(fmt.Sprintf("head.scenarios[%d]", i), h.Scenarios[i].Name, scenarios)
		rules := map[string]bool{}
		for k, r := range h.Scenarios[i].Rules {
			once(fmt.Sprintf("head.scenarios[%d].rules[%d]", i, k), r.Name, rules)
		}
	}
	for i := range h.Invariants {
		inv, field := &h.Invariants[i], fmt.Sprintf("head.invariants[%d]", i)
		once(field, inv.Name, invariants)
		if inv.Severity.Weight() == 0 {
			p.Wrong(field+".severity", inv.Severity, "low, medium, high, critical")
		}
		own := Invariant{AtLeast: inv.AtLeast, Poor: inv.Poor}
		own.checkRate(p, field)
		if inv.AtLeast == 1 || own.IsRate() && inv.Poor == 0 {
			p.Wrong(field+".atLeast", inv.AtLeast, "a rate with its poor, or none for every trial")
		}
		for k, s := range inv.Scenarios {
			if !scenarios[s] {
				p.Wrong(fmt.Sprintf("%s.scenarios[%d]", field, k), s, "a scenario of the head")
			}
		}
	}
	if p.Count() == 0 {
		for i, places := range h.placesOfInvariants() {
			n := len(places) - len(slices.DeleteFunc(places, func(at int) bool { return at >= 0 }))
			if q := len(h.Scenarios[i].Questions); q != 0 && q != n {
				p.Wrong(fmt.Sprintf("head.scenarios[%d].questions", i), fielderror.Found(strconv.Itoa(q)),
					fmt.Sprintf("one for each of the %d invariants that apply", n))
			}
		}
	}
	if h.Fingerprint != nil {
		p.Add(h.Fingerprint.Check())
	}
	return p.Err()
}

// placesOf are the places of names in a list.
func placesOf(names []string) map[string]int {
	at := make(map[string]int, len(names))
	for i, name := range names {
		at[name] = i
	}
	return at
}

// placesOfInvariants has, for each scenario and invariant, its place among those that apply; -1:
// it does not.
func (h *runHead) placesOfInvariants() [][]int {
	only := make([]map[string]int, len(h.Invariants))
	for k := range h.Invariants {
		only[k] = placesOf(h.Invariants[k].Scenarios)
	}
	all := make([][]int, len(h.Scenarios))
	for i := range h.Scenarios {
		n := 0
		for k := range h.Invariants {
			at := -1
			if _, named := only[k][h.Scenarios[i].Name]; named || h.Invariants[k].Scenarios == nil {
				at, n = n, n+1
			}
			all[i] = append(all[i], at)
		}
	}
	return all
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
	line, err := encodeText(object)
	if err != nil {
		return nil, err
	}
	line = line[:len(line)-1]
	return append(line, sumBegin+sumOf(line)+sumEnd+"\n"...), nil
}

// encodeText is JSON in which <, > and & stand as they are.
func encodeText(object any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(object)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
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

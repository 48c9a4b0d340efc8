package report

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// Compact writes a report in the form in which it is kept: as the baseline of a later
// comparison, or as a file to sign. It has the fingerprint of the matrix, the tools with
// hashes of their schemas, the delivered faults, the counts of each field, the score, the
// verdict, and the state of each trial as a letter: h held, b broken, i inconclusive, u
// undelivered, U undelivered and broken all the same, n not run, - not in the report. It
// has no prompts, answers, arguments or reasons, and how a function of a goal failed is
// not said. It also states the versions of the library and of Go of the running program.
// [Verify] reads it; in [Schema] it is $defs/compactReport.
//
// The last member is the SHA-256 of the file with that member empty. It notices accidents
// and not forgers, who compute a new one: sign the file against those.
//
// A report without cells ([contract.KeepCounts]) is written without the states of trials,
// each field as "?". A trial takes one byte, a field about ten more and the
// row of a rule about 150: 10⁵ cells of 20 trials a field are some 200 KiB.
//
// Errors: [*FieldError], joined, for a nil report and one that contradicts itself, before
// anything is written; and those of the writer.
func Compact(w io.Writer, r *contract.Report) error {
	return compactAs(w, r, version(), runtime.Version())
}

func compactAs(w io.Writer, r *contract.Report, library, goVersion string) error {
	file, err := compactOf(r)
	if err != nil {
		return err
	}
	file.Library, file.Go = library, goVersion
	text := file.encode()
	_, err = w.Write(text)
	return written(err)
}

// compactFormat names the form and its version.
const compactFormat = "shakedown-compact-1"

// A compactFile is what Compact writes.
type compactFile struct {
	Format            string                 `json:"format"`
	Library           string                 `json:"library"`
	Go                string                 `json:"go"`
	Name              string                 `json:"name,omitempty"`
	Seed              uint64                 `json:"seed,string"`
	Trials            int                    `json:"trials"`
	Fingerprint       *contract.Fingerprint  `json:"fingerprint,omitempty"`
	Tools             map[string]string      `json:"tools,omitempty"`
	Faults            []contract.FaultCount  `json:"faults,omitempty"`
	Repeatable        string                 `json:"repeatable"`
	Repeats           []contract.RepeatCount `json:"repeats,omitempty"`
	Defects           []compactDefect        `json:"defects,omitempty"`
	Goals             []contract.GoalCount   `json:"goals,omitempty"`
	Shared            bool                   `json:"shared,omitempty"`
	Sequential        bool                   `json:"sequential,omitempty"`
	Filtered          bool                   `json:"filtered,omitempty"`
	Cancelled         bool                   `json:"cancelled,omitempty"`
	AllowInconclusive int                    `json:"allowInconclusive,omitempty"`
	Saved             int                    `json:"saved,omitempty"`
	Invariants        []compactInvariant     `json:"invariants"`
	Scenarios         []compactScenario      `json:"scenarios"`
	Rates             []compactRate          `json:"rates,omitempty"`
	Score             scoring.ContractScore  `json:"score"`
	ByScenario        *stats.ClusteredShare  `json:"byScenario,omitempty"`
	SHA256            string                 `json:"sha256"`
}

type compactDefect struct {
	Sentence string            `json:"sentence"`
	Severity contract.Severity `json:"severity"`
}

type compactInvariant struct {
	Name     string            `json:"name"`
	Severity contract.Severity `json:"severity,omitzero"` // absent: it applies nowhere
	AtLeast  float64           `json:"atLeast,omitempty"`
	Poor     float64           `json:"poor,omitempty"`
}

// A compactScenario has its fields in the order of the invariants.
type compactScenario struct {
	Name             string `json:"name"`
	Rules            bool   `json:"rules,omitempty"`
	AllowUndelivered bool   `json:"allowUndelivered,omitempty"`
	// Counts are the numbers of a field: held, broken, inconclusive, undelivered, those
	// among the undelivered that broke all the same, and not run. Zeros at the end are left
	// out.
	Counts [][]int `json:"counts"`
	// States has a letter for each trial, in order, without those at the end that the
	// report does not have. "": the invariant does not apply. "-": no trial was made. "?": the
	// states were not kept.
	States []string `json:"states"`
	// Copies has for each field the decided trials that held without copies, all of them without
	// copies, and 1 if a promised rate is not judged for that; none for a field without copies.
	// nil: no field has any.
	Copies [][]int `json:"copies,omitempty"`

	reached bool // faults were delivered in inconclusive cells
}

// A compactRate is the decision on a promised rate.
type compactRate struct {
	Scenario     string         `json:"scenario"`
	Invariant    string         `json:"invariant"`
	Decision     stats.Decision `json:"decision"`
	DecidedAfter int            `json:"decidedAfter,omitempty"`
	HeldThen     int            `json:"heldThen,omitempty"`
}

const (
	noTrial    = '-'
	unprovoked = 'U'
	notKept    = "?"
	letters    = "nhbiu" // by contract.CellState
)

// notTried is the Repeatable of a report whose repetition was not tried.
const notTried = "not tried"

func compactOf(r *contract.Report) (*compactFile, error) {
	if err := check(r); err != nil {
		return nil, err
	}
	own := *r
	if len(own.Counts) == 0 {
		own.Counts = countCells(r.Cells, rulesOf(r))
	}
	own.Goals = withoutFailures(r.Goals)
	if err := own.Judge(); err != nil && !errors.Is(err, scoring.ErrNoneRan) &&
		!errors.Is(err, scoring.ErrNoDecidedCell) {
		return nil, fields.Because("report", fielderror.Found("not to be judged"), err, "")
	}
	p := problems{fields.ListUpTo(maxProblems)}
	p.score(r.Score, own.Score)
	p.Demand(r.Trials >= 1, "trials", r.Trials, "1 or more")
	p.Demand(r.Repeatable == "" || r.Repeatable == "yes" || r.Repeatable == "no", "repeatable", r.Repeatable,
		"yes, no, or empty")
	f := &compactFile{Format: compactFormat, Name: r.Name, Seed: r.Seed, Trials: r.Trials, Fingerprint: r.Fingerprint,
		Tools: r.Tools, Faults: r.Faults, Repeatable: cmp.Or(r.Repeatable, notTried),
		Repeats: r.Repeats, Goals: own.Goals,
		Shared: r.SharedObservations, Sequential: r.Sequential, Filtered: r.Filtered, Cancelled: r.Cancelled,
		AllowInconclusive: r.AllowInconclusive, Saved: own.Saved, Score: own.Score, ByScenario: own.ByScenario}
	for i := range r.Defects {
		f.Defects = append(f.Defects, compactDefect{r.Defects[i].Sentence, r.Defects[i].Severity})
	}
	t := newCompactTable(p, &own)
	t.fields(own.Fields)
	t.counts(own.Counts)
	t.states(own.Cells)
	f.Invariants, f.Scenarios, f.Rates = t.invariants, t.scenarios, t.rates
	return f, p.Err()
}

// withoutFailures are goals without what their functions said.
func withoutFailures(goals []contract.GoalCount) (own []contract.GoalCount) {
	for _, g := range goals {
		if g.Failed != "" {
			g.Failed = "its function failed"
		}
		own = append(own, g)
	}
	return own
}

// A compactTable puts fields into the places of scenarios and invariants.
type compactTable struct {
	problems
	trials     int
	kept       bool // the states of trials are known
	scenario   map[string]int
	invariant  map[string]int
	invariants []compactInvariant
	scenarios  []compactScenario
	rates      []compactRate
}

func newCompactTable(p problems, r *contract.Report) *compactTable {
	t := &compactTable{problems: p, trials: r.Trials, kept: len(r.Cells) > 0, scenario: map[string]int{},
		invariant: map[string]int{}, invariants: []compactInvariant{}, scenarios: []compactScenario{}}
	for i, name := range r.Invariants {
		t.unique("invariants", t.invariant, name, i)
		t.invariants = append(t.invariants, compactInvariant{Name: name})
	}
	for i, name := range r.Scenarios {
		t.unique("scenarios", t.scenario, name, i)
		s := compactScenario{Name: name, Counts: make([][]int, len(r.Invariants)),
			States: make([]string, len(r.Invariants))}
		for k := range s.Counts {
			s.Counts[k] = []int{}
		}
		t.scenarios = append(t.scenarios, s)
	}
	return t
}

func (p problems) unique(list string, of map[string]int, name string, i int) {
	if _, twice := of[name]; twice {
		p.Wrong(fmt.Sprintf("%s[%d]", list, i), name, "each name once")
	}
	of[name] = i
}

// place finds a field.
func (t *compactTable) place(scenario, invariant string) (s *compactScenario, i int) {
	at, known := t.scenario[scenario]
	i, knows := t.invariant[invariant]
	if !known || !knows {
		t.Wrong("cells", fielderror.Found(clip(scenario+"/"+invariant, 120)),
			"the scenarios and invariants of the report")
		return nil, 0
	}
	return &t.scenarios[at], i
}

func (t *compactTable) fields(all []contract.Field) {
	for k := range all {
		f := &all[k]
		s, i := t.place(f.Scenario, f.Invariant)
		if s == nil {
			continue
		}
		own := compactInvariant{f.Invariant, f.Severity, f.AtLeast, f.Poor}
		if t.invariants[i].Severity != 0 && t.invariants[i] != own {
			t.Wrong(fmt.Sprintf("fields[%d]", k),
				found("%v with severity %v and rates %v and %v", f.Invariant, f.Severity,
					f.AtLeast, f.Poor), "the same in all scenarios")
		}
		t.invariants[i] = own
		if s.States[i] = notKept; t.kept {
			s.States[i] = string(noTrial)
		}
		if f.Distinct > 0 || f.Copies {
			if s.Copies == nil {
				s.Copies = slices.Repeat([][]int{{}}, len(t.invariants))
			}
			s.Copies[i] = trimmed([]int{f.DistinctHeld, f.Distinct, one(f.Copies)})
		}
		if f.AtLeast > 0 {
			t.rates = append(t.rates,
				compactRate{f.Scenario, f.Invariant, f.Standing.Decision, f.DecidedAfter, f.HeldThen})
		}
	}
}

func (t *compactTable) counts(all []scoring.Cell) {
	for k := range all {
		c := &all[k]
		s, i := t.place(c.Scenario, c.Invariant)
		if s == nil {
			continue
		}
		s.Rules, s.AllowUndelivered = c.HasRules, c.AllowUndelivered
		s.Counts[i] = addCounts(s.Counts[i], c.State, c.Violated, max(c.Count, 1))
	}
	for k := range t.scenarios {
		for i, n := range t.scenarios[k].Counts {
			t.scenarios[k].Counts[i] = trimmed(n)
		}
	}
}

// The places in the counts of a field.
const (
	heldAt = iota
	brokenAt
	inconclusiveAt
	undeliveredAt
	unprovokedAt
	notRunAt
	countsOfField
)

var countAt = [...]int{contract.NotRun: notRunAt, contract.Held: heldAt, contract.Broken: brokenAt,
	contract.Inconclusive: inconclusiveAt, contract.Undelivered: undeliveredAt}

func addCounts(to []int, state contract.CellState, violated bool, n int) []int {
	if len(to) == 0 {
		to = make([]int, countsOfField)
	}
	to[countAt[state]] += n
	if state == contract.Undelivered && violated {
		to[unprovokedAt] += n
	}
	return to
}

func trimmed(counts []int) []int {
	for len(counts) > 0 && counts[len(counts)-1] == 0 {
		counts = counts[:len(counts)-1]
	}
	return counts
}

func (t *compactTable) states(cells []contract.CellReport) {
	if len(cells) == 0 {
		return
	}
	rows := make([][]byte, len(t.scenarios)*len(t.invariants))
	for k := range cells {
		c := &cells[k]
		s, i := t.place(c.Cell.Scenario, c.Cell.Invariant)
		if s == nil {
			continue
		}
		at := t.scenario[s.Name]*len(t.invariants) + i
		n := c.Cell.Trial
		if n < 1 || n > t.trials {
			t.Wrong(fmt.Sprintf("cells[%d].cell.trial", k), n, fmt.Sprintf("1 to the %d of trials", t.trials))
			continue
		}
		for len(rows[at]) < n {
			rows[at] = append(rows[at], noTrial)
		}
		rows[at][n-1] = letterOf(c.State, c.Violated)
	}
	for at, row := range rows {
		if len(row) > 0 {
			t.scenarios[at/len(t.invariants)].States[at%len(t.invariants)] = string(row)
		}
	}
}

func letterOf(state contract.CellState, violated bool) byte {
	if state == contract.Undelivered && violated {
		return unprovoked
	}
	return letters[state]
}

// stateOf is the inverse of letterOf. known is false for other letters.
func stateOf(letter byte) (state contract.CellState, violated, known bool) {
	if letter == unprovoked {
		return contract.Undelivered, true, true
	}
	at := strings.IndexByte(letters, letter)
	if at < 0 {
		return 0, false, false
	}
	state = contract.CellState(at)
	return state, state == contract.Broken, true
}

// encode returns the bytes of the file, with the hash over them.
func (f *compactFile) encode() []byte {
	own := *f
	own.SHA256 = ""
	text := own.lines()
	sum := sha256.Sum256(text)
	f.SHA256 = hex.EncodeToString(sum[:])
	return bytes.Replace(text, []byte("\n"+`"sha256":""`+"\n"), []byte("\n"+`"sha256":"`+f.SHA256+`"`+"\n"), 1)
}

// lines returns the file as JSON with a line for each member, and one for each element of
// a list, so that two versions can be compared line by line.
func (f *compactFile) lines() []byte {
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(f); err != nil {
		return nil // all its numbers are finite, and its names have texts
	}
	text := bytes.TrimSuffix(withoutReplacements(b.Bytes()), []byte("\n"))
	out := make([]byte, 0, len(text)+len(text)/8)
	depth, quoted := 0, false
	inList := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quoted:
			if c == '\\' {
				out = append(out, c)
				i++
				c = text[i]
			} else if c == '"' {
				quoted = false
			}
		case c == '"':
			quoted = true
		case c == '{' || c == '[':
			if depth++; depth == 2 {
				inList = c == '['
			}
		case c == '}' || c == ']':
			depth--
		}
		if !quoted && depth == 0 {
			out = append(out, '\n')
		}
		out = append(out, c)
		if !quoted && (depth == 1 && (c == ',' || c == '{') || depth == 2 && inList && (c == ',' || c == '[')) {
			out = append(out, '\n')
		}
	}
	return append(out, '\n')
}

// version is that of this module in the running program.
func version() string {
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

package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/hash"
	"github.com/shakedown-go/shakedown/internal/strictjson"
	"github.com/shakedown-go/shakedown/internal/wholefile"
)

// A Status is what became of a kept defect.
type Status string

// The statuses.
const (
	StatusNew       Status = "new"       // it was found, and not run since
	StatusOngoing   Status = "ongoing"   // it broke again
	StatusResolved  Status = "resolved"  // it held when it was last run
	StatusRegressed Status = "regressed" // it broke after it was resolved
	StatusUnreached Status = "unreached" // its faults no longer reach the agent; no file has this status
)

const (
	keptFolder = "kept" // of Options.Dir
	maxKept    = 100    // files of the folder
	maxFile    = 1 << 20
)

// A Kept is a defect in a file, for one of the invariants that it breaks: what it takes to
// run it again.
type Kept struct {
	ID        string `json:"id" doc:"8 hexadecimal digits over the invariant and the way to break"`
	Status    Status `json:"status" bounds:"enum=new|ongoing|resolved|regressed"`
	Sentence  string `json:"sentence"`
	Invariant string `json:"invariant"`
	Why       string `json:"why" doc:"the reason when it was found"`
	Scenario  string `json:"scenario"`
	Trial     int    `json:"trial" bounds:"min=1"`
	Seed      uint64 `json:"seed,string"`
	// Runs is how many runs it takes to see it break, most likely; more than 1 for an agent
	// that does not repeat itself.
	Runs       int                 `json:"runs" bounds:"min=1,max=100"`
	Deliveries []contract.Delivery `json:"deliveries,omitempty"`
	// Earlier are calls that a fault with memory sees before, such as those that use up a
	// budget. Where the calls are told by their numbers, it needs theirs too.
	Earlier []contract.Delivery `json:"earlier,omitempty" doc:"calls that a fault with memory sees before"`
	Plan    json.RawMessage     `json:"plan" doc:"the rules, as package planjson writes them"`

	plan *chaos.Plan
}

var keptName = regexp.MustCompile(`^[A-Za-z0-9._-]+-[0-9a-f]{8}\.json$`)

// ReadKept reads the defects that are kept in the folder of [Options].Dir, in the order of
// their names; there need not be one. o may be nil. The error joins the problems of all
// files, each a [*FieldError] that names the file and the member.
func ReadKept(dir string, o *planjson.Options) ([]*Kept, error) {
	if dir == "" || dir == "-" {
		return nil, nil
	}
	root, err := os.OpenRoot(dir)
	var names []string
	if err == nil {
		defer root.Close()
		names, err = keptNames(root)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("search: %w", err)
	}
	var all []*Kept
	var problems []error
	for _, name := range names {
		k, err := readKept(root, name, o)
		if problems = append(problems, err); err == nil {
			all = append(all, k)
		}
	}
	return all, errors.Join(problems...)
}

func readKept(root *os.Root, name string, o *planjson.Options) (*Kept, error) {
	data, err := root.ReadFile(path.Join(keptFolder, name))
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	return decodeKept(name, data, o)
}

func decodeKept(name string, data []byte, o *planjson.Options) (*Kept, error) {
	if len(data) > maxFile {
		return nil, fields.Wrong(name, fielderror.Found(fmt.Sprintf("%d bytes", len(data))),
			fmt.Sprintf("up to %d", maxFile))
	}
	k := &Kept{}
	err := strictjson.Decode(data, k, func(p *strictjson.Problem) error {
		e := p.Field(fields)
		e.Field = strings.TrimSuffix(name+": "+e.Field, ": ")
		return e
	})
	if err != nil {
		return nil, err
	}
	if k.file() != name {
		return nil, fields.Wrong(name+": /id", k.ID, "the invariant and the id of the file's name")
	}
	if k.plan, err = planjson.Decode(k.Plan, o); err != nil {
		return nil, fields.Because(name+": /plan", fielderror.Found("a plan that cannot be read"), err,
			"a plan of known kinds")
	}
	return k, nil
}

func (k *Kept) file() string { return k.Invariant + "-" + k.ID + ".json" }

// keep writes the kept file of a group, and returns its id.
func (e *explainer) keep(g *group, sentence string) (id string, err error) {
	shape, targets := patternOf(g.Hits)
	if len(g.Hits) == 0 && e.withoutCalls(g) != withoutFault {
		shape = e.withoutCalls(g) // such as a scenario's other words
	}
	id = fmt.Sprintf("%08x", uint32(hash.String(fmt.Sprintf("%q %q %q", g.Invariant, shape, targets))))
	if e.o.Dir == "" || e.o.Dir == "-" {
		return "", nil
	}
	plan, err := chaos.NewPlan(e.matrix.Seed, g.ExactRules()...)
	if err != nil {
		return "", err
	}
	data, err := planjson.Encode(plan, e.o.Spec)
	if err != nil {
		return "", err
	}
	k := &Kept{ID: id, Status: StatusNew, Sentence: sentence, Invariant: g.Invariant, Why: g.why, Scenario: g.scenario,
		Trial: g.Source.Cell.Trial, Seed: e.matrix.Seed, Runs: 1}
	if g.Sure != nil && g.Sure.Broke > 0 {
		k.Runs = min(mostRuns, 3*g.Sure.Runs/g.Sure.Broke) // 1−(1−p)^(3/p) is about 95 %
	}
	k.Deliveries, k.Earlier = deliveriesOf(g.Hits), g.Earlier()
	for _, list := range [][]contract.Delivery{k.Deliveries, k.Earlier} {
		for i, d := range list {
			list[i].Rule, list[i].Target = e.secrets.Text(d.Rule), e.secrets.Text(d.Target)
			list[i].Lane = e.secrets.Text(d.Lane)
		}
	}
	k.Plan = e.secrets.JSON(data, false)
	if _, err = planjson.Decode(k.Plan, e.o.Spec); err != nil {
		return "", fmt.Errorf("without its secrets it cannot be read again: %w", err)
	}
	k.Sentence, k.Why = e.secrets.Text(k.Sentence), e.secrets.Text(k.Why)
	return id, e.write(k)
}

// write writes a file that is new, or of a defect that was resolved. Another one stays as it is.
func (e *explainer) write(k *Kept) error {
	if err := os.MkdirAll(filepath.Join(e.o.Dir, keptFolder), 0o777); err != nil {
		return err
	}
	root, err := os.OpenRoot(e.o.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	names, err := keptNames(root)
	if err != nil {
		return err
	}
	if !slices.Contains(names, k.file()) {
		if n := len(names); n >= maxKept {
			return fmt.Errorf("the folder has %d files already", n)
		}
	} else if before, err := readKept(root, k.file(), e.o.Spec); err == nil { // else it is damaged
		if before.Status != StatusResolved {
			return nil // its own run has its status
		}
		k.Status = StatusRegressed
	}
	return k.save(root)
}

// keptNames are the names of the files in the folder of kept defects, in order.
func keptNames(root *os.Root) (names []string, err error) {
	entries, err := fs.ReadDir(root.FS(), keptFolder)
	for _, e := range entries {
		if keptName.MatchString(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, err
}

func (k *Kept) save(root *os.Root) error {
	data, err := json.MarshalIndent(k, "", "  ")
	if err != nil {
		return err
	}
	if data = append(data, '\n'); len(data) > maxFile { // nobody could read it
		return fmt.Errorf("it has %d bytes, and a kept file at most %d", len(data), maxFile)
	}
	return wholefile.Replace(root, path.Join(keptFolder, k.file()), data)
}

// String is the name of the file without its ending, and the sentence.
func (k *Kept) String() string { return k.Invariant + "-" + k.ID + ": " + k.Sentence }

// Run runs a kept defect again, with the options of [contract.Matrix.Runner], which may be
// nil: by the exact coordinates of its calls, and if its faults do not reach them, by the
// numbers of the calls. The report is that of the run that decided. The status is ongoing
// or regressed if the invariant broke, for whatever reason, resolved if it held in all
// runs, and unreached if not all of the faults were delivered, or a run decided nothing. A
// defect without faults is also unreached if it held and the matrix lacks its scenario, and
// any defect whose scenario the matrix lacks if only scenarios have worlds: that is not run.
//
// Errors: a [*FieldError] if the matrix has no such invariant, and those of
// [contract.Matrix.Runner] and [contract.Runner.Run].
func (k *Kept) Run(ctx context.Context, m *contract.Matrix,
	o *contract.RunOptions) (Status, *contract.CellReport, error) {
	var names []string
	for i := range m.Invariants {
		names = append(names, m.Invariants[i].Name)
	}
	if !slices.Contains(names, k.Invariant) {
		return "", nil, fields.Wrong(k.file()+": /invariant", k.Invariant,
			"an invariant of the matrix: "+strings.Join(names, ", "))
	}
	gone := !slices.ContainsFunc(m.Scenarios, func(s contract.Scenario) bool { return s.Name == k.Scenario })
	if m.NewWorld == nil && m.World == nil && gone { // as of a deleted session, or of a sweep
		return StatusUnreached, &contract.CellReport{Cell: k.cell()}, nil
	}
	own := *m
	own.Seed = k.Seed
	runner, err := own.Runner(ctx, o)
	if err != nil {
		return "", nil, err
	}
	defer runner.Close()
	status, cell, err := k.attempt(ctx, runner, k.plan.Rules())
	if status == StatusResolved && len(k.plan.Rules()) == 0 && gone && k.Scenario != sweepScenario {
		status = StatusUnreached // what was broken besides its rules is not known any more
	}
	if status == StatusUnreached && err == nil && len(k.Deliveries) > 0 {
		status, cell, err = k.attempt(ctx, runner, k.byNumber())
	}
	if status == StatusOngoing && (k.Status == StatusResolved || k.Status == StatusRegressed) {
		status = StatusRegressed
	}
	return status, cell, err
}

func (k *Kept) cell() contract.Cell {
	return contract.Cell{Scenario: k.Scenario, Invariant: k.Invariant, Trial: k.Trial}
}

// attempt runs the rules until the invariant breaks, up to Runs times.
func (k *Kept) attempt(ctx context.Context, runner *contract.Runner,
	rules []chaos.Rule) (Status, *contract.CellReport, error) {
	var last *contract.CellReport
	for range k.Runs {
		result, err := runner.Run(ctx, k.cell(), rules)
		if err != nil {
			return "", nil, err
		}
		i := slices.IndexFunc(result.Cells, func(c contract.CellReport) bool { return c.Cell.Invariant == k.Invariant })
		last = &result.Cells[i]
		switch {
		case last.Violated:
			return StatusOngoing, last, nil
		case last.State == contract.Inconclusive, !k.delivered(result.Observations):
			return StatusUnreached, last, nil
		}
	}
	return StatusResolved, last, nil
}

// delivered reports whether as many faults were delivered as the defect has, on calls to
// the same targets.
func (k *Kept) delivered(observations []*contract.Observation) bool {
	left := map[string]int{}
	for _, d := range k.Deliveries {
		left[d.Target]++
	}
	for _, h := range hitsOf(observations) {
		if h.Delivered {
			left[h.Target]--
		}
	}
	return !slices.ContainsFunc(k.Deliveries, func(d contract.Delivery) bool { return left[d.Target] > 0 })
}

// byNumber are the rules with triggers that look at the numbers of the calls.
func (k *Kept) byNumber() []chaos.Rule {
	rules := k.plan.Rules()
	for i := range rules {
		theirs := slices.DeleteFunc(slices.Concat(k.Deliveries, k.Earlier),
			func(d contract.Delivery) bool { return d.Rule != rules[i].Name })
		if len(theirs) > 0 {
			rules[i].When = numbersOf(theirs)
		}
	}
	return rules
}

// SetStatus writes the status to the defect's file in the folder of [Options].Dir, unless
// it has it already. That of unreached faults is not written.
func (k *Kept) SetStatus(dir string, s Status) error {
	if s == k.Status || s == StatusUnreached {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	k.Status = s
	return k.save(root)
}

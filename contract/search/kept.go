package search

import (
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

	name string
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
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), keptFolder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("search: %w", err)
	}
	var all []*Kept
	var problems []error
	for _, e := range entries {
		if !keptName.MatchString(e.Name()) {
			continue
		}
		k, err := readKept(root, e.Name(), o)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		all = append(all, k)
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
	k := &Kept{name: name}
	err := strictjson.Decode(data, k, func(p *strictjson.Problem) error {
		e := p.Field(fields)
		e.Field = strings.TrimSuffix(name+": "+e.Field, ": ")
		return e
	})
	if err != nil {
		return nil, err
	}
	if want := k.Invariant + "-" + k.ID + ".json"; want != name {
		return nil, fields.Wrong(name+": /id", k.ID, "the invariant and the id of the file's name")
	}
	if k.plan, err = planjson.Decode(k.Plan, o); err != nil {
		return nil, fields.Because(name+": /plan", fielderror.Found("a plan that cannot be read"), err,
			"a plan of known kinds")
	}
	return k, nil
}

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
		Trial: g.Source.Cell.Trial, Seed: e.matrix.Seed, Runs: 1, name: g.Invariant + "-" + id + ".json"}
	if g.Sure != nil && g.Sure.Broke > 0 {
		k.Runs = min(mostRuns, 3*g.Sure.Runs/g.Sure.Broke) // 1−(1−p)^(3/p) is about 95 %
	}
	for _, h := range g.Hits {
		k.Deliveries = append(k.Deliveries, h.Delivery)
	}
	k.Earlier = g.Earlier()
	for _, list := range [][]contract.Delivery{k.Deliveries, k.Earlier} {
		for i := range list {
			d := &list[i]
			d.Rule, d.Target, d.Lane = e.secrets.Text(d.Rule), e.secrets.Text(d.Target), e.secrets.Text(d.Lane)
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
	name := path.Join(keptFolder, k.name)
	if _, err := root.Lstat(name); err == nil {
		before, err := readKept(root, k.name, e.o.Spec)
		switch {
		case err != nil: // it is damaged
		case before.Status == StatusResolved:
			k.Status = StatusRegressed
		default:
			return nil // its own run has its status
		}
	} else if n, err := countKept(root); err != nil {
		return err
	} else if n >= maxKept {
		return fmt.Errorf("the folder has %d files already", n)
	}
	return k.save(root)
}

func countKept(root *os.Root) (n int, err error) {
	entries, err := fs.ReadDir(root.FS(), keptFolder)
	for _, e := range entries {
		if keptName.MatchString(e.Name()) {
			n++
		}
	}
	return n, err
}

func (k *Kept) save(root *os.Root) error {
	data, err := json.MarshalIndent(k, "", "  ")
	if err != nil {
		return err
	}
	if data = append(data, '\n'); len(data) > maxFile { // nobody could read it
		return fmt.Errorf("it has %d bytes, and a kept file at most %d", len(data), maxFile)
	}
	return wholefile.Replace(root, path.Join(keptFolder, k.name), data)
}

// String is the name of the file without its ending, and the sentence.
func (k *Kept) String() string { return k.Invariant + "-" + k.ID + ": " + k.Sentence }

func (k *Kept) check(m *contract.Matrix) error {
	var names []string
	for i := range m.Invariants {
		names = append(names, m.Invariants[i].Name)
	}
	if !slices.Contains(names, k.Invariant) {
		return fields.Wrong(k.name+": /invariant", k.Invariant,
			"an invariant of the matrix: "+strings.Join(names, ", "))
	}
	return nil
}

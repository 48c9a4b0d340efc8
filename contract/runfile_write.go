package contract

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/scoring"
)

// WriteRun writes the report as a run file: Write of package contract/report, which describes the
// file and what stable and withoutEvidence leave out. Cells are written in the order of the matrix.
//
// Before anything is written, the cells are folded again, as [Report.ReadRun] does. Errors:
// [*FieldError] for a nil report and for the first member that does not follow from the cells;
// those of package json, for numbers that are not finite; and those of the writer.
func (r *Report) WriteRun(w io.Writer, stable, withoutEvidence bool) error {
	if r == nil {
		return fields.Wrong("report", fielderror.Found("nil"), "a report")
	}
	h, err := r.headOrMade()
	if err != nil {
		return err
	}
	own := *r
	if stable {
		h.Run, h.Build, own.SearchElapsed = "", "", 0
	}
	if withoutEvidence {
		h.Facts, h.Rerun = false, ""
		own.dropEvidence()
	}
	units, err := h.unitsOf(r.Cells)
	if err != nil {
		return err
	}
	again, err := h.refold(units, &own)
	if err != nil {
		return err
	}
	if r.head == nil && own.Counts == nil { // it was made by hand
		own.Counts = again.Counts
	}
	if r.head == nil && own.Fields == nil {
		own.Fields = again.Fields
	}
	if withoutEvidence { // texts that name what was left out
		own.Score.Why = again.Score.Why
	}
	if err := h.compare("report", again, &own); err != nil {
		return err
	}
	if err := writeLine(w, h); err != nil {
		return err
	}
	e := &unitEncoder{head: h, placed: h.placesOfInvariants(), withoutTimes: stable || withoutEvidence,
		withoutEvidence: withoutEvidence}
	if err := e.write(w, units); err != nil {
		return err
	}
	return writeEnd(w, &own)
}

// dropEvidence leaves out of a copy of a report what a baseline does not have, besides its cells.
func (r *Report) dropEvidence() {
	r.Warnings, r.Difference, r.SearchStopped = nil, "", ""
	var defects []Defect
	for i := range r.Defects {
		defects = append(defects, Defect{Sentence: r.Defects[i].Sentence, Severity: r.Defects[i].Severity})
	}
	r.Defects, r.Goals = defects, slices.Clone(r.Goals)
	for i := range r.Goals {
		if g := &r.Goals[i]; g.Failed != "" {
			g.Failed = "its function failed"
		}
	}
}

// refold folds the cells of a report again.
func (h *runHead) refold(units []*keptUnit, like *Report) (*Report, error) {
	f := newFold(h, func(string) {}) // all warnings were given
	for _, u := range units {
		for at, c := range u.cells {
			if c != nil {
				f.add(f.scenarios[u.scenario], at, c)
			}
		}
	}
	return f.again(like)
}

// again is the report of what was added. What a fold does not know it has from the report that it
// is compared with: without units that is all but the score.
func (f *fold) again(like *Report) (again *Report, err error) {
	if !f.head.Facts { // the verdict and the coverage depend on these
		f.report.Goals, f.report.Dropped, f.report.Filtered = like.Goals, like.Dropped, like.Filtered
	}
	for _, n := range like.Repeats { // runs that are no cells may have shown it too
		for _, s := range f.scenarios {
			s.runs.unlike = s.runs.unlike || s.Name == n.Scenario && n.differs()
		}
	}
	if f.head.Cells {
		again, err = f.finish(like.Cancelled, like.Fields)
	} else {
		again = new(*like)
		err = again.judge()
	}
	for _, undecided := range []error{scoring.ErrNoCells, scoring.ErrNoneRan, scoring.ErrNoDecidedCell} {
		if errors.Is(err, undecided) {
			return again, nil // the verdict says so
		}
	}
	return again, err
}

func writeEnd(w io.Writer, r *Report) error {
	own := *r
	own.Scenarios, own.Invariants = orEmpty(r.Scenarios), orEmpty(r.Invariants)
	return writeLine(w, runEnd{End: true, Part: r.Cancelled, bareReport: (*bareReport)(&own)})
}

// A unitKey is the place of a unit in the matrix.
type unitKey struct{ scenario, trial int }

// A keptUnit has the cells of a unit, one for each invariant that applies; nil: there is none.
type keptUnit struct {
	unitKey
	cells []*CellReport
	ms    int64
}

// unitsOf groups cells in the order of the matrix.
func (h *runHead) unitsOf(cells []CellReport) (units []*keptUnit, err error) {
	scenarios, invariants, placed := h.scenariosByName(), map[string]int{}, h.placesOfInvariants()
	for i := range h.Invariants {
		invariants[h.Invariants[i].Name] = i
	}
	places := make([]cellPlace, len(cells))
	wrong := func(i int, member string, value any, allowed string) error {
		return fields.Wrong(fmt.Sprintf("report.cells[%d].%s", i, member), value, allowed)
	}
	for i := range cells {
		c := &cells[i]
		s, known := scenarios[c.Cell.Scenario]
		k, knows := invariants[c.Cell.Invariant]
		if !known || !knows || c.Cell.Trial < 1 || c.Cell.Trial > h.Trials || placed[s][k] < 0 {
			return nil, wrong(i, "cell", c.Cell.String(), "a cell of the matrix")
		}
		if is, broke, _ := stateOf(letterOf(c)); is != c.State || broke != c.Violated {
			return nil, wrong(i, "state", fielderror.Found(fmt.Sprintf("%v, broke: %t", c.State, c.Violated)),
				"a state, and broke with broken, or with undelivered")
		}
		if c.Rewritten < 0 || c.Rewritten > c.Delivered {
			return nil, wrong(i, "rewritten", c.Rewritten, fmt.Sprintf("0 to the %d of delivered", c.Delivered))
		}
		places[i] = cellPlace{s, c.Cell.Trial, placed[s][k]}
	}
	var u *keptUnit
	for _, i := range inOrder(places) {
		p := places[i]
		if key := (unitKey{p.scenario, p.trial}); u == nil || u.unitKey != key {
			u = &keptUnit{unitKey: key, cells: make([]*CellReport, len(invariants))}
			units = append(units, u)
		}
		if u.cells[p.invariant] != nil {
			return nil, wrong(i, "cell", cells[i].Cell.String(), "each cell once")
		}
		u.cells[p.invariant] = &cells[i]
	}
	return units, nil
}

func (h *runHead) scenariosByName() map[string]int {
	at := make(map[string]int, len(h.Scenarios))
	for i := range h.Scenarios {
		at[h.Scenarios[i].Name] = i
	}
	return at
}

// A cellPlace is where a cell stands in the matrix. Trials are from 1.
type cellPlace struct{ scenario, trial, invariant int }

// inOrder are the indices of cells in the order of the matrix.
func inOrder(places []cellPlace) []int {
	order := make([]int, len(places))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, k int) int {
		a, b := places[i], places[k]
		return cmp.Or(cmp.Compare(a.scenario, b.scenario), cmp.Compare(a.trial, b.trial),
			cmp.Compare(a.invariant, b.invariant))
	})
	return order
}

// A unitEncoder makes the lines of units.
type unitEncoder struct {
	head                          *runHead
	placed                        [][]int
	withoutTimes, withoutEvidence bool
}

// write writes the lines of units.
func (e *unitEncoder) write(w io.Writer, units []*keptUnit) error {
	for _, u := range units {
		line, err := e.line(u)
		if err == nil {
			err = writeLine(w, line)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// line is the line of a unit.
func (e *unitEncoder) line(u *keptUnit) (*runUnit, error) {
	h, s := e.head, &e.head.Scenarios[u.scenario]
	line := &runUnit{Unit: s.Name + "/" + strconv.Itoa(u.trial), Ms: u.ms}
	var delivered []int
	var elapsed []int64
	states := make([]byte, 0, len(h.Invariants))
	for k, at := range e.placed[u.scenario] {
		switch {
		case at < 0:
			states = append(states, doesNotApply)
			continue
		case u.cells[at] == nil:
			states = append(states, notNeeded)
			continue
		}
		c := *u.cells[at]
		if n := c.notes; n != nil && h.Facts {
			if own := *n; own.Run != nil || own.Judged != nil || own.Warnings != nil || own.Cancelled {
				own.Of = k
				line.Runs = append(line.Runs, &own)
			}
		}
		e.strip(&c, s)
		states = append(states, letterOf(&c))
		delivered, elapsed = append(delivered, c.Delivered), append(elapsed, int64(c.Elapsed))
		rest, err := encodeText(unitCell{bareCell: (*bareCell)(&c)})
		if err != nil {
			return nil, fmt.Errorf("contract: run file: %v: %w", c.Cell, err)
		}
		if string(rest) != "{}" {
			if line.Cells == nil {
				line.Cells = map[string]json.RawMessage{}
			}
			line.Cells[h.Invariants[k].Name] = rest
		}
	}
	line.States, line.Delivered, line.Elapsed = string(states), shortened(delivered), shortened(elapsed)
	return line, nil
}

// strip leaves out of a cell what the options say, and what the head knows.
func (e *unitEncoder) strip(c *CellReport, s *headScenario) {
	if c.Rerun == rerunLine(e.head.Rerun, c) {
		c.Rerun = ""
	}
	if c.Layer == s.Layer {
		c.Layer = ""
	}
	if e.withoutEvidence {
		c.Evidence, c.Why, c.Rerun, c.Copy = nil, "", "", 0 // the fields of the end say what is a copy
	}
	if c.Evidence != nil {
		c.Evidence = encodableObservation(*c.Evidence)
	}
	if !e.withoutTimes {
		return
	}
	c.Elapsed = 0
	if o := c.Evidence; o != nil {
		o.Elapsed = 0
		for i := range o.Events {
			o.Events[i].Start, o.Events[i].End, o.Events[i].Spent = 0, 0, 0
		}
	}
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// shortened is a list of equal numbers as one, and of zeros as none.
func shortened[T int | int64](all []T) []T {
	for _, n := range all {
		if n != all[0] {
			return all
		}
	}
	if len(all) == 0 || all[0] == 0 {
		return nil
	}
	return all[:1]
}

// encodableObservation is an observation that package json can write.
func encodableObservation(o Observation) *Observation {
	o.Before, o.After = encodableState(o.Before), encodableState(o.After)
	o.Events = orEmpty(slices.Clone(o.Events))
	for i := range o.Events {
		e := &o.Events[i]
		e.Args, e.Result = encodableRaw(e.Args), encodableRaw(e.Result)
		e.Changes = slices.Clone(e.Changes)
		for j := range e.Changes {
			c := &e.Changes[j]
			*c = chaos.Change{Path: c.Path, Before: encodableRaw(c.Before), After: encodableRaw(c.After)}
		}
	}
	return &o
}

// encodableRaw returns raw if it is JSON, else a string of its text: a model may
// send arguments that are not JSON.
func encodableRaw(raw json.RawMessage) json.RawMessage {
	switch {
	case len(raw) == 0:
		return nil
	case json.Valid(raw):
		return json.RawMessage(strings.ToValidUTF8(string(raw), "\ufffd"))
	}
	text, err := json.Marshal(string(raw))
	if err != nil {
		return nil
	}
	return text
}

// encodableState encodes the state of a user's world. The methods of that state may
// fail and panic.
func encodableState(v any) (state any) {
	if v == nil {
		return nil
	}
	defer func() {
		if p := recover(); p != nil {
			state = fmt.Sprintf("contract: no JSON: panic: %v", p)
		}
	}()
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("contract: no JSON: %v", err)
	}
	return spelledOnce(raw)
}

// notFolded are the members of a report that no unit has. Some are those of the run as a whole,
// the others are set by a person, a judge's calibration or a search.
var notFolded = []string{"Cells", "CalmRuns", "Cancelled", "Warnings", "Defects", "SearchRuns", "SearchElapsed",
	"SearchStopped", "Repeatable", "Difference", "Mutation", "Replay", "Overall"}

// ofRuns are the members that follow from what runs showed.
var ofRuns = []string{"Repeats", "Faults", "Coverage", "Goals", "Judges", "Dropped", "Filtered", "Chaos"}

// ofOrder are the members that follow from the order of the runs, which a sequential run takes
// from what was decided: the latest runs of a scenario, and the first rulings of judges.
var ofOrder = []string{"Repeats", "Judges"}

// compare returns an error for the first member of a report that is not as it was folded.
func (h *runHead) compare(name string, folded, is *Report) error {
	own, want := is.ofCells(), folded.ofCells()
	skip := slices.Clone(notFolded)
	if !h.Facts {
		skip = append(skip, ofRuns...)
	}
	if h.Sequential {
		skip = append(skip, ofOrder...)
	}
	for f := range reflect.TypeFor[Report]().Fields() {
		if !f.IsExported() || slices.Contains(skip, f.Name) {
			continue
		}
		a, b := reflect.ValueOf(own).Elem().FieldByIndex(f.Index), reflect.ValueOf(want).Elem().FieldByIndex(f.Index)
		at, got, wanted := firstDifference(name+"."+nameOf(f), a, b)
		if at != "" {
			return fields.Wrong(at, fielderror.Found(got), wanted+", as the cells say")
		}
	}
	return nil
}

// ofCells is a copy of the report without what others add to members that follow from cells: the
// calibration of judges, and the runs that contracttest makes to see whether the agent repeats itself.
func (r *Report) ofCells() *Report {
	own := *r
	own.Judges, own.Repeats = slices.Clone(r.Judges), slices.Clone(r.Repeats)
	for i := range own.Judges {
		own.Judges[i].Calibration = nil
	}
	for i := range own.Repeats {
		n := &own.Repeats[i]
		n.Runs, n.Alike, n.Differ = 0, 0, ""
	}
	return &own
}

func nameOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return cmp.Or(name, f.Name)
}

// tolerance is the allowed difference from a number computed here: another processor
// may round the last digits differently.
const tolerance = 1e-9

// sentences are members for people, which another version may word otherwise.
var sentences = []string{"Why", "Failed"}

// firstDifference is the place of the first difference of two values, with both as text.
func firstDifference(at string, a, b reflect.Value) (place, is, want string) {
	switch a.Kind() {
	case reflect.Struct:
		for f := range a.Type().Fields() {
			if f.IsExported() && !slices.Contains(sentences, f.Name) {
				own, other := a.FieldByIndex(f.Index), b.FieldByIndex(f.Index)
				if p, is, want := firstDifference(at+"."+nameOf(f), own, other); p != "" {
					return p, is, want
				}
			}
		}
		return "", "", ""
	case reflect.Pointer:
		if !a.IsNil() && !b.IsNil() {
			return firstDifference(at, a.Elem(), b.Elem())
		}
	case reflect.Slice:
		for i := range min(a.Len(), b.Len()) {
			if p, is, want := firstDifference(fmt.Sprintf("%s[%d]", at, i), a.Index(i), b.Index(i)); p != "" {
				return p, is, want
			}
		}
		if a.Len() != b.Len() {
			return at, text.Plural(a.Len(), "element"), text.Number(b.Len())
		}
		return "", "", ""
	case reflect.Float64:
		if math.Abs(a.Float()-b.Float()) <= tolerance*max(1, math.Abs(b.Float())) {
			return "", "", ""
		}
	}
	if reflect.DeepEqual(a.Interface(), b.Interface()) {
		return "", "", ""
	}
	return at, shown(a), shown(b)
}

// shown is a value in an error.
func shown(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return "absent"
		}
		return "there"
	}
	return text.Clip(fmt.Sprintf("%v", v.Interface()), 120)
}

package contract

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
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
	f := newFold(h)
	units, err := f.unitsOf(r.Cells)
	if err != nil {
		return err
	}
	f.addAll(units)
	again, err := f.again(&own)
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
	e := &unitEncoder{fold: f, withoutTimes: stable || withoutEvidence, withoutEvidence: withoutEvidence}
	if err := e.write(w, units); err != nil {
		return err
	}
	return writeEnd(w, &own)
}

func (r *Report) dropEvidence() {
	r.Warnings, r.Difference, r.SearchStopped = nil, "", ""
	r.Cure, r.CureSearch = nil, nil
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

// again is the report of what was added. What a fold does not know it has from the report that it
// is compared with: without units that is all but the score.
func (f *fold) again(like *Report) (again *Report, err error) {
	if !f.head.Facts { // the verdict and the coverage depend on these
		f.report.Goals, f.report.Dropped, f.report.Filtered = like.Goals, like.Dropped, like.Filtered
	}
	f.seenUnlike(like)
	if f.head.Cells {
		again, err = f.finish(like.Cancelled, like.Fields)
	} else {
		again = new(*like)
		err = again.judge()
	}
	if saysVerdict(err) {
		err = nil
	}
	return again, err
}

// saysVerdict reports whether an error says no more than the verdict.
func saysVerdict(err error) bool {
	return errors.Is(err, scoring.ErrNoCells) || errors.Is(err, scoring.ErrNoneRan) ||
		errors.Is(err, scoring.ErrNoDecidedCell)
}

// seenUnlike takes from a report in which scenarios the agent was seen to differ: runs that are no cells
// may have shown it too.
func (f *fold) seenUnlike(like *Report) {
	for _, n := range like.Repeats {
		for _, s := range f.scenarios {
			if s.Name == n.Scenario && n.differs() {
				s.runs.unlike, s.runs.count.Differ = true, cmp.Or(s.runs.count.Differ, n.Differ)
			}
		}
	}
}

func writeEnd(w io.Writer, r *Report) error {
	own := *r
	own.Scenarios, own.Invariants = orEmpty(r.Scenarios), orEmpty(r.Invariants)
	end := runEnd{End: true, Part: r.Cancelled || r.IsPart(), bareReport: (*bareReport)(&own)}
	if r.ofCells[1] <= len(r.Warnings) {
		end.OfCells = r.ofCells
	}
	return writeLine(w, end)
}

// A unitKey is the place of a unit in the matrix.
type unitKey struct{ scenario, trial int }

// A unit is the cells of a scenario and trial, by invariant of the matrix; nil: there is none.
type unit struct {
	unitKey
	cells []*CellReport
	ms    int64 // the real time of its cells
}

// units are units that were begun, of a matrix of so many invariants.
type units struct {
	invariants int
	begun      map[unitKey]*unit
}

func newUnits(invariants int) units { return units{invariants, map[unitKey]*unit{}} }

// of is the unit of a scenario and trial, which it makes if there is none.
func (all units) of(scenario, trial int) *unit {
	key := unitKey{scenario, trial}
	if all.begun[key] == nil {
		all.begun[key] = &unit{unitKey: key, cells: make([]*CellReport, all.invariants)}
	}
	return all.begun[key]
}

// inOrder are the units in the order of the matrix.
func (all units) inOrder() []*unit {
	return slices.SortedFunc(maps.Values(all.begun), func(a, b *unit) int { return a.compare(b.unitKey) })
}

func (a unitKey) compare(b unitKey) int {
	return cmp.Or(cmp.Compare(a.scenario, b.scenario), cmp.Compare(a.trial, b.trial))
}

// addAll counts the cells of units, which are in the order of the matrix, and returns them.
func (f *fold) addAll(all []*unit) (cells []CellReport) {
	for _, u := range all {
		for k, c := range u.cells {
			if c != nil {
				f.add(f.scenarios[u.scenario], k, c)
				cells = append(cells, *c)
			}
		}
	}
	return cells
}

// unitsOf groups cells in the order of the matrix.
func (f *fold) unitsOf(cells []CellReport) ([]*unit, error) {
	all := newUnits(len(f.head.Invariants))
	invariants := map[string]int{}
	for i := range f.head.Invariants {
		invariants[f.head.Invariants[i].Name] = i
	}
	for i := range cells {
		c := &cells[i]
		wrong := func(member string, value any, allowed string) error {
			return fields.Wrong(fmt.Sprintf("report.cells[%d].%s", i, member), value, allowed)
		}
		s, known := f.byName[c.Cell.Scenario]
		k, knows := invariants[c.Cell.Invariant]
		if !known || !knows || c.Cell.Trial < 1 || c.Cell.Trial > f.head.Trials || s.fields[k] == nil {
			return nil, wrong("cell", c.Cell.String(), "a cell of the matrix")
		}
		if is, broke, _ := stateOf(letterOf(c)); is != c.State || broke != c.Violated {
			return nil, wrong("state", fielderror.Found(fmt.Sprintf("%v, broke: %t", c.State, c.Violated)),
				"a state, and broke with broken, or with undelivered")
		}
		if c.Rewritten < 0 || c.Rewritten > c.Delivered {
			return nil, wrong("rewritten", c.Rewritten, fmt.Sprintf("0 to the %d of delivered", c.Delivered))
		}
		u := all.of(s.index, c.Cell.Trial)
		if u.cells[k] != nil {
			return nil, wrong("cell", c.Cell.String(), "each cell once")
		}
		u.cells[k] = c
	}
	return all.inOrder(), nil
}

// A unitEncoder makes the lines of units.
type unitEncoder struct {
	fold                          *fold
	withoutTimes, withoutEvidence bool
}

func (e *unitEncoder) write(w io.Writer, units []*unit) error {
	for _, u := range units {
		line, err := e.line(u)
		if err == nil {
			_, err = w.Write(line)
		}
		if err != nil {
			return fmt.Errorf("contract: run file: %w", err)
		}
	}
	return nil
}

func (e *unitEncoder) line(u *unit) ([]byte, error) {
	h, s := e.fold.head, e.fold.scenarios[u.scenario]
	line := &runUnit{Unit: s.Name + "/" + strconv.Itoa(u.trial), Ms: u.ms}
	var delivered []int
	var elapsed []int64
	states := make([]byte, 0, len(h.Invariants))
	for k, kept := range u.cells {
		switch {
		case s.fields[k] == nil:
			states = append(states, doesNotApply)
			continue
		case kept == nil:
			states = append(states, notNeeded)
			continue
		}
		c := *kept
		if n := c.notes; n != nil && h.Facts &&
			(n.Run != nil || n.Judged != nil || n.Warnings != nil || n.Cancelled || n.Lost || n.Calm != 0) {
			line.Runs = append(line.Runs, n)
		}
		e.strip(&c, s.Layer)
		states = append(states, letterOf(&c))
		delivered, elapsed = append(delivered, c.Delivered), append(elapsed, int64(c.Elapsed))
		rest, err := jsonedit.Marshal(unitCell{bareCell: (*bareCell)(&c)})
		if err != nil {
			return nil, fmt.Errorf("%v: %w", c.Cell, err)
		}
		if string(rest) != "{}" {
			if line.Cells == nil {
				line.Cells = map[string]json.RawMessage{}
			}
			line.Cells[h.Invariants[k].Name] = rest
		}
	}
	line.States, line.Delivered, line.Elapsed = string(states), shortened(delivered), shortened(elapsed)
	return encodeLine(line)
}

// strip leaves out of a cell what the options say, and what the head knows.
func (e *unitEncoder) strip(c *CellReport, layer chaos.Layer) {
	if c.Rerun == rerunLine(e.fold.head.Rerun, c) {
		c.Rerun = ""
	}
	if c.Layer == layer {
		c.Layer = ""
	}
	if e.withoutEvidence {
		c.Evidence, c.Calm, c.Why, c.Rerun, c.Copy = nil, nil, "", "", 0 // the fields of the end say what is a copy
	}
	if e.withoutTimes {
		c.Elapsed = 0
	}
	if c.Evidence != nil {
		c.Evidence = e.encodable(*c.Evidence)
	}
	c.Calm = slices.Clone(c.Calm)
	for i, o := range c.Calm {
		c.Calm[i] = e.encodable(*o)
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

// encodable is an observation that package json can write.
func (e *unitEncoder) encodable(o Observation) *Observation {
	o.Before, o.After = encodableState(o.Before), encodableState(o.After)
	o.Events = orEmpty(withDocuments(o.Events, encodableRaw))
	if !e.withoutTimes {
		return &o
	}
	o.Elapsed = 0
	for i := range o.Events {
		own := &o.Events[i]
		own.Start, own.End, own.Spent, own.Deadline = 0, 0, 0, 0
	}
	return &o
}

// withDocuments are the events with what the function makes of each document in them.
func withDocuments(events []chaos.Event, of func(json.RawMessage) json.RawMessage) []chaos.Event {
	events = slices.Clone(events)
	for i := range events {
		e := &events[i]
		e.Args, e.Result, e.Changes = of(e.Args), of(e.Result), slices.Clone(e.Changes)
		for j := range e.Changes {
			c := &e.Changes[j]
			c.Before, c.After = of(c.Before), of(c.After)
		}
	}
	return events
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
	"SearchStopped", "Cure", "CureSearch", "Repeatable", "Difference", "Mutation", "Replay", "Overall"}

// ofRuns are the members that follow from what runs showed.
var ofRuns = []string{"Repeats", "Faults", "Coverage", "Goals", "Judges", "Dropped", "Filtered", "Chaos"}

// notCompared are members of members: sentences, which another version may word otherwise, the
// calibration of judges, and what contracttest adds when it sees whether the agent repeats itself.
var notCompared = []string{"Why", "Failed", "Calibration", "Runs", "Alike", "Differ"}

// compare returns an error for the first member of a report that is not as it was folded.
func (h *runHead) compare(name string, folded, is *Report) error {
	skip := notFolded
	if !h.Facts {
		skip = slices.Concat(skip, ofRuns)
	}
	for f := range reflect.TypeFor[Report]().Fields() {
		if !f.IsExported() || slices.Contains(skip, f.Name) {
			continue
		}
		a, b := reflect.ValueOf(is).Elem().FieldByIndex(f.Index), reflect.ValueOf(folded).Elem().FieldByIndex(f.Index)
		if at, got, wanted := firstDifference(name+"."+nameOf(f), a, b); at != "" {
			return fields.Wrong(at, fielderror.Found(got), wanted+", as the cells say")
		}
	}
	return nil
}

func nameOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return cmp.Or(name, f.Name)
}

// tolerance is the allowed difference from a number computed here: another processor
// may round the last digits differently.
const tolerance = 1e-9

// firstDifference is the place of the first difference of two values, with both as text.
func firstDifference(at string, a, b reflect.Value) (place, is, want string) {
	switch a.Kind() {
	case reflect.Struct:
		for f := range a.Type().Fields() {
			if f.IsExported() && !slices.Contains(notCompared, f.Name) {
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

func shown(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return "absent"
		}
		return "there"
	}
	return text.Clip(fmt.Sprintf("%v", v.Interface()), 120)
}

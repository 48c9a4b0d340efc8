package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/scoring"
)

// runFileOptions are those of [Report.WriteRun].
type runFileOptions struct{ stable, withoutEvidence bool }

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
	o := &runFileOptions{stable, withoutEvidence}
	own, h, err := o.settle(r)
	if err != nil {
		return err
	}
	units, err := h.unitsOf(own.Cells)
	if err != nil {
		return err
	}
	if err := o.refold(own, h, units); err != nil {
		return err
	}
	if err := writeLine(w, h); err != nil {
		return err
	}
	if err := newCellEncoder(o, h).write(w, units); err != nil {
		return err
	}
	return writeEnd(w, own)
}

// settle returns a copy of the report without what the options leave out, and its head.
func (o *runFileOptions) settle(r *Report) (own *Report, h *runHead, err error) {
	own, h = new(*r), new(runHead)
	if r.head != nil {
		*h = *r.head
		h.Cells = len(r.Cells) > 0 || len(r.Counts) == 0
	} else if h, err = headOf(r); err != nil {
		return nil, nil, err
	}
	if o.stable {
		h.Run, h.Build, own.SearchElapsed = "", "", 0
	}
	if !o.withoutEvidence {
		return own, h, h.check()
	}
	h.Facts = false
	own.Warnings, own.Difference, own.SearchStopped = nil, "", ""
	own.Defects, own.Goals = nil, slices.Clone(r.Goals)
	for i := range r.Defects {
		own.Defects = append(own.Defects, Defect{Sentence: r.Defects[i].Sentence, Severity: r.Defects[i].Severity})
	}
	for i := range own.Goals {
		if g := &own.Goals[i]; g.Failed != "" {
			g.Failed = "its function failed"
		}
	}
	return own, h, h.check()
}

// refold folds the cells again, and compares. Texts that name what was left out are made anew.
func (o *runFileOptions) refold(own *Report, h *runHead, units []keptUnit) error {
	f := newFold(h, func(string) {})
	for _, u := range units {
		for i := range u.cells {
			f.add(f.scenarios[u.scenario], u.at[i], u.cells[i])
		}
	}
	again, err := f.again(own)
	if err != nil {
		return err
	}
	if own.Counts == nil { // it was made by hand
		own.Counts = again.Counts
	}
	if own.head == nil && own.Fields == nil {
		own.Fields = again.Fields
	}
	if o.withoutEvidence {
		own.Score.Why = again.Score.Why
	}
	return h.compare("report", again, own)
}

// again is the report of what was added, or of the counts where a file has no cells. What a fold
// does not know it has from the report that it is compared with.
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
		again, err = f.finish(like.Cancelled, like)
	} else {
		again = new(*like)
		err = again.Judge()
	}
	for _, undecided := range []error{scoring.ErrNoCells, scoring.ErrNoneRan, scoring.ErrNoDecidedCell} {
		if errors.Is(err, undecided) {
			return again, nil // the verdict says so
		}
	}
	return again, err
}

// A runEnd is the last line: the report without its cells.
type runEnd struct {
	End  bool `json:"end"`
	Part bool `json:"part,omitempty"` // it lacks units of its matrix
	*bareReport
	Cells *struct{} `json:"cells,omitempty"` // hides those of the report
}

type bareReport Report

func writeEnd(w io.Writer, r *Report) error {
	own := *r
	own.Scenarios, own.Invariants = orEmpty(r.Scenarios), orEmpty(r.Invariants)
	return writeLine(w, runEnd{End: true, Part: r.Cancelled, bareReport: (*bareReport)(&own)})
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

func (h *runHead) scenariosByName() map[string]int {
	at := make(map[string]int, len(h.Scenarios))
	for i := range h.Scenarios {
		at[h.Scenarios[i].Name] = i
	}
	return at
}

// A unitKey is the place of a unit in the matrix.
type unitKey struct{ scenario, trial int }

// A keptUnit is the cells of a unit.
type keptUnit struct {
	unitKey
	cells []*CellReport
	at    []int // of their invariants, among those that apply
	ms    int64
}

// unitsOf groups cells in the order of the matrix.
func (h *runHead) unitsOf(cells []CellReport) (units []keptUnit, err error) {
	scenarios, invariants, placed := h.scenariosByName(), map[string]int{}, h.placesOfInvariants()
	for i := range h.Invariants {
		invariants[h.Invariants[i].Name] = i
	}
	order, places := make([]int, len(cells)), make([]cellPlace, len(cells))
	for i := range cells {
		c := &cells[i].Cell
		s, known := scenarios[c.Scenario]
		k, knows := invariants[c.Invariant]
		if !known || !knows || c.Trial < 1 || c.Trial > h.Trials || placed[s][k] < 0 {
			return nil, fields.Wrong(fmt.Sprintf("report.cells[%d].cell", i), c.String(), "a cell of the matrix")
		}
		if is, broke, ok := stateOf(letterOf(&cells[i])); !ok || is != cells[i].State || broke != cells[i].Violated {
			return nil, fields.Wrong(fmt.Sprintf("report.cells[%d].state", i),
				fielderror.Found(fmt.Sprintf("%v, broke: %t", cells[i].State, cells[i].Violated)),
				"a state, and broke with broken, or with undelivered")
		}
		if n := cells[i].Rewritten; n < 0 || n > cells[i].Delivered {
			return nil, fields.Wrong(fmt.Sprintf("report.cells[%d].rewritten", i), n,
				fmt.Sprintf("0 to the %d of delivered", cells[i].Delivered))
		}
		order[i], places[i] = i, cellPlace{s, c.Trial, k}
	}
	slices.SortStableFunc(order, func(a, b int) int { return places[a].compare(places[b]) })
	for n, i := range order {
		p := places[i]
		if n > 0 && places[order[n-1]] == p {
			return nil, fields.Wrong(fmt.Sprintf("report.cells[%d].cell", i), cells[i].Cell.String(), "each cell once")
		}
		key := unitKey{p.scenario, p.trial}
		if len(units) == 0 || units[len(units)-1].unitKey != key {
			units = append(units, keptUnit{unitKey: key})
		}
		u := &units[len(units)-1]
		u.cells, u.at = append(u.cells, &cells[i]), append(u.at, placed[p.scenario][p.invariant])
	}
	return units, nil
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

// A cellEncoder makes the lines of units.
type cellEncoder struct {
	runFileOptions
	head       *runHead
	placed     [][]int
	cell, base CellReport   // the cell at hand, and what its unit's line says of it already
	members    []cellMember // of both
}

// A cellMember is an exported member of CellReport, by its name in JSON.
type cellMember struct {
	name    string
	is, was reflect.Value
	quoted  bool // a number of 64 bits, which is a string
}

func newCellEncoder(o *runFileOptions, h *runHead) *cellEncoder {
	e := &cellEncoder{runFileOptions: *o, head: h, placed: h.placesOfInvariants()}
	is, was := reflect.ValueOf(&e.cell).Elem(), reflect.ValueOf(&e.base).Elem()
	for f := range is.Type().Fields() {
		if name := nameOf(f); f.IsExported() && name != "-" && f.Name != "Cell" {
			e.members = append(e.members, cellMember{name, is.FieldByIndex(f.Index), was.FieldByIndex(f.Index),
				strings.HasSuffix(f.Tag.Get("json"), ",string")})
		}
	}
	return e
}

// write writes the lines of units.
func (e *cellEncoder) write(w io.Writer, units []keptUnit) error {
	for _, u := range units {
		line, err := e.unit(u)
		if err == nil {
			err = writeLine(w, line)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unit is the line of a unit.
func (e *cellEncoder) unit(u keptUnit) (*runUnit, error) {
	h, s := e.head, &e.head.Scenarios[u.scenario]
	line := &runUnit{Unit: s.Name + "/" + strconv.Itoa(u.trial)}
	var delivered []int
	var elapsed []int64
	states, next := make([]byte, 0, len(h.Invariants)), 0
	for k, at := range e.placed[u.scenario] {
		inv := &h.Invariants[k]
		switch {
		case at < 0:
			states = append(states, doesNotApply)
			continue
		case next == len(u.cells) || u.at[next] != at:
			states = append(states, notNeeded)
			continue
		}
		e.cell = *u.cells[next]
		c := &e.cell
		next++
		states = append(states, letterOf(c))
		e.strip(c)
		delivered, elapsed = append(delivered, c.Delivered), append(elapsed, int64(c.Elapsed))
		if n := c.notes; n != nil && h.Facts {
			if own := new(*n); own.Run != nil || own.Judged != nil || own.Warnings != nil || own.Cancelled {
				own.Of = k
				line.Runs = append(line.Runs, own)
			}
		}
		e.base = baseOf(c.Cell, inv, s, letterOf(c), c.Delivered, c.Elapsed)
		rest, err := e.rest()
		if err != nil {
			return nil, err
		}
		if rest != nil {
			if line.Cells == nil {
				line.Cells = map[string]json.RawMessage{}
			}
			line.Cells[inv.Name] = rest
		}
	}
	line.States, line.Ms = string(states), u.ms
	line.Delivered, line.Elapsed = shortened(delivered), shortened(elapsed)
	return line, nil
}

// strip leaves out of a cell what the options say.
func (e *cellEncoder) strip(c *CellReport) {
	if e.withoutEvidence {
		c.Evidence, c.Why, c.Rerun, c.Copy = nil, "", "", 0 // the fields of the end say what is a copy
	}
	if c.Evidence != nil {
		c.Evidence = encodableObservation(*c.Evidence)
	}
	if !e.stable && !e.withoutEvidence {
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

// baseOf is a cell as far as the other members of its unit's line say it.
func baseOf(cell Cell, inv *headInvariant, s *headScenario, letter byte, delivered int,
	elapsed time.Duration) CellReport {
	c := CellReport{Cell: cell, Severity: inv.Severity, Layer: s.Layer, Delivered: delivered, Elapsed: elapsed}
	c.State, c.Violated, _ = stateOf(letter)
	return c
}

// rest is what the cell has besides its base, as JSON; nil: nothing. A new member of CellReport
// is written without further ado.
func (e *cellEncoder) rest() (json.RawMessage, error) {
	var b bytes.Buffer
	for _, m := range e.members {
		if same(m.is, m.was) {
			continue
		}
		b.WriteString(map[bool]string{true: "{", false: ","}[b.Len() == 0] + strconv.Quote(m.name) + ":")
		if m.quoted {
			b.WriteString(strconv.Quote(fmt.Sprint(m.is)))
			continue
		}
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(m.is.Interface()); err != nil {
			return nil, fmt.Errorf("contract: run file: %v: %w", e.cell.Cell, err)
		}
		b.Truncate(b.Len() - 1) // the line break
	}
	if b.Len() == 0 {
		return nil, nil
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// same reports whether two values are equal, without an allocation for those of most members.
func same(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int64, reflect.Uint8, reflect.Uint64, reflect.String, reflect.Pointer:
		return a.Equal(b)
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
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

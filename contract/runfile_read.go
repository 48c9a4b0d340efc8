package contract

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/text"
)

// ReadRun makes the report that of a run file: one that [Report.WriteRun] wrote, that of
// [RunOptions.File], or what a run that was killed left of its file. It is Read of package
// contract/report, which describes the file. With countsOnly the cells are left out, as [KeepCounts]
// does: memory then does not grow with their number.
//
// The units are folded by the code that folds a run, and the result is compared with the end
// of the file. Without an end the report has what the units say. It is then Cancelled, and a
// warning says how many units the file has. A last line without its line break is what a killed
// run leaves: it is dropped unless it is whole.
//
// Numbers in the states of the world come back as [json.Number]. The agent's error value, its
// tools, and [CellReport.Observations] are not in a file.
//
// Errors: [*FieldError] for the first line that is not what was written, with its number, and for
// the first member of the end that does not follow from the units; and those of the reader. The
// report is then as it was.
func (r *Report) ReadRun(rd io.Reader, countsOnly bool) error {
	from := &runReader{countsOnly: countsOnly, to: bufio.NewReader(rd), waiting: map[int]*runUnit{},
		seen: map[cellPlace]bool{}}
	read, err := from.read()
	if own, ok := errors.AsType[*FieldError](err); ok && from.reading && own.Line == 0 {
		err = own.At(from.line, 1)
	}
	if err == nil {
		*r = *read
	}
	return err
}

// mostGaps bounds the trials that are left out before others of their fields: a comparison
// needs a byte for each, so a short file could take all memory.
const mostGaps = 10_000_000

// A runReader reads one file.
type runReader struct {
	countsOnly bool
	to         *bufio.Reader
	line       int
	reading    bool // an error is that of the line
	head       *runHead
	names      map[string]int // of scenarios
	fold       *fold
	next       int                // the first unit that is missing, as a number
	waiting    map[int]*runUnit   // units after it
	seen       map[cellPlace]bool // cells of a sequential run, whose units come in several lines
	units      int
	last       []int // the last trial, by scenario
	gaps       int   // cells that are left out before others
	cells      []CellReport
	places     []cellPlace
	end        *Report
	warnings   []string // of the units
}

func (r *runReader) read() (*Report, error) {
	for torn := false; r.end == nil && !torn; {
		r.line++
		line, err := r.to.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("contract: run file: read: %w", err)
		}
		if torn = err == io.EOF; torn && len(line) == 0 {
			break
		}
		r.reading = true
		if err := r.take(line); err != nil {
			if _, cut := withoutSum(line); torn && r.line > 1 && cut != nil {
				break
			}
			return nil, err
		}
		r.reading = false
	}
	r.reading = false
	if r.head == nil {
		return nil, fields.Wrong("", fielderror.Found("empty"), "a run file")
	}
	if r.end != nil {
		if n, err := r.to.Discard(1); n > 0 || err != io.EOF {
			return nil, fields.Wrong("", fielderror.Found("more after the end"), "the end as the last line").
				At(r.line+1, 1)
		}
	}
	return r.finish()
}

// take reads one line.
func (r *runReader) take(line []byte) error {
	if r.head == nil && !bytes.HasPrefix(line, []byte(`{"shakedown":"`+runFileKind+`"`)) {
		begin := text.Clip(strings.TrimSpace(string(line)), 40)
		return fields.Wrong("", fielderror.Found(strconv.Quote(begin)),
			"the head of a run file; what was made before run files has none: make it again, a baseline with SHAKEDOWN_UPDATE=1")
	}
	object, err := withoutSum(line)
	switch {
	case err != nil:
		return err
	case r.head == nil:
		return r.takeHead(object)
	case bytes.HasPrefix(object, []byte(`{"end":`)):
		end := runEnd{bareReport: (*bareReport)(new(Report))}
		if err := decodeStrictly(object, &end); err != nil {
			return err
		}
		if !end.End || end.Cells != nil {
			return fields.Wrong("end", end.End, "true, and no cells")
		}
		r.end = (*Report)(end.bareReport)
		return nil
	}
	u := new(runUnit)
	if err := decodeStrictly(object, u); err != nil {
		return err
	}
	return r.takeUnit(u)
}

func (r *runReader) takeHead(object []byte) error {
	var kind struct{ Version int }
	if err := json.Unmarshal(object, &kind); err != nil {
		return fields.Because("", nil, err, "")
	}
	if kind.Version != runFileVersion {
		return fields.Wrong("version", kind.Version,
			strconv.Itoa(runFileVersion)+"; another is of another version of the library")
	}
	h := new(runHead)
	if err := decodeStrictly(object, h); err != nil {
		return err
	}
	if err := h.check(); err != nil {
		return err
	}
	r.head, r.names, r.last = h, h.scenariosByName(), make([]int, len(h.Scenarios))
	r.fold = newFold(h, func(warning string) { r.warnings = append(r.warnings, warning) })
	r.skip()
	return nil
}

// takeUnit reads a unit, and folds those that are now in order. The units of a sequential run
// are in the order in which they were needed.
func (r *runReader) takeUnit(u *runUnit) error {
	number, err := r.number(u)
	switch {
	case err != nil:
		return err
	case r.head.Sequential:
		return r.addUnit(u, number)
	case number < r.next || r.waiting[number] != nil:
		return fields.Wrong("unit", u.Unit, "each unit once")
	}
	r.waiting[number] = u
	for r.waiting[r.next] != nil {
		if err := r.addUnit(r.waiting[r.next], r.next); err != nil {
			return err
		}
		delete(r.waiting, r.next)
		r.next++
		r.skip()
	}
	return nil
}

// skip passes by the scenarios without units.
func (r *runReader) skip() {
	for at := r.next / r.head.Trials; at < len(r.fold.scenarios) && len(r.fold.scenarios[at].fields) == 0; at++ {
		r.next = (at + 1) * r.head.Trials
	}
}

// number is the place of a unit among all.
func (r *runReader) number(u *runUnit) (int, error) {
	cut := max(0, strings.LastIndexByte(u.Unit, '/'))
	trial := strings.TrimPrefix(u.Unit[cut:], "/")
	at, known := r.names[u.Unit[:cut]]
	n, err := strconv.Atoi(trial)
	if !known || err != nil || strconv.Itoa(n) != trial || n < 1 || n > r.head.Trials {
		return 0, fields.Wrong("unit", u.Unit,
			fmt.Sprintf("a scenario of the head, and a trial from 1 to %d", r.head.Trials))
	}
	return at*r.head.Trials + n - 1, nil
}

// addUnit folds the cells of a unit.
func (r *runReader) addUnit(u *runUnit, number int) error {
	s, trial := r.fold.scenarios[number/r.head.Trials], number%r.head.Trials+1
	cells, places, err := r.cellsOf(u, s, trial)
	if err != nil {
		return err
	}
	r.units++
	if gap := trial - r.last[s.index] - 1; gap > 0 {
		r.gaps += gap * len(s.fields)
	}
	if r.last[s.index] = max(r.last[s.index], trial); r.gaps > mostGaps {
		return fields.Wrong("unit", u.Unit, fmt.Sprintf("at most %d trials that are left out before others", mostGaps))
	}
	for i := range cells {
		if r.head.Sequential {
			if r.seen[places[i]] {
				return fields.Wrong("unit", u.Unit, "each cell once")
			}
			r.seen[places[i]] = true
		}
		r.fold.add(s, places[i].invariant, &cells[i])
	}
	if !r.countsOnly {
		r.cells, r.places = append(r.cells, cells...), append(r.places, places...)
	}
	return nil
}

// cellsOf makes the cells of a unit.
func (r *runReader) cellsOf(u *runUnit, s *foldScenario, trial int,
) (cells []CellReport, places []cellPlace, err error) {
	if len(u.States) != len(r.head.Invariants) {
		return nil, nil, fields.Wrong("states", u.States, fmt.Sprintf("%d letters", len(r.head.Invariants)))
	}
	at := map[string]int{} // in cells, by invariant
	for k := range r.head.Invariants {
		inv, letter := &r.head.Invariants[k], u.States[k]
		if letter == doesNotApply != (s.at[k] < 0) {
			return nil, nil, fields.Wrong("states", u.States,
				"- for the invariants that do not apply, and for them alone")
		}
		if letter == doesNotApply || letter == notNeeded {
			continue
		}
		c := CellReport{Cell: Cell{s.Name, inv.Name, trial}, Severity: inv.Severity, Layer: s.Layer}
		known := false
		if c.State, c.Violated, known = stateOf(letter); !known {
			return nil, nil, fields.Wrong("states", u.States, "the letters h, b, i, u, U, n, s and -")
		}
		c.Rerun = rerunLine(r.head.Rerun, &c)
		at[inv.Name] = len(cells)
		cells = append(cells, c)
		places = append(places, cellPlace{s.index, trial, s.at[k]})
	}
	if len(cells) == 0 {
		return nil, nil, fields.Wrong("states", u.States, "a cell or more")
	}
	if len(u.Delivered) > 1 && len(u.Delivered) != len(cells) || len(u.Elapsed) > 1 && len(u.Elapsed) != len(cells) {
		return nil, nil, fields.Wrong("delivered and elapsedNs",
			fielderror.Found(fmt.Sprintf("%d and %d numbers", len(u.Delivered), len(u.Elapsed))),
			fmt.Sprintf("%d, or one, or none", len(cells)))
	}
	for i := range cells {
		cells[i].Delivered = listed(u.Delivered, i)
		cells[i].Elapsed = time.Duration(listed(u.Elapsed, i))
	}
	for _, name := range slices.Sorted(maps.Keys(u.Cells)) {
		i, known := at[name]
		if !known {
			return nil, nil, fields.Wrong("cells", name, "an invariant with a cell")
		}
		c := &cells[i]
		if err := decodeStrictly(u.Cells[name], &unitCell{bareCell: (*bareCell)(c)}); err != nil {
			return nil, nil, err
		}
		if c.Delivered < 0 || c.Rewritten < 0 || c.Rewritten > c.Delivered {
			return nil, nil, fields.Wrong("cells", c.Cell.String(), "counts of 0 or more")
		}
	}
	return cells, places, r.takeNotes(u, s, at, cells)
}

// listed is a number of a list that shortened made.
func listed[T int | int64](all []T, i int) T {
	switch len(all) {
	case 0:
		return 0
	case 1:
		return all[0]
	}
	return all[i]
}

// takeNotes gives the cells what their runs showed.
func (r *runReader) takeNotes(u *runUnit, s *foldScenario, at map[string]int, cells []CellReport) error {
	for _, n := range u.Runs {
		i, known := 0, false
		if n != nil && n.Of >= 0 && n.Of < len(r.head.Invariants) {
			i, known = at[r.head.Invariants[n.Of].Name]
		}
		switch {
		case !known || cells[i].notes != nil:
			return fields.Wrong("runs", fielderror.Found("a run of no cell, or a second one"),
				"a run of each cell at most")
		case !r.head.Facts:
			return fields.Wrong("runs", fielderror.Found("there"), "none, as the head says")
		case !n.possible(r.head, s):
			return fields.Wrong("runs", fielderror.Found("what the head does not know"),
				"its rules, tools and goals, and counts of 0 or more")
		}
		cells[i].notes = n
	}
	return nil
}

// possible reports whether what was noted can be counted.
func (n *cellNotes) possible(h *runHead, s *foldScenario) bool {
	run := n.Run
	if run == nil {
		return true
	}
	known := func(name string) bool {
		return slices.ContainsFunc(s.Rules, func(r headRule) bool { return r.Name == name })
	}
	return len(run.Rules) <= len(s.Rules) && run.Dropped >= 0 &&
		!slices.ContainsFunc(run.Rules, func(r ruleNote) bool { return min(r.Delivered, r.Undelivered) < 0 }) &&
		!slices.ContainsFunc(run.Coverage, func(c CoverCount) bool { return c.Delivered < 0 }) &&
		!slices.ContainsFunc(run.Called, func(at int) bool { return at < 0 || at >= len(h.Tools) }) &&
		!slices.ContainsFunc(run.Goals, func(g goalNote) bool { return g.Goal < 0 || g.Goal >= len(h.Goals) }) &&
		!slices.ContainsFunc(run.Overlaps, func(o overlap) bool { return !known(o.Rule) })
}

// finish makes the report, and compares it with the end. A file without one is that of a run that
// was killed.
func (r *runReader) finish() (*Report, error) {
	for _, number := range slices.Sorted(maps.Keys(r.waiting)) {
		if err := r.addUnit(r.waiting[number], number); err != nil {
			return nil, err
		}
	}
	var cells []CellReport
	for _, i := range inOrder(r.places) {
		cells = append(cells, r.cells[i])
	}
	if r.end == nil {
		return r.cut(cells)
	}
	if !r.head.Cells && r.units > 0 {
		return nil, fields.Wrong("head.cells", false, "true, as there are units")
	}
	again, err := r.fold.again(r.end)
	if err != nil {
		return nil, err
	}
	if err := r.head.compare("end", again, r.end); err != nil {
		return nil, err
	}
	r.end.head, r.end.Cells = r.head, cells
	return r.end, nil
}

// cut is the report of a run that was killed.
func (r *runReader) cut(cells []CellReport) (*Report, error) {
	if !r.head.Cells {
		return nil, fields.Wrong("", fielderror.Found("no end"), "an end, in a file without units")
	}
	report, err := r.fold.again(&Report{Goals: r.fold.report.Goals, Cancelled: true})
	if err != nil {
		return nil, err
	}
	all := 0
	for _, s := range r.fold.scenarios {
		if len(s.fields) > 0 {
			all += r.head.Trials
		}
	}
	report.Warnings = append(r.warnings,
		fmt.Sprintf("The file has no end, so its run was killed: it has %s of %d units.", text.Number(r.units), all))
	report.Cells = cells
	return report, nil
}

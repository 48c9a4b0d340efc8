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
// does: memory then does not grow with their number. Those of a sequential run come in several lines
// of a unit, so they are held until the end of the file, without their evidence.
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
	from := &runReader{lines: runLines{from: bufio.NewReader(rd)}, countsOnly: countsOnly}
	read, err := from.read()
	if err == nil {
		*r = *read
	}
	return err
}

// runLines are the lines of a run file, whose sums are checked.
type runLines struct {
	from *bufio.Reader
	head *runHead // with the first line
	end  *runEnd  // with the last one; nil: none was reached, as in a file whose run was killed
	line int      // the number of the last line that was read
	at   int64    // where it begins
	next int64    // where the next one does
}

// unit is the object of the next unit. nil: there is none, and the file was read to its end. Errors
// that are [*FieldError] have the number of the line.
func (r *runLines) unit() (object []byte, err error) {
	for r.end == nil && object == nil {
		line, err := r.from.ReadBytes('\n')
		torn := err == io.EOF
		if err != nil && !torn {
			return nil, fmt.Errorf("contract: run file: read: %w", err)
		}
		if torn && len(line) == 0 {
			return nil, r.empty()
		}
		r.line++
		r.at, r.next = r.next, r.next+int64(len(line))
		if object, err = r.take(line); err != nil {
			if _, cut := withoutSum(line); torn && r.line > 1 && cut != nil {
				return nil, nil
			}
			return nil, r.here(err)
		}
	}
	if r.end == nil {
		return object, nil
	}
	if n, err := r.from.Discard(1); n > 0 || err != io.EOF {
		return nil, fields.Wrong("", fielderror.Found("more after the end"), "the end as the last line").
			At(r.line+1, 1)
	}
	return nil, nil
}

func (r *runLines) empty() error {
	if r.head == nil {
		return fields.Wrong("", fielderror.Found("empty"), "a run file")
	}
	return nil
}

// here gives an error the number of the line.
func (r *runLines) here(err error) error { return atLine(err, r.line) }

// atLine gives an error, or each of several, the number of a line unless it has one.
func atLine(err error, line int) error {
	for _, err := range fielderror.Apart(err) {
		if own, ok := errors.AsType[*FieldError](err); ok && own.Line == 0 {
			own.At(line, 1)
		}
	}
	return err
}

// take is the object of a line that is a unit; nil: it is the head or the end.
func (r *runLines) take(line []byte) (object []byte, err error) {
	if r.head == nil && !bytes.HasPrefix(line, []byte(`{"shakedown":"`+runFileKind+`"`)) {
		begin := text.Clip(strings.TrimSpace(string(line)), 40)
		return nil, fields.Wrong("", fielderror.Found(strconv.Quote(begin)),
			"the head of a run file; what was made before run files has none: make it again, a baseline with SHAKEDOWN_UPDATE=1")
	}
	object, err = withoutSum(line)
	switch {
	case err != nil:
		return nil, err
	case r.head == nil:
		r.head, err = readHead(object)
		return nil, err
	case bytes.HasPrefix(object, []byte(`{"end":`)):
		end := &runEnd{bareReport: (*bareReport)(new(Report))}
		if err := decodeStrictly(object, end); err != nil {
			return nil, err
		}
		if !end.End || end.Cells != nil {
			return nil, fields.Wrong("end", end.End, "true, and no cells")
		}
		if at := end.OfCells; at[0] < 0 || at[0] > at[1] || at[1] > len(end.Warnings) {
			return nil, fields.Wrong("warningsOfCells", at, fmt.Sprintf("a range of the %d warnings", len(end.Warnings)))
		}
		end.ofCells = end.OfCells
		r.end = end
		return nil, nil
	}
	return object, nil
}

func readHead(object []byte) (*runHead, error) {
	var kind struct{ Version int }
	if err := json.Unmarshal(object, &kind); err != nil {
		return nil, fields.Because("", nil, err, "")
	}
	if kind.Version != runFileVersion {
		return nil, fields.Wrong("version", kind.Version,
			strconv.Itoa(runFileVersion)+"; another is of another version of the library")
	}
	h := new(runHead)
	if err := decodeStrictly(object, h); err != nil {
		return nil, err
	}
	return h, h.check()
}

// mostGaps bounds the trials that are left out before others of their fields: a comparison
// needs a byte for each, so a short file could take all memory.
const mostGaps = 10_000_000

// A runReader folds one file.
type runReader struct {
	lines      runLines
	countsOnly bool
	fold       *fold
	next       unitKey // the first unit that is missing
	waiting    units   // units after it, and all of a sequential run: those come in several lines
	units      int
	cells      []CellReport
}

func (r *runReader) read() (*Report, error) {
	for {
		object, err := r.lines.unit()
		if err != nil {
			return nil, err
		}
		if r.fold == nil {
			h := r.lines.head
			r.waiting, r.next = newUnits(len(h.Invariants)), unitKey{0, 1}
			r.fold = newFold(h)
		}
		if object == nil {
			return r.finish()
		}
		if err := r.take(object); err != nil {
			return nil, r.lines.here(err)
		}
	}
}

// take reads a unit, and folds those that are now in order.
func (r *runReader) take(object []byte) error {
	line, key, err := r.fold.readUnit(object)
	if err != nil {
		return err
	}
	sequential := r.fold.head.Sequential
	if _, twice := r.waiting.begun[key]; !sequential && (twice || key.compare(r.next) < 0) {
		return fields.Wrong("unit", line.Unit, "each unit once")
	}
	r.units++
	if err := r.fold.readCells(line, r.waiting.of(key.scenario, key.trial), r.countsOnly); err != nil || sequential {
		return err
	}
	for r.next.scenario < len(r.fold.scenarios) {
		u, here := r.waiting.begun[r.next]
		if !here && r.fold.scenarios[r.next.scenario].asked > 0 {
			break
		}
		if here {
			delete(r.waiting.begun, r.next)
			if err := r.foldUnit(u); err != nil {
				return err
			}
		}
		if r.next.trial++; !here || r.next.trial > r.fold.head.Trials {
			r.next = unitKey{r.next.scenario + 1, 1}
		}
	}
	return nil
}

// readUnit reads the line of a unit.
func (f *fold) readUnit(object []byte) (*runUnit, unitKey, error) {
	line := new(runUnit)
	if err := decodeStrictly(object, line); err != nil {
		return nil, unitKey{}, err
	}
	key, err := f.place(line.Unit)
	return line, key, err
}

// place is the unit of a name: scenario/trial.
func (f *fold) place(name string) (unitKey, error) {
	cut := max(0, strings.LastIndexByte(name, '/'))
	trial := strings.TrimPrefix(name[cut:], "/")
	s, known := f.byName[name[:cut]]
	n, err := strconv.Atoi(trial)
	if !known || err != nil || strconv.Itoa(n) != trial || n < 1 || n > f.head.Trials {
		return unitKey{}, fields.Wrong("unit", name,
			fmt.Sprintf("a scenario of the head, and a trial from 1 to %d", f.head.Trials))
	}
	return unitKey{s.index, n}, nil
}

// addUnit counts the cells of a unit, which comes after those that were added, and returns them.
func (f *fold) addUnit(u *unit) ([]CellReport, error) {
	if f.last.scenario != u.scenario {
		f.last = unitKey{u.scenario, 0}
	}
	f.gaps += (u.trial - f.last.trial - 1) * f.scenarios[u.scenario].asked
	if f.last = u.unitKey; f.gaps > mostGaps {
		return nil, fields.Wrong("unit", u.trial, fmt.Sprintf("at most %d trials that are left out before others", mostGaps))
	}
	return f.addAll([]*unit{u}), nil
}

func (r *runReader) foldUnit(u *unit) error {
	cells, err := r.fold.addUnit(u)
	if !r.countsOnly {
		r.cells = append(r.cells, cells...)
	}
	return err
}

// readCells gives a unit the cells of a line. With countsOnly they have no evidence.
func (f *fold) readCells(line *runUnit, u *unit, countsOnly bool) error {
	h, s := f.head, f.scenarios[u.scenario]
	if len(line.States) != len(u.cells) {
		return fields.Wrong("states", line.States, fmt.Sprintf("%d letters", len(u.cells)))
	}
	own, cells := map[string]*CellReport{}, []*CellReport(nil) // by invariant, and in order
	for k, letter := range []byte(line.States) {
		inv := &h.Invariants[k]
		if letter == doesNotApply != (s.fields[k] == nil) {
			return fields.Wrong("states", line.States, "- for the invariants that do not apply, and for them alone")
		}
		if letter == doesNotApply || letter == notNeeded {
			continue
		}
		c := &CellReport{Cell: Cell{s.Name, inv.Name, u.trial}, Severity: inv.Severity, Layer: s.Layer}
		known := false
		if c.State, c.Violated, known = stateOf(letter); !known {
			return fields.Wrong("states", line.States, "the letters h, b, i, u, U, n, s and -")
		}
		if u.cells[k] != nil {
			return fields.Wrong("unit", line.Unit, "each cell once")
		}
		c.Rerun = rerunLine(h.Rerun, c)
		u.cells[k], own[inv.Name], cells = c, c, append(cells, c)
	}
	if n := len(cells); n == 0 || !fits(line.Delivered, n) || !fits(line.Elapsed, n) {
		return fields.Wrong("states, delivered and elapsedNs", fielderror.Found(fmt.Sprintf("%d cells, and %d and %d numbers",
			n, len(line.Delivered), len(line.Elapsed))), "a cell or more, and a number for each, or one, or none")
	}
	for i, c := range cells {
		c.Delivered, c.Elapsed = listed(line.Delivered, i), time.Duration(listed(line.Elapsed, i))
	}
	for _, name := range slices.Sorted(maps.Keys(line.Cells)) {
		c, known := own[name]
		if !known {
			return fields.Wrong("cells", name, "an invariant with a cell")
		}
		if err := decodeStrictly(line.Cells[name], &unitCell{bareCell: (*bareCell)(c)}); err != nil {
			return err
		}
		if c.Delivered < 0 || c.Rewritten < 0 || c.Rewritten > c.Delivered {
			return fields.Wrong("cells", c.Cell.String(), "counts of 0 or more")
		}
		if countsOnly {
			c.trim(KeepCounts)
		}
	}
	for _, n := range line.Runs { // what runs showed
		var c *CellReport
		if n != nil && n.Of >= 0 && n.Of < len(u.cells) {
			c = own[h.Invariants[n.Of].Name]
		}
		if c == nil || c.notes != nil || !h.Facts || !n.possible(h, s) {
			return fields.Wrong("runs", fielderror.Found("what the head does not know"),
				"a run of each cell at most, none if the head says so, its rules, tools and goals, and counts of 0 or more")
		}
		c.notes = n
	}
	return nil
}

// fits reports whether a list has a number for each cell, or is shortened.
func fits[T int | int64](all []T, cells int) bool { return len(all) < 2 || len(all) == cells }

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
	for _, u := range r.waiting.inOrder() {
		if err := r.foldUnit(u); err != nil {
			return nil, err
		}
	}
	end := r.lines.end
	if end == nil {
		return r.cut()
	}
	if !r.fold.head.Cells && r.units > 0 {
		return nil, fields.Wrong("head.cells", false, "true, as there are units")
	}
	own := (*Report)(end.bareReport)
	again, err := r.fold.again(own)
	if err != nil {
		return nil, err
	}
	if err := r.fold.head.compare("end", again, own); err != nil {
		return nil, err
	}
	own.head, own.Cells = r.fold.head, r.cells
	return own, nil
}

// cut is the report of a run that was killed.
func (r *runReader) cut() (*Report, error) {
	if !r.fold.head.Cells {
		return nil, fields.Wrong("", fielderror.Found("no end"), "an end, in a file without units")
	}
	report, err := r.fold.again(&Report{Goals: r.fold.report.Goals, Cancelled: true})
	if err != nil {
		return nil, err
	}
	r.fold.giveWarnings([]string{fmt.Sprintf("The file has no end, so its run was killed: it has %s of %d units.",
		text.Number(r.units), r.fold.units())})
	report.Cells = r.cells
	return report, nil
}

// units is the number of units of the matrix.
func (f *fold) units() (n int) {
	for _, s := range f.scenarios {
		n += asInt(s.asked > 0) * f.head.Trials
	}
	return n
}

package contract

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/shakedown-go/shakedown/internal/fielderror"
)

// A part is a run file whose units are read one by one: of a merge, or of a run that goes on.
type part struct {
	name  string
	file  *os.File
	info  os.FileInfo
	head  *runHead
	fold  *fold      // of the head; nothing is added to it
	end   *Report    // without cells; nil: its run was killed
	whole bool       // it says that it lacks no unit
	units []fileLine // in the order of the matrix
	next  int        // the first of them that a merge did not read
	calm  map[int]bool
}

// A fileLine is where cells of a unit are in a file.
type fileLine struct {
	unitKey
	from, length int64
	line         int // its number; 0: it was not read
}

func openPart(name string) (p *part, err error) {
	p = &part{name: name, calm: map[int]bool{}}
	if p.info, err = os.Stat(name); err == nil {
		switch mode := p.info.Mode(); {
		case mode.IsDir():
			return nil, p.wrong(0, "", fielderror.Found("a folder"), "a run file")
		case !mode.IsRegular():
			return nil, p.wrong(0, "", fielderror.Found("a device or a pipe"), "a run file, which is read twice")
		}
		p.file, err = os.Open(name)
	}
	if err != nil {
		if cause, ok := errors.AsType[*fs.PathError](err); ok {
			err = cause.Err
		}
		return nil, p.named(fields.Because("", nil, err, "a run file"))
	}
	return p, nil
}

func (p *part) close() {
	if p != nil && p.file != nil {
		p.file.Close() //nolint:errcheck // it was only read
		p.file = nil
	}
}

// wrong is a problem of the part, on a line; 0: on none.
func (p *part) wrong(line int, field string, value any, allowed string) error {
	err := fields.Wrong(field, value, allowed)
	err.File = p.name
	if line > 0 {
		err = err.At(line, 1)
	}
	return err
}

// named gives an error, or each of several, the name of the part.
func (p *part) named(err error) error {
	all := fielderror.Apart(err)
	for i, err := range all {
		if own, ok := errors.AsType[*FieldError](err); ok {
			own.File = p.name
		} else {
			all[i] = fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return errors.Join(all...)
}

// index reads all lines once: units are checked against their sums, and their places are kept. A last line that
// was cut is dropped. Before the first unit the head is checked.
func (p *part) index(check func(*runHead) error) error {
	lines := &runLines{from: bufio.NewReaderSize(p.file, 1<<16)}
	for {
		object, err := lines.unit()
		if err != nil {
			return err
		}
		if p.head == nil {
			p.head = lines.head
			p.fold = newFold(p.head)
			if err := check(p.head); err != nil {
				return err
			}
		}
		if object == nil {
			break
		}
		key, err := p.keyOf(object)
		if err != nil {
			return lines.here(err)
		}
		p.units = append(p.units, fileLine{key, lines.at, lines.next - lines.at, lines.line})
	}
	if lines.end != nil {
		p.end = (*Report)(lines.end.bareReport)
		p.whole = !lines.end.Part && !p.end.Cancelled
	}
	slices.SortStableFunc(p.units, func(a, b fileLine) int { return a.compare(b.unitKey) })
	for i := range p.units[min(1, len(p.units)):] {
		if twice := p.units[i+1]; twice.unitKey == p.units[i].unitKey && !p.head.Sequential {
			return p.wrong(twice.line, "unit", p.fold.nameOf(twice.unitKey), "each unit once")
		}
	}
	return nil
}

// keyOf is the place of a unit, of which only the name is read.
func (p *part) keyOf(object []byte) (unitKey, error) {
	d := json.NewDecoder(bytes.NewReader(object))
	var tokens [3]json.Token // {, "unit" and the name
	for i := range tokens {
		tokens[i], _ = d.Token() // what is no JSON is found below
	}
	if name, ok := tokens[2].(string); ok && tokens[1] == "unit" {
		return p.fold.place(name)
	}
	_, key, err := p.fold.readUnit(object)
	return key, err
}

// unit reads the unit whose first line is that of an index, and the index of the next one. It is there with its line;
// those of a sequential run that was killed may be several, and then it is nil.
func (p *part) unit(first int) (u *unit, line []byte, next int, err error) {
	key := p.units[first].unitKey
	u = &unit{unitKey: key, cells: make([]*CellReport, len(p.head.Invariants))}
	for next = first; next < len(p.units) && p.units[next].unitKey == key; next++ {
		at := p.units[next]
		if line, err = p.line(at); err == nil {
			err = p.fold.addLine(u, line)
		}
		if err != nil {
			return nil, nil, next + 1, atLine(err, at.line)
		}
	}
	if next > first+1 {
		line = nil
	}
	return u, line, next, nil
}

// line reads a line, with its line break also where the file was cut before it.
func (p *part) line(at fileLine) ([]byte, error) {
	line := make([]byte, at.length, at.length+1)
	if n, err := p.file.ReadAt(line, at.from); n < len(line) {
		return nil, fmt.Errorf("contract: run file: line %d: read: %w", at.line, err)
	}
	if !bytes.HasSuffix(line, []byte("\n")) {
		line = append(line, '\n')
	}
	return line, nil
}

// addLine gives a unit the cells of one of its lines.
func (f *fold) addLine(u *unit, line []byte) error {
	object, err := withoutSum(line) // somebody may have written since it was indexed
	if err != nil {
		return err
	}
	read, key, err := f.readUnit(object)
	if err == nil && key != u.unitKey {
		err = fields.Wrong("unit", read.Unit, f.nameOf(u.unitKey))
	}
	if err != nil {
		return err
	}
	u.ms += read.Ms
	return f.readCells(read, u, false)
}

func (f *fold) nameOf(key unitKey) string {
	return fmt.Sprintf("%s/%d", f.head.Scenarios[key.scenario].Name, key.trial)
}

package contract

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/internal/fielderror"
)

// MergeParts makes the report of several run files of one matrix, and writes their run file. It is
// Merge of package contract/report, which describes it and its errors. When it fails, the report is as
// it was, and what was written is no run file.
func (r *Report) MergeParts(w io.Writer, parts ...string) error {
	m := &merger{wrong: fields.ListUpTo(mostWrong)}
	defer m.close()
	if err := m.open(parts); err != nil {
		return err
	}
	merged, err := m.write(w)
	if err == nil {
		*r = *merged
	}
	return err
}

// mostWrong bounds the problems that are described.
const mostWrong = 20

// A merger joins parts. It has where each unit is in memory, and one unit at a time.
type merger struct {
	parts    []*part // by name
	wrong    *fielderror.List
	like     *part    // with whose head those of the others are compared
	head     *runHead // of the result
	fold     *fold
	encoder  *unitEncoder
	lacking  lacking
	calm     map[int]calmOfPart // by question, the calm run that cells were judged with
	repeats  bool               // the agent is known to repeat itself
	differ   differences
	warnings []string // of the units, in order
	said     map[string]bool
}

// A part is one of the files.
type part struct {
	name  string
	file  *os.File
	info  os.FileInfo
	head  *runHead
	end   *Report    // without cells; nil: its run was killed
	whole bool       // it says that it lacks no unit
	units []partLine // in the order of the matrix
	next  int        // the first of them that was not merged
	calm  map[int]bool
}

// A partLine is where a line of a unit is.
type partLine struct {
	unitKey
	line       int
	at, length int64
}

// open reads each file once: its units are checked against their sums, and their places are kept.
func (m *merger) open(names []string) error {
	m.wrong.Demand(len(names) > 0, "parts", fielderror.Found("empty"), "one run file or more")
	names = slices.Clone(names)
	slices.Sort(names)
	for _, name := range names {
		p, err := openPart(name)
		if err != nil {
			m.wrong.Add(err)
			continue
		}
		same := slices.IndexFunc(m.parts, func(other *part) bool { return os.SameFile(p.info, other.info) })
		m.parts = append(m.parts, p)
		if same >= 0 {
			m.wrong.Add(p.wrong(0, "", fielderror.Found("given twice: it is the file "+m.parts[same].name), "each part once"))
			continue
		}
		for _, err := range fielderror.Apart(m.index(p)) {
			m.wrong.Add(p.named(err))
		}
	}
	if m.head != nil {
		m.joinHeads()
	}
	return m.wrong.Err()
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

func (m *merger) close() {
	for _, p := range m.parts {
		_ = p.file.Close() // it was only read
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

// named gives an error the name of the part.
func (p *part) named(err error) error {
	if own, ok := errors.AsType[*FieldError](err); ok {
		own.File = p.name
		return err
	}
	return fmt.Errorf("%s: %w", p.name, err)
}

func (m *merger) index(p *part) error {
	lines := &runLines{from: bufio.NewReaderSize(p.file, 1<<16)}
	for {
		object, err := lines.unit()
		if err != nil {
			return err
		}
		if p.head == nil {
			p.head = lines.head
			if err := m.compareHead(p); err != nil {
				return err
			}
		}
		if object == nil {
			break
		}
		key, err := m.keyOf(object)
		if err != nil {
			return lines.here(err)
		}
		p.units = append(p.units, partLine{key, lines.line, lines.at, lines.next - lines.at})
	}
	if lines.end != nil {
		p.end = (*Report)(lines.end.bareReport)
		p.whole = !lines.end.Part && !p.end.Cancelled
	}
	slices.SortStableFunc(p.units, func(a, b partLine) int { return a.compare(b.unitKey) })
	for i := range p.units[min(1, len(p.units)):] {
		if twice := p.units[i+1]; twice.unitKey == p.units[i].unitKey && !p.head.Sequential {
			return p.wrong(twice.line, "unit", m.nameOf(twice.unitKey), "each unit once")
		}
	}
	return nil
}

// keyOf is the place of a unit, of which only the name is read.
func (m *merger) keyOf(object []byte) (unitKey, error) {
	d := json.NewDecoder(bytes.NewReader(object))
	var tokens [3]json.Token // {, "unit" and the name
	for i := range tokens {
		tokens[i], _ = d.Token() // what is no JSON is found below
	}
	if name, ok := tokens[2].(string); ok && tokens[1] == "unit" {
		return m.fold.place(name)
	}
	_, key, err := m.fold.readUnit(object)
	return key, err
}

func (m *merger) nameOf(key unitKey) string {
	return fmt.Sprintf("%s/%d", m.head.Scenarios[key.scenario].Name, key.trial)
}

// compareHead compares the head of a part with that of the first one. What belongs to one run alone
// may differ: its id, its share and its limits, the version of Go, and the lines that repeat a cell.
func (m *merger) compareHead(p *part) error {
	switch {
	case !p.head.Cells:
		return p.wrong(1, "head.cells", false, "true: a file with units")
	case !p.head.Facts:
		return p.wrong(1, "head.facts", false, "true: the file of a run, with what its runs showed, and no baseline")
	case m.head == nil:
		own := *p.head
		m.like, m.head = p, &own
		m.fold = newFold(m.head, m.warn)
		return nil
	}
	bare := func(h runHead) reflect.Value {
		var none runHead
		h.Run, h.Build, h.Shard, h.Go, h.Rerun = none.Run, none.Build, none.Shard, none.Go, none.Rerun
		h.Budget, h.Probed = none.Budget, none.Probed
		return reflect.ValueOf(h)
	}
	if at, is, want := firstDifference("head", bare(*p.head), bare(*m.like.head)); at != "" {
		return p.wrong(1, at, fielderror.Found(is), want+", as in "+m.like.name)
	}
	return nil
}

// joinHeads completes the head of the result. Parts whose builds are known must have one.
func (m *merger) joinHeads() {
	h := m.head
	h.Shard, h.Build = runHead{}.Shard, ""
	var known *part
	var runs []string
	for _, p := range m.parts {
		switch {
		case p.head == nil:
			continue
		case p.head.Build == "" || p.head.Build == unknownBuild: // a warning says so
		case known == nil:
			known, h.Build = p, p.head.Build
		case p.head.Build != h.Build:
			m.wrong.Add(p.wrong(1, "head.build", p.head.Build, h.Build+", as in "+known.name+"; RunOptions.Build of each run may name it"))
		}
		runs = append(runs, p.head.Run)
		h.Probed = h.Probed || p.head.Probed
		m.repeats = m.repeats || p.end != nil && p.end.Repeatable == "yes"
	}
	for _, p := range m.parts {
		m.repeats = m.repeats && (p.end == nil || p.end.Repeatable != "no" &&
			!slices.ContainsFunc(p.end.Repeats, func(n RepeatCount) bool { return n.Differ != "" }))
	}
	if runs = slices.Compact(slices.Sorted(slices.Values(runs))); len(runs) > 1 { // the same parts make the same id
		id := sha256.Sum256([]byte(strings.Join(runs, " ")))
		runs[0] = hex.EncodeToString(id[:8])
	}
	h.Run, h.Build = runs[0], cmp.Or(h.Build, unknownBuild)
	m.fold.report.StateProbed = h.Probed
}

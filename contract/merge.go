package contract

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
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
	parts   []*part // by name
	wrong   *fielderror.List
	like    *part    // with whose head those of the others are compared
	head    *runHead // of the result
	fold    *fold
	encoder *unitEncoder
	lacking lacking
	calm    map[int]calmOfPart // by question, the calm run that cells were judged with
	repeats bool               // the agent is known to repeat itself
	differ  differences
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
		check := func(*runHead) error { return m.compareHead(p) }
		m.wrong.Add(fielderror.Apart(p.named(p.index(check)))...)
	}
	if m.head != nil {
		m.joinHeads()
	}
	return m.wrong.Err()
}

func (m *merger) close() {
	for _, p := range m.parts {
		p.close()
	}
}

// compareHead compares the head of a part with that of the first one, or of the first whose build is known. What
// belongs to one run alone may differ: its id, its share and its limits, the version of Go, and the lines that repeat
// a cell.
func (m *merger) compareHead(p *part) error {
	problems := fields.List()
	// A shard in which no unit ran has no units; those that it should have had are lacking then.
	problems.Demand(p.head.Cells || p.head.Shard != "", "head.cells", false, "true: a file with units")
	problems.Demand(p.head.Facts, "head.facts", false, "true: the file of a run, with what its runs showed, and no baseline")
	switch {
	case m.like != nil:
		where := ", as in " + m.like.name
		p.head.checkSame(problems, "head", m.like.head, whose{where, where})
		p.head.checkAsks(problems, "head", m.like.head, whose{where, where})
	case problems.Count() == 0:
		own := *p.head
		m.like, m.head = p, &own
		m.fold = newFold(m.head)
	}
	if problems.Count() == 0 && !m.like.head.buildIsKnown() {
		m.like = p
	}
	p.fold = m.fold // it is of the same head
	return atLine(problems.Err(), 1)
}

// joinHeads completes the head of the result.
func (m *merger) joinHeads() {
	h := m.head
	h.Shard, h.Build = "", cmp.Or(m.like.head.Build, unknownBuild)
	var runs []string
	for _, p := range m.parts {
		if p.head == nil {
			continue
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
	h.Run = runs[0]
	m.fold.report.StateProbed = h.Probed
}

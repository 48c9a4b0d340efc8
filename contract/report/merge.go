package report

import (
	"io"

	"github.com/shakedown-go/shakedown/contract"
)

// Merge joins run files of one matrix to the one that a single run had written, and returns its report.
// A part is the file of a shard, of a run that was killed, or of a whole run. Their order plays no part:
// w gets the units in the order of the matrix, and what is counted, promised and compared is judged of
// all of them. Like [contract.KeepCounts] the report has no cells; [Read] of what was written has them.
//
// A unit that no part has, or that a fleet gave up, makes the verdict Inconclusive, unless something broke. A warning
// counts these units and names the first ten. A unit that several parts have alike is there once; times, costs of
// judges and evidence may differ. Where it came out differently, it is an error if the end of a part says that the
// agent repeats itself. Else the one in which more cells ran counts, of two of these the one in which more broke, of
// equal ones that of the first part by name, and a warning says so. The same holds for calm runs, but that each cell
// keeps its own.
//
// The end of a part adds warnings and defects, and that of a whole run the scores that callers set; of several
// parts the first by name counts. The id of the result is made of those of the parts. No search is made:
// [contract.RunOptions] can go on from the result.
//
// Errors: all problems joined, each with its file, and with its line where it has one. They are [*FieldError] for
// parts of another matrix, seed, version of the library or build, and for files that are empty, damaged, of another
// kind, a folder, or given twice. Parts without a known build are a warning. A last line that was cut is
// dropped. When Merge fails, what it wrote to w is no run file.
//
// Time grows with the cells and the bytes of the parts. Memory is that of a report without cells, and about 50
// bytes a unit.
func Merge(w io.Writer, parts ...string) (*contract.Report, error) {
	r := new(contract.Report)
	if err := r.MergeParts(w, parts...); err != nil {
		return nil, err
	}
	return r, nil
}

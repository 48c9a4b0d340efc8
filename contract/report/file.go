package report

import (
	"cmp"
	_ "embed" // for the schema
	"io"

	"github.com/shakedown-go/shakedown/contract"
)

//go:embed schema.json
var schema string

// Schema returns the JSON Schema (draft 2020-12) of a line of a run file, as [Write] writes it.
func Schema() string { return schema }

// WriteOptions are the settings of [Write]; nil and the zero value work.
type WriteOptions struct {
	_ struct{}
	// Stable leaves out what differs between two equal runs: the id of the run, the build, and
	// all times, also virtual ones. Reasons stay as they are, and may name a time.
	Stable bool
	// WithoutEvidence leaves out what an agent was told and said: observations, reasons, lines
	// that repeat a cell, warnings, how goals failed, and of defects all but their sentences
	// and severities. What each run of the agent showed is left out too. So the file is small,
	// and what a report counts of runs is read from its end as it stands.
	WithoutEvidence bool
}

// Write writes the report as a run file: JSON Lines with a head, a line for each unit, and an
// end. A unit is the cells of a scenario and trial. Cells are written in the order of the matrix.
// Errors are those of [contract.Report.WriteRun]: a report that contradicts itself is not written.
//
// Time grows with the cells. Memory is that of the report and of its largest unit.
func Write(w io.Writer, r *contract.Report, o *WriteOptions) error {
	o = cmp.Or(o, new(WriteOptions))
	return r.WriteRun(w, o.Stable, o.WithoutEvidence)
}

// ReadOptions are the settings of [Read]; nil and the zero value work.
type ReadOptions struct {
	_ struct{}
	// CountsOnly leaves out the cells, as [contract.KeepCounts] does: memory then does not grow
	// with their number.
	CountsOnly bool
}

// Read reads a run file to its end: what [Write] wrote, the file of [contract.RunOptions.File],
// or what a run that was killed left of one. Read(Write(r)) equals r in every member but those
// that [contract.Report.ReadRun] names. Its errors are there too.
func Read(rd io.Reader, o *ReadOptions) (*contract.Report, error) {
	r := new(contract.Report)
	if err := r.ReadRun(rd, o != nil && o.CountsOnly); err != nil {
		return nil, err
	}
	return r, nil
}

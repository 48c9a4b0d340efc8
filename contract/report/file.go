package report

import (
	_ "embed" // for the schema
	"io"

	"github.com/shakedown-go/shakedown/contract"
)

//go:embed schema.json
var schema string

// Schema returns the JSON Schema (draft 2020-12) of a line of a run file, as [Write] writes it.
func Schema() string { return schema }

// WriteOptions are the settings of [Write].
type WriteOptions = contract.RunFileOptions

// Write writes the report as a run file: JSON Lines with a head, a line for each unit, and an
// end. A unit is the cells of a scenario and trial. See [contract.WriteRun] for its errors; the
// package documentation says what is in a line.
//
// Time grows with the cells. Memory is that of the report and of its largest unit.
func Write(w io.Writer, r *contract.Report, o *WriteOptions) error { return contract.WriteRun(w, r, o) }

// ReadOptions are the settings of [Read].
type ReadOptions = contract.ReadRunOptions

// Read reads a run file to its end: what [Write] wrote, the file of [contract.RunOptions.File],
// or what a run that was killed left of one. Read(Write(r)) equals r in every member but those
// that [contract.ReadRun] names. Its errors are there too.
func Read(r io.Reader, o *ReadOptions) (*contract.Report, error) { return contract.ReadRun(r, o) }

package report

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/wholefile"
)

// Files writes the report in every form to a folder, which it makes if there is none:
// report.txt, report.run.jsonl (the run file), report.xml (JUnit), report.html and report.md.
// Each file is replaced as a whole, so that a reader never sees half of one. The options are
// those of JUnit; nil: the defaults.
//
// Errors: those of the formats and of the file system, all joined. A format that
// fails does not keep the others from being written.
func Files(dir string, r *contract.Report, o *JUnitOptions) error {
	if err := check(r); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("report: files: %w", err)
	}
	var errs []error
	for _, f := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{"report.txt", func(w io.Writer) error { return Text(w, r, nil) }},
		{"report.run.jsonl", func(w io.Writer) error { return Write(w, r, nil) }},
		{"report.xml", func(w io.Writer) error { return JUnit(w, r, o) }},
		{"report.html", func(w io.Writer) error { return HTML(w, r) }},
		{"report.md", func(w io.Writer) error { return Markdown(w, r) }},
	} {
		if err := wholefile.WriteFunc(filepath.Join(dir, f.name), f.write); err != nil {
			errs = append(errs, fmt.Errorf("report: files: %s: %w", f.name, err))
		}
	}
	return errors.Join(errs...)
}

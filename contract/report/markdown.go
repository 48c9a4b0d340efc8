package report

import (
	"cmp"
	"io"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/document"
)

const (
	// defaultBytes is the limit of a GitHub comment.
	defaultBytes = 65536
	// minBytes holds the verdict and the numbers even if every character is an
	// entity.
	minBytes = 16384
)

// MarkdownOptions are the settings of [Markdown]; nil and the zero value work.
type MarkdownOptions struct {
	_ struct{}
	// MaxBroken bounds the broken cells that are shown in detail; 0: 20, negative:
	// no bound. Trials that broke for the same reason count once. The text says how
	// many were left out.
	MaxBroken int
	// MaxBytes bounds the whole text in bytes, 16384 and up; 0: 65536, the limit of
	// a GitHub comment. Parts that do not fit are left out, and the text says so.
	MaxBytes int
}

// Markdown writes the report for a comment on a pull request, in GitHub's
// dialect: the verdict, the numbers, the table, and the folded evidence of the
// broken cells.
//
// Texts of the agent are escaped and put in <pre> elements, so that they format,
// link, mention and embed nothing. Names are put in <code> elements.
//
// Errors: [*FieldError] for a nil report and for a MaxBytes that is not allowed, before
// anything is written; and those of the writer.
func Markdown(w io.Writer, r *contract.Report, o *MarkdownOptions) error {
	o = cmp.Or(o, new(MarkdownOptions))
	if o.MaxBytes != 0 && o.MaxBytes < minBytes {
		return fields.Wrong("MarkdownOptions.MaxBytes", o.MaxBytes, "0, or 16384 and up")
	}
	if err := check(r); err != nil {
		return err
	}
	v := newView(r, limit(o.MaxBroken, defaultBroken))
	d := document.Document{Title: title(r), Verdict: verdictOf(r)}
	d.Sections = append(d.Sections, v.defects(), v.matrix(""), &document.Section{Facts: facts(r)},
		v.notes(withCalm(r, notes(r))), v.coverage(), v.rates())
	d.Sections = append(d.Sections, v.broken(false, v.groups)...)
	d.Sections = append(d.Sections, v.undecided())
	_, err := w.Write(d.Markdown(limit(o.MaxBytes, defaultBytes)))
	return written(err)
}

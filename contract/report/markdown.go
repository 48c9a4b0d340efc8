package report

import (
	"io"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/document"
)

// commentBytes is the limit of a GitHub comment.
const commentBytes = 65536

// Markdown writes the report for a comment on a pull request, in GitHub's
// dialect: the verdict, the numbers, the table, and the folded evidence of the first 20
// broken cells. What does not fit into 65,536 bytes is left out, and counted.
//
// Texts of the agent are escaped and put in <pre> elements, so that they format,
// link, mention and embed nothing. Names are put in <code> elements.
//
// Errors: [*FieldError] for a nil report, before anything is written; and those of the writer.
func Markdown(w io.Writer, r *contract.Report) error {
	if err := check(r); err != nil {
		return err
	}
	v := newView(r, mostBroken)
	d := document.Document{Title: title(r), Verdict: verdictOf(r)}
	d.Sections = append(d.Sections, v.defects(), v.matrix(""), &document.Section{Facts: facts(r)},
		v.notes(), v.rates(), v.broken(v.groups), v.undecided())
	_, err := w.Write(d.Markdown(commentBytes))
	return written(err)
}

package replay

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/contract/findings"
	display "github.com/shakedown-go/shakedown/internal/document"
	"github.com/shakedown-go/shakedown/internal/text"
)

const columns = 160

// Text writes what a session has and what it lacks, and what its calls show ([Session.Findings]), for
// people: a line each, of at most 160 columns, in which no text of the session has an effect. The
// errors are those of the findings and of the writer.
func Text(w io.Writer, s *Session) error {
	found, err := s.Findings(nil)
	if err != nil {
		return err
	}
	var b strings.Builder
	say := func(format string, args ...any) {
		fmt.Fprintln(&b, display.Line(fmt.Sprintf(format, args...), columns))
	}
	at := "at an unknown time"
	if !s.Source.CapturedAt.IsZero() {
		at = s.Source.CapturedAt.UTC().Format(time.RFC3339)
	}
	say("%s: %s, %s, recorded %s", s.Name, cmp.Or(s.Source.Dialect, "no dialect"), text.Plural(len(s.Calls), "call"), at)
	for _, p := range s.Prompts {
		say("  prompt      %s", p)
	}
	say("  answer      %s", cmp.Or(s.Answer, "not known"))
	for i := range s.Calls {
		c := &s.Calls[i]
		ending, lacks := "ok", ""
		if failed := c.Failure(); failed != nil {
			ending = failed.Text
		}
		if len(c.Missing) > 0 {
			lacks = fmt.Sprintf("missing %v; ", c.Missing)
		}
		say("  call %-6d %s, %v, effect %s; %s%s", i+1, c.Tool, c.Took.Round(time.Millisecond),
			cmp.Or(string(c.Effect), "not declared"), lacks, ending)
	}
	for _, note := range s.Notes {
		say("  note        %s", note)
	}
	for _, f := range found.Findings {
		calls := fmt.Sprintf("%s %v", text.Noun(len(f.Calls), "call", "calls"), f.Calls)
		if len(f.Calls) == 0 {
			calls = "no call"
		}
		say("  finding     %s, %s: %s", f.Kind, calls, f.Text)
	}
	delete(found.Unjudged, findings.FalseSuccess) // a session has no claims
	for _, kind := range slices.Sorted(maps.Keys(found.Unjudged)) {
		say("  not judged  %s: %s", kind, found.Unjudged[kind])
	}
	_, err = io.WriteString(w, b.String())
	return err
}

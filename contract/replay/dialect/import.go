package dialect

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract/replay"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/otlp"
	"github.com/shakedown-go/shakedown/internal/text"
)

// fields makes the errors of this package, which are those of package replay.
const fields = fielderror.Package("replay")

// Options say what the caller knows of a record, and bound it. The zero value,
// and nil, give the defaults.
type Options struct {
	_ struct{}
	// Dialect is the form of the record, one of [Names]; "": it is told by the members of
	// the input.
	Dialect string
	// Tools are the tools that the agent had, with what they declare: calls of those
	// that have effects get an Effect. They become those of each session.
	Tools []chaos.Tool
	// Redact takes personal data out of everything that is imported: it returns the
	// JSON document that is kept in place of doc. target is the tool or the model whose
	// arguments, result or error doc is, and "" for prompts and answers. Texts, also
	// those of errors, are JSON strings, and must stay such. nil: nothing. Well-known
	// forms of keys, tokens and passwords are masked in any case, before Redact.
	Redact func(target string, doc []byte) []byte
	// MaxBytes is the largest length of an input, in bytes; 0: 64 MiB.
	MaxBytes int64
}

const (
	largestName = 120 // bytes of a session's name
	longID      = 24  // bytes of an id of which a name has the beginning alone
	shortID     = 8
)

// Import reads the runs of agents that others recorded: a session each, in the order in
// which they began. docs/recordings.md has what each dialect tells and lacks, and how to
// export it.
//
// Calls are as the agent saw them; one that two instrumentations saw, or that was exported
// twice, is one. A call gets a lane of its own where it overlaps another that it is not a part
// of. What was not captured is in Missing, what was cut off is Truncated, and a failure that
// only the result tells of is Suspected. Effect is set for tools that declare
// [chaos.EffectDone].
//
// What names a call and did not become one is counted in NotImported, and Notes say what it
// was. Where no tool has a span of its own, the calls are made of what the models were asked
// and told; they have no times.
//
// A part of the input without calls and prompts, such as a trace of another program, is
// no run of an agent. If there is none at all, that is an error.
//
// Members of unknown names are ignored. All other problems are joined, the first 16 as a
// [*replay.FieldError] with its line. With an error there are no sessions.
func Import(r io.Reader, o *Options) ([]*replay.Session, error) {
	options := *cmp.Or(o, &Options{})
	if err := (&replay.Session{Name: "import", Tools: options.Tools}).Validate(); err != nil {
		return nil, err
	}
	input, err := otlp.ReadAll(r, options.MaxBytes, fields)
	if err != nil {
		return nil, err
	}
	sessions, notes, err := read(input, &options)
	if err != nil {
		return nil, err
	}
	if len(sessions) == 0 {
		found := "without calls"
		if len(notes) > 0 {
			found += ", with " + text.Some(notes, 4)
		}
		return nil, fields.Wrong("input", fielderror.Found(found),
			"a run of an agent: with a call of a tool or a model, or a prompt")
	}
	wrong := fields.ListUpTo(maxReported)
	taken := make(map[string]int)
	for i, s := range sessions {
		s.Name = nameOf(s.Source, i, taken)
		wrong.Add(s.Validate()) // what could not be written is not imported
	}
	if err := wrong.Err(); err != nil {
		return nil, err
	}
	return sessions, nil
}

// nameOf returns a name that no other session of the input has: the dialect and the id,
// or the number where there is none. taken has the number of the last session for which a
// name was wanted.
func nameOf(o replay.Origin, i int, taken map[string]int) string {
	id := strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == '-':
			return c
		}
		return '_'
	}, o.ID)
	if len(id) >= longID {
		id = id[:shortID] // of a trace id or a UUID, which the session's origin has
	}
	if id == "" {
		id = fmt.Sprint(i + 1)
	}
	const suffix = len("-1048576")
	base := o.Dialect + "-" + id
	base = base[:min(len(base), largestName-suffix)]
	name := base
	for taken[name] > 0 {
		taken[base]++
		name = fmt.Sprintf("%s-%d", base, taken[base])
	}
	taken[name]++
	return name
}

package dialect

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract/replay"
	"github.com/shakedown-go/shakedown/internal/fielderror"
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
	// MaxSpans is the largest number of spans, messages or lines; 0: 1,048,576.
	MaxSpans int
}

// settings are options that were checked.
type settings = Options

const (
	defaultMaxBytes = 64 << 20
	largestMaxBytes = 1 << 40
	defaultMaxSpans = 1 << 20
	largestName     = 120 // bytes of a session's name
	longID          = 24  // bytes of an id of which a name has the beginning alone
	shortID         = 8
)

func (o *Options) withDefaults() (settings, error) {
	c := *cmp.Or(o, &Options{})
	wrong := fields.List()
	if c.MaxBytes < 0 || c.MaxBytes > largestMaxBytes {
		wrong.Wrong("maxBytes", c.MaxBytes, "at most 1 TiB, or 0 for 64 MiB")
	}
	wrong.Demand(c.MaxSpans >= 0, "maxSpans", c.MaxSpans, "a number of spans, or 0 for 1048576")
	if names := Names(); c.Dialect != "" {
		wrong.Demand(slices.Contains(names, c.Dialect), "dialect", c.Dialect,
			strings.Join(names, ", ")+text.Meant(c.Dialect, names))
	}
	wrong.Add((&replay.Session{Name: "import", Tools: c.Tools}).Validate())
	c.MaxBytes = cmp.Or(c.MaxBytes, defaultMaxBytes)
	c.MaxSpans = cmp.Or(c.MaxSpans, defaultMaxSpans)
	return c, wrong.Err()
}

// Import reads the runs of agents that others recorded: a session each, in the order in
// which they began. docs/traces.md has what each dialect tells and lacks, and how to
// export it.
//
//   - Calls are those of tools, and of models where the record has them, as the agent
//     saw them. A call that two instrumentations saw, or that was exported twice, is
//     one call.
//   - At counts from the first thing that the record has of the run. A call gets a lane
//     of its own where it overlaps another that it is not a part of: the first lane is
//     "", the others are "2", "3" and so on. In records without times At and Took are 0,
//     and calls overlap that were asked for before the first of them was answered.
//   - What was not captured is in Missing, what was cut off is Truncated. A failure
//     that only the result tells of is Suspected, and is no Error; where nobody knows,
//     Outcome is Missing ([findings.Judge]).
//   - Effect is set for tools that declare [chaos.EffectDone]: done; none where the
//     callee was not reached or refused the request; unknown after any other failure,
//     and where the end or the outcome is missing.
//   - Prompts and answer are those of the outermost step, else what the user said
//     first and the model last.
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
	options, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	input, err := io.ReadAll(io.LimitReader(r, options.MaxBytes+1))
	if err != nil {
		return nil, err
	}
	if int64(len(input)) > options.MaxBytes {
		return nil, fields.Wrong("input", fielderror.Found("too long"), "at most MaxBytes bytes in all")
	}
	traces, notes, err := read(input, &options)
	if err != nil {
		return nil, err
	}
	if len(traces) == 0 {
		found := "without calls"
		if len(notes) > 0 {
			found += ", with " + text.Some(notes, 4)
		}
		return nil, fields.Wrong("input", fielderror.Found(found),
			"a run of an agent: with a call of a tool or a model, or a prompt")
	}
	wrong := fields.ListUpTo(maxReported)
	taken := make(map[string]int)
	sessions := make([]*replay.Session, len(traces))
	for i := range traces {
		t := &traces[i]
		sessions[i] = &replay.Session{
			Name: nameOf(t, i, taken), Source: replay.Origin{Dialect: t.dialect, ID: t.id, CapturedAt: t.capturedAt},
			Prompts: t.prompts, Answer: t.answer, Tools: slices.Clone(options.Tools), Calls: t.calls,
			NotImported: t.notImported, Notes: t.notes,
		}
		wrong.Add(sessions[i].Validate()) // what could not be written is not imported
	}
	if err := wrong.Err(); err != nil {
		return nil, err
	}
	return sessions, nil
}

// nameOf returns a name that no other session of the input has: the dialect and the id,
// or the number where there is none. taken has the number of the last session for which a
// name was wanted.
func nameOf(t *trace, i int, taken map[string]int) string {
	id := strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == '-':
			return c
		}
		return '_'
	}, t.id)
	if len(id) >= longID {
		id = id[:shortID] // of a trace id or a UUID, which the session's origin has
	}
	if id == "" {
		id = fmt.Sprint(i + 1)
	}
	const suffix = len("-1048576")
	base := t.dialect + "-" + id
	base = base[:min(len(base), largestName-suffix)]
	name := base
	for taken[name] > 0 {
		taken[base]++
		name = fmt.Sprintf("%s-%d", base, taken[base])
	}
	taken[name]++
	return name
}

package habits

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/internal/text"
)

// A Habit is middleware around a registry of tools that a user may keep in production. The functions of this package
// make it. It keeps nothing of the calls, so it may be used many times and at the same time. The zero value, and one
// with a wrong option, act on no tool.
type Habit struct {
	// Name is the habit's name in events and reports, such as "idempotency-key".
	Name string
	// Does is what it does, as behind "mended by": "an idempotency key".
	Does string
	// Assumes is what must hold for the habit to help and do no harm, one sentence.
	Assumes string

	rank    rank
	options Options
	tools   *glob.Glob // Options.Tools
	wrong   []string   // what is wrong with the options that were given
	watches bool       // its handler also gets the calls of tools on which it does not act
	// on says why the habit does not act on a tool, "" if it does, and notes what it then needs to know of it.
	on    func(f *facts, t *chaos.Tool, all []chaos.Tool) (why string)
	start func(o Options) handler // with a fresh state
}

// A rank is a habit's place in the order: a lower one is nearer to the agent.
type rank int

const (
	rankTell rank = iota
	rankStop
	rankSingle
	rankMemory
	rankKey // outside of what repeats, so that all tries have one key
	rankRetries
	rankLook
	rankSchema   // inside of what repeats: a bad result of a read is worth another try
	rankDeadline // of each try
)

// Options are the settings of a habit; nil and the zero value work. A field that the habit does not know and a number
// below 0 are wrong: [Habit.On] says so. Functions must be safe for concurrent use.
type Options struct {
	_ struct{}
	// Tools is a glob of the tools on which the habit may act; "": all. All habits know it.
	Tools string
	// After is the time that a call may take, for [Deadlines]; 0: 10 s.
	After time.Duration
	// For is how long an answer is remembered, for [RememberReads] and [StopWhenPermanent]; 0: a minute.
	For time.Duration
	// Tries is the number of calls in all, for [Retries] (0: 4) and [LookFirst] (0: 3).
	Tries int
	// Wait is for [Retries] the pause before the second try; 0: 250 ms. It doubles with each further one, and up to a
	// quarter of each pause is left out, at random. For [LookFirst] it is the pause before each look after a failure;
	// 0: 1 s. Work that goes on in the tool after a failure must be done by then.
	Wait time.Duration
	// MaxWait is the longest pause of [Retries]; 0: 30 s. A callee that asks for a longer one is not called again.
	MaxWait time.Duration
	// NewKey makes a key for an operation that begins, for [IdempotencyKeys]. No two operations of any processes may
	// have the same. nil or a key of "": a random text, and in virtual time one that is the same in each run of a cell.
	NewKey func(ctx context.Context, tool string, args json.RawMessage) string
	// Reads has for a tool the name of the one that shows its effect, for [LookFirst]. For a tool that it does not name
	// it is the only one that is declared to change nothing, requires an argument, and requires none that the tool does
	// not take.
	Reads map[string]string
	// Result makes the result of a call whose effect is shown by what the read returned, for [LookFirst]. nil: an object
	// with the members "done", true, "note", a sentence, and "shown", what the read returned.
	Result func(tool string, args, shown json.RawMessage) (json.RawMessage, error)
}

// habit completes a habit by what o sets of its options. It knows those that have a default.
func (o *Options) habit(h *Habit) *Habit {
	h.options.Tools = "*"
	if o == nil {
		o = &Options{}
	}
	given, own := reflect.ValueOf(*o), reflect.ValueOf(&h.options).Elem()
	for i := range given.NumField() {
		name, value := given.Type().Field(i).Name, given.Field(i)
		switch {
		case value.IsZero():
		case own.Field(i).IsZero():
			h.wrong = append(h.wrong, fmt.Sprintf("%s is set, but %s does not know it", name, h.Name))
		case value.CanInt() && value.Int() < 0:
			h.wrong = append(h.wrong, fmt.Sprintf("%s is %v; allowed: 0 or more", name, value))
		default:
			own.Field(i).Set(value)
		}
	}
	var err error
	if h.tools, err = glob.Compile(h.options.Tools); err != nil {
		h.wrong = append(h.wrong, fmt.Sprintf("Tools is %q: %v", h.options.Tools, err))
	}
	return h
}

// facts are what a habit finds out about a tool on which it acts.
type facts struct {
	read   read                 // that shows its effect
	schema *jsonschema.Resolved // of its results
}

// anyTool has a habit act on every tool.
func anyTool(*facts, *chaos.Tool, []chaos.Tool) string { return "" }

// find returns what the habit needs to know of a tool, or why it does not act on it.
func (h *Habit) find(t *chaos.Tool, all []chaos.Tool) (f facts, why string) {
	switch {
	case h.on == nil:
		return f, "the habit is the zero value"
	case len(h.wrong) > 0:
		return f, "its options are wrong"
	case !h.tools.Match(t.Name):
		return f, "the options leave it out"
	}
	why = h.on(&f, t, all)
	return f, why
}

// On returns the names of the tools on which the habit can act. If there are none, abstains says why.
func (h *Habit) On(tools []chaos.Tool) (names []string, abstains string) {
	reasons := []string{}
	for i := range tools {
		if _, why := h.find(&tools[i], tools); why != "" {
			reasons = append(reasons, tools[i].Name+": "+why)
		} else {
			names = append(names, tools[i].Name)
		}
	}
	switch {
	case len(names) > 0:
		return names, ""
	case len(h.wrong) > 0:
		reasons = h.wrong
	case len(tools) == 0:
		return nil, "there are no tools"
	}
	return nil, text.Some(reasons, 3)
}

// All returns the habits of this package with their defaults, in the order of [Around].
func All() []*Habit {
	return []*Habit{TellFailures(nil), StopWhenPermanent(nil), OneAtATime(nil), RememberReads(nil),
		IdempotencyKeys(nil), Retries(nil), LookFirst(nil), CheckResults(nil), Deadlines(nil)}
}

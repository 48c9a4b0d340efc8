package habits

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/hash"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/jsonhash"
)

// LookOptions are the settings of [LookFirst]; nil and the zero value work.
type LookOptions struct {
	_ struct{}
	// Tools is a glob of the tools on which the habit may act; "": all.
	Tools string
	// Reads has for a tool the names of those that show its effect. For a tool that it does not name they are those
	// that are declared to change nothing, require an argument, and require none that the tool does not take.
	Reads map[string][]string
	// Tries is the number of calls in all; 0: 3.
	Tries int
	// Wait is the pause before each of the two looks after a failure; 0: 1 s. Work that goes on in the tool after a
	// failure must be done by then.
	Wait time.Duration
	// Result makes the result of a call whose effect is shown by what the reads returned. It must be safe for
	// concurrent use. nil: an object with the members "done", true, "note", a sentence, and "shown", what each read
	// returned.
	Result func(tool string, args json.RawMessage, shown map[string]json.RawMessage) (json.RawMessage, error)
}

// mostReads bounds the reads that show one effect.
const mostReads = 3

// LookFirst looks before it repeats an effect of unknown outcome. It calls the tools that show the effect before the
// call and, if that fails so that nobody knows whether the work was done, twice after it. If they return something
// else than before, the work was done, and the caller gets a result that says so. If they return the same, the call
// is made again. If one fails or the two looks differ, the caller gets the failure. A call that has the tool's
// idempotency key needs no look. Calls about the same thing wait for each other. The name is "look-before-repeat".
func LookFirst(o *LookOptions) *Habit {
	l := or(o)
	h := &Habit{
		Name: "look-before-repeat", Does: "a look before the repeat",
		Assumes: "what the reads return changes by the effect, within the pause, and meanwhile by nothing else",
		rank:    rankLook, abstains: l.find,
		start: func() handler { return (&look{LookOptions: &l}).handle },
	}
	notNegative(h, "Tries", l.Tries)
	notNegative(h, "Wait", l.Wait)
	l.Tries, l.Wait = cmp.Or(l.Tries, 3), cmp.Or(l.Wait, time.Second)
	return h.on(l.Tools)
}

// A read is a tool that shows an effect, with the arguments that it requires.
type read struct {
	tool     string
	requires []string
}

// find returns the reads that show the effect of a tool.
func (l *LookOptions) find(t *chaos.Tool, all []chaos.Tool) (f facts, why string) {
	named, isNamed := l.Reads[t.Name]
	takes, _ := parameters(t)
	for i := range all {
		_, requires := parameters(&all[i])
		shows := slices.Contains(named, all[i].Name)
		if !isNamed {
			shows = all[i].Effect == chaos.EffectNone && len(requires) > 0 &&
				!slices.ContainsFunc(requires, func(name string) bool { return !slices.Contains(takes, name) })
		}
		if shows {
			f.reads = append(f.reads, read{all[i].Name, requires})
		}
	}
	switch {
	case t.Effect != chaos.EffectDone && !isNamed:
		why = "it is not declared to have an effect"
	case len(f.reads) == 0:
		why = "no tool is known to show its effect"
	case len(f.reads) > mostReads:
		why = fmt.Sprintf("more than %d tools could show its effect", mostReads)
	}
	return f, why
}

// parameters are the names of the arguments that a tool takes, and of those that it requires.
func parameters(t *chaos.Tool) (takes, requires []string) {
	schema, _ := jsonedit.ParseValue(t.InputSchema)
	for _, v := range schema.Get("required").Values() {
		requires = append(requires, v.String())
	}
	return schema.Get("properties").Keys(), requires
}

type look struct {
	*LookOptions
	turns turns
}

// A view is what each read is asked, or what it returned.
type view map[string]json.RawMessage

func (l *look) handle(ctx context.Context, c *call) (json.RawMessage, error) {
	questions, about, ok := questionsOf(c)
	if !ok || hasKey(c.tool, c.args) {
		return c.pass(ctx)
	}
	for { // the effect of another call about the same thing would be taken for that of this one
		turn, mine := l.turns.begin(about)
		if mine {
			defer l.turns.end(about, turn)
			break
		}
		if err := turn.wait(ctx); err != nil {
			return nil, err
		}
	}
	before, ok := questions.ask(c.own(ctx), c)
	result, err := c.pass(ctx)
	for try := 1; ok; try++ {
		f := failureOf(result, err)
		if f == nil || !f.doubtful() {
			break
		}
		after, seen := l.lookAgain(ctx, c, questions)
		if seen && !maps.EqualFunc(after, before, sameJSON) {
			return l.shown(c, after)
		}
		if !seen || try >= l.Tries {
			break
		}
		result, err = c.pass(c.own(ctx))
	}
	return result, err
}

func sameJSON(a, b json.RawMessage) bool { return jsonhash.Same(a, b) }

// questionsOf takes the arguments of the reads from those of the call. Calls about the same thing have the same
// operation. ok is false if the call lacks an argument.
func questionsOf(c *call) (questions view, about operation, ok bool) {
	args, _ := jsonedit.ParseValue(c.args)
	questions = view{}
	for _, r := range c.reads {
		question := jsonedit.Of(struct{}{})
		for _, name := range r.requires {
			v := args.Get(name)
			if v == nil {
				return nil, about, false
			}
			question.Set(name, v)
		}
		questions[r.tool] = question.JSON()
		about.tool += r.tool + "\n"
		about.args = hash.Combine(about.args, jsonhash.Sum(questions[r.tool]))
	}
	return questions, about, true
}

// ask calls the reads. ok is false if one fails.
func (questions view) ask(ctx context.Context, c *call) (answers view, ok bool) {
	answers = view{}
	for _, r := range c.reads {
		result, err := c.next(ctx, r.tool, questions[r.tool])
		if failureOf(result, err) != nil {
			return nil, false
		}
		answers[r.tool] = result
	}
	return answers, true
}

// lookAgain looks twice. ok is false if a look fails, or they differ: what changes by itself shows nothing.
func (l *look) lookAgain(ctx context.Context, c *call, questions view) (seen view, ok bool) {
	var looks [2]view
	for i := range looks {
		if chaos.Sleep(ctx, l.Wait) != nil {
			return nil, false
		}
		if looks[i], ok = questions.ask(c.own(ctx), c); !ok {
			return nil, false
		}
	}
	return looks[1], maps.EqualFunc(looks[0], looks[1], sameJSON)
}

func (l *look) shown(c *call, shown view) (json.RawMessage, error) {
	if l.Result != nil {
		return l.Result(c.tool.Name, c.args, shown)
	}
	return json.Marshal(struct {
		Done  bool   `json:"done"`
		Note  string `json:"note"`
		Shown view   `json:"shown"`
	}{true, "The answer of " + c.tool.Name + " was lost, but its work was done: " +
		strings.Join(slices.Sorted(maps.Keys(shown)), ", ") + " shows it.", shown})
}

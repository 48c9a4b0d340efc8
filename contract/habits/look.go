package habits

import (
	"context"
	"encoding/json"
	"fmt"
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
	// Tools is a glob of the tools on which it may act; "": all.
	Tools string
	// Reads has for a tool the names of those that show its effect. For a tool that it does not name, they are
	// those that are declared to change nothing, need at least one argument, and need none that the tool lacks.
	Reads map[string][]string
	// Tries is the number of calls in all, 2 or more; 0: 3.
	Tries int
	// Wait is the pause before a look and before the look that confirms it, above 0; 0: 1 s. Work that goes on
	// in the tool after a failure must be done by then.
	Wait time.Duration
	// Result makes the result of a call whose effect is shown, from what the reads returned; nil: an object with
	// the members "done", true, "note", a sentence, and "shown", what they returned by their names.
	Result func(tool string, args json.RawMessage, shown map[string]json.RawMessage) (json.RawMessage, error)
}

// mostReads bounds the look-ups before each effect.
const mostReads = 3

// LookFirst looks before it repeats an effect of unknown outcome. It calls the tools that show the effect before the
// effect, and, if that fails so that nobody knows whether the work was done, twice again after a pause. If they
// return something else than before, the work was done, and the caller gets a result that says so. If they return
// the same, the call is made again. If they fail, or the two looks differ, nobody knows, and the caller gets the
// failure. A call that has the tool's idempotency key needs no look. Calls about the same thing wait for each other.
//
// Name: look-before-repeat.
func LookFirst(o *LookOptions) *Habit {
	l := look{LookOptions: LookOptions{Tries: 3, Wait: time.Second}}
	h := &Habit{
		Name: "look-before-repeat", Does: "a look before the repeat",
		Assumes: "what the reads return changes by the effect, within the pause, and meanwhile by nothing else",
		rank:    rankLook,
	}
	if o != nil {
		if l.Reads, l.Result, h.tools = o.Reads, o.Result, o.Tools; o.Tries != 0 {
			l.Tries = o.Tries
		}
		if o.Wait != 0 {
			l.Wait = o.Wait
		}
		h.demand(l.Tries >= 2, "Tries", o.Tries, "2 or more, or 0 for 3")
		h.demand(l.Wait > 0, "Wait", o.Wait, "more than 0, or 0 for 1s")
	}
	h.abstains = func(t *chaos.Tool, all []chaos.Tool) string {
		_, why := l.reads(t, all)
		return why
	}
	h.start = func(*Habit) handler {
		running := l
		running.turns = &turns{}
		return running.handle
	}
	return h
}

type look struct {
	LookOptions
	turns *turns
}

// reads returns the tools that show the effect of a tool, or why there are none.
func (l *look) reads(t *chaos.Tool, all []chaos.Tool) (reads []read, why string) {
	named, isNamed := l.Reads[t.Name]
	properties, _ := parameters(t)
	for i := range all {
		r := &all[i]
		_, needs := parameters(r)
		switch {
		case isNamed && slices.Contains(named, r.Name),
			!isNamed && r.Effect == chaos.EffectNone && len(needs) > 0 &&
				!slices.ContainsFunc(needs, func(name string) bool { return !slices.Contains(properties, name) }):
			reads = append(reads, read{r.Name, needs})
		}
	}
	switch {
	case t.Effect != chaos.EffectDone && !isNamed:
		return nil, "not declared to have an effect"
	case len(reads) == 0:
		return nil, "no tool is known to show its effect"
	case len(reads) > mostReads:
		return nil, fmt.Sprintf("more than %d tools could show its effect", mostReads)
	}
	return reads, ""
}

// A read is a tool that shows an effect, and the arguments that it needs.
type read struct {
	tool  string
	needs []string
}

// parameters are the names of the arguments that a tool takes, and of those that it needs.
func parameters(t *chaos.Tool) (takes, needs []string) {
	schema, ok := jsonedit.ParseValue(t.InputSchema)
	if !ok {
		return nil, nil
	}
	for _, v := range schema.Get("required").Values() {
		needs = append(needs, v.String())
	}
	return schema.Get("properties").Keys(), needs
}

// A view is what the reads returned.
type view map[string]json.RawMessage

func (v view) same(other view) bool {
	for name, doc := range v {
		if !jsonhash.Same(doc, other[name]) {
			return false
		}
	}
	return true
}

func (l *look) handle(ctx context.Context, c *call, next caller) (json.RawMessage, error) {
	if !c.acts || hasKey(c.tool, c.args) {
		return c.pass(ctx, next)
	}
	questions, about, ok := l.questions(c)
	if !ok {
		return c.pass(ctx, next)
	}
	end, err := l.turns.take(ctx, about)
	if err != nil {
		return nil, err
	}
	defer end()
	before, ok := l.view(ctx, c, questions, next)
	result, err := c.pass(ctx, next)
	for try := 1; ok; try++ {
		f := failureOf(result, err)
		if f == nil || !f.doubtful() || ctx.Err() != nil {
			break
		}
		after, seen := l.lookAgain(ctx, c, questions, next)
		switch {
		case !seen:
			return result, err
		case !after.same(before):
			return l.shown(c, after)
		case try == l.Tries:
			return result, err
		}
		result, err = c.own(ctx, next)
	}
	return result, err
}

// questions are the arguments of the reads, taken from those of the call, and the operation under which calls about the
// same thing wait for each other. ok is false if the call lacks an argument.
func (l *look) questions(c *call) (questions view, about operation, ok bool) {
	args, _ := jsonedit.ParseValue(c.args)
	reads, _ := l.reads(c.tool, c.all)
	questions = view{}
	for _, r := range reads {
		q := jsonedit.Of(struct{}{})
		for _, name := range r.needs {
			v := args.Get(name)
			if v == nil {
				return nil, about, false
			}
			q.Set(name, v)
		}
		questions[r.tool] = q.JSON()
		about.tool += r.tool + "\n"
		about.args = hash.Combine(about.args, jsonhash.Sum(questions[r.tool]))
	}
	return questions, about, true
}

// view calls the reads, in the order of their names. ok is false if one fails.
func (l *look) view(ctx context.Context, c *call, questions view, next caller) (seen view, ok bool) {
	seen = view{}
	for _, name := range sorted(questions) {
		doc, err := next(chaos.WithHabit(ctx, c.habit.Name), name, questions[name])
		if failureOf(doc, err) != nil {
			return nil, false
		}
		seen[name] = doc
	}
	return seen, true
}

// lookAgain looks twice after pauses. ok is false if a look fails, or they differ.
func (l *look) lookAgain(ctx context.Context, c *call, questions view, next caller) (seen view, ok bool) {
	var first view
	for _, v := range []*view{&first, &seen} {
		if chaos.Sleep(ctx, l.Wait) != nil {
			return nil, false
		}
		if *v, ok = l.view(ctx, c, questions, next); !ok {
			return nil, false
		}
	}
	return seen, seen.same(first)
}

func (l *look) shown(c *call, after view) (json.RawMessage, error) {
	if l.Result != nil {
		return l.Result(c.tool.Name, c.args, after)
	}
	return json.Marshal(struct {
		Done  bool   `json:"done"`
		Note  string `json:"note"`
		Shown view   `json:"shown"`
	}{true, "The answer of " + c.tool.Name + " was lost. That its work was done shows in " +
		strings.Join(sorted(after), ", ") + ".", after})
}

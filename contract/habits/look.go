package habits

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/jsonhash"
)

// LookFirst looks before it repeats an effect of unknown outcome (Reads, Tries, Wait, MaxWait, Result). It calls the
// tool that shows the effect before the call and, if that fails so that nobody knows whether the work was done, again
// after it. If the read returns the same as before, the call is made again, no sooner than the callee asked. If it
// returns something else, and once more the same as that, the work was done, and the caller gets a result that says
// so. If a look fails or the read changes by itself, the caller gets the failure. A call that has the tool's
// idempotency key needs no look. Calls about the same thing wait for each other. One that a tool makes during its work
// waits only for others of the same work; else it passes, and no look at what both are about shows anything, so that
// the caller gets the failure. The name is "look-before-repeat".
func LookFirst(o *Options) *Habit {
	return o.habit(&Habit{
		Name: "look-before-repeat", Does: "a look before the repeat",
		Assumes: "what the read returns changes by the effect, within the pause, and meanwhile by nothing else",
		rank:    rankLook,
		start:   func(o Options) state { return state{on: (&look{o, turns{held: map[operation]*turn{}}}).on} },
		options: Options{Tries: 3, Wait: time.Second, MaxWait: longest, Reads: map[string]string{}, Result: wasDone},
	})
}

func wasDone(tool string, _, shown json.RawMessage) (json.RawMessage, error) {
	return json.Marshal(struct {
		Done  bool            `json:"done"`
		Note  string          `json:"note"`
		Shown json.RawMessage `json:"shown"`
	}{true, "The answer of " + tool + " was lost, but its work was done, as is shown.", shown})
}

// A read is a tool that shows an effect, with the arguments that it requires.
type read struct {
	tool     string
	requires []string
}

type look struct {
	Options
	turns turns
}

// on finds the tool that shows the effect of another. Of several nobody knows which one does.
func (l *look) on(t *chaos.Tool, all []chaos.Tool) (act handler, why string) {
	name, isNamed := l.Reads[t.Name]
	if t.Effect != chaos.EffectDone && !isNamed {
		return nil, noEffect
	}
	takes, _ := parameters(t)
	isForeign := func(name string) bool { return !slices.Contains(takes, name) }
	var found []read
	for i := range all {
		_, requires := parameters(&all[i])
		shows := all[i].Name == name
		if !isNamed {
			shows = all[i].Effect == chaos.EffectNone && len(requires) > 0 && !slices.ContainsFunc(requires, isForeign)
		}
		if shows {
			found = append(found, read{all[i].Name, requires})
		}
	}
	switch len(found) {
	case 0:
		return nil, "no tool is known to show its effect"
	case 1:
		return func(ctx context.Context, c *call) (json.RawMessage, error) { return l.handle(ctx, c, found[0]) }, ""
	}
	return nil, "more than one tool could show its effect: name it in Reads"
}

// parameters are the names of the arguments that a tool takes, and of those that it requires.
func parameters(t *chaos.Tool) (takes, requires []string) {
	schema, _ := jsonedit.ParseValue(t.InputSchema)
	for _, v := range schema.Get("required").Values() {
		requires = append(requires, v.String())
	}
	return schema.Get("properties").Keys(), requires
}

// question takes the arguments of the read from those of the call. ok is false if the call lacks one.
func (r read) question(c *call) (question json.RawMessage, ok bool) {
	args, _ := jsonedit.ParseValue(c.args)
	q := jsonedit.Of(struct{}{})
	for _, name := range r.requires {
		v := args.Get(name)
		if v == nil {
			return nil, false
		}
		q.Set(name, v)
	}
	return q.JSON(), true
}

func (l *look) handle(ctx context.Context, c *call, r read) (json.RawMessage, error) {
	question, ok := r.question(c)
	if !ok || c.hasKey() {
		return c.pass(ctx)
	}
	// The effect of another call about the same thing would be taken for that of this one.
	about := operation{r.tool, jsonhash.Sum(question)}
	turn, _, err := l.turns.begin(ctx, about)
	switch {
	case err != nil:
		return nil, err
	case turn == nil:
		return c.pass(ctx)
	}
	defer l.turns.end(about, turn)
	own := c.own(ctx)
	lookAfter := func(wait time.Duration) (seen json.RawMessage, ok bool) {
		if chaos.Sleep(ctx, wait) != nil {
			return nil, false
		}
		seen, err := c.next(own, r.tool, question)
		return seen, failureOf(seen, err) == nil
	}
	before, ok := lookAfter(0)
	result, err := c.pass(ctx)
	for try := 1; ok && !turn.within.Load(); try++ {
		f := failureOf(result, err)
		if !f.doubtful() {
			break
		}
		wait, tooLong := max(l.Wait, f.after), l.tooLong(ctx, f.after)
		if tooLong {
			wait = l.Wait // to see whether it was done, and not to call again
		}
		after, seen := lookAfter(wait)
		if seen && !jsonhash.Same(after, before) {
			if again, seen := lookAfter(l.Wait); seen && jsonhash.Same(again, after) {
				if own, err := l.Result(c.tool.Name, c.args, after); err == nil {
					return own, nil
				}
				return wasDone(c.tool.Name, nil, after) // an error would have the caller ask for what was done
			}
			break // a read that changes by itself, as by a clock in it, shows nothing
		}
		if !seen || tooLong || try >= l.Tries {
			break
		}
		result, err = c.pass(own)
	}
	return result, err
}

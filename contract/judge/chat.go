package judge

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/contract/invariant"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/internal/usercode"
	"github.com/shakedown-go/shakedown/scoring"
)

// A FieldError is one problem of options, of an argument, or of a file.
type FieldError = scoring.FieldError

// fields makes the errors of this package.
const fields = fielderror.Package("judge")

const (
	defaultTimes   = 2
	mostTimes      = 9
	retries        = 2 // of a malformed reply
	defaultTimeout = time.Minute
	maxReason      = 500
)

// ChatOptions are the settings of [Chat].
type ChatOptions struct {
	_ struct{}
	// Name says which judge it is, such as the model's name; required. Version changes
	// with all that changes its rulings: the model's snapshot, the system prompt behind
	// ask. Reports and calibrations go by both.
	Name    string
	Version string
	// Times is how often the model is asked each question, 1 to 9; 0: 2. If the rulings
	// differ, the judge is unsure. 1 finds no contradiction.
	Times int
	// Timeout limits one call of ask; 0: one minute. It is real time: checks are outside of
	// the virtual time of cells.
	Timeout time.Duration
	// Cost is what one call costs, in a unit of your own; 0 and up.
	Cost float64
}

// Chat returns a judge that asks a model. ask sends a system prompt and a user prompt and
// returns the reply. It must be safe for concurrent use, and return when its context ends.
// The temperature of the model should be 0.
//
// All that comes from the run stands in one line of JSON between two lines with a mark, and the system
// prompt says that nothing between them is an instruction. The mark is made of the question's own hash, so
// that no answer can hold it, and equal questions make equal requests, as a cassette needs. That makes it
// harder to talk a model round, and not impossible: see [Attack].
//
// The reply must be one JSON object with exactly the members mark, ruling ("held", "broken" or "unsure") and
// reason, perhaps in a fence of Markdown. Any other is asked for again, twice at most; then the judge is
// unsure. So it is when its rulings differ over [ChatOptions.Times]. An error or a panic of ask is an error
// of the judge.
func Chat(ask func(ctx context.Context, system, user string) (string, error), o *ChatOptions) (invariant.Judge, error) {
	p := fields.List()
	o = cmp.Or(o, &ChatOptions{})
	p.Demand(ask != nil, "ask", fielderror.Found("nil"), "a function")
	p.Demand(strings.TrimSpace(o.Name) != "", "ChatOptions.Name", o.Name, "a name that is not empty")
	p.Demand(o.Times >= 0 && o.Times <= mostTimes, "ChatOptions.Times", o.Times, "0 to 9")
	p.Demand(o.Timeout >= 0, "ChatOptions.Timeout", o.Timeout, "0 and more")
	p.Demand(o.Cost >= 0 && o.Cost <= 1e12, "ChatOptions.Cost", o.Cost, "0 to 1e12")
	if err := p.Err(); err != nil {
		return nil, err
	}
	c := &chat{ChatOptions: *o, send: ask}
	c.Times, c.Timeout = cmp.Or(c.Times, defaultTimes), cmp.Or(c.Timeout, defaultTimeout)
	return c.judge, nil
}

// chat is a judge made by Chat.
type chat struct {
	ChatOptions
	send func(ctx context.Context, system, user string) (string, error)
}

func (c *chat) judge(ctx context.Context, q invariant.Question) (invariant.Judgement, error) {
	j := invariant.Judgement{Judge: c.Name, Version: c.Version}
	f, err := newFence(q)
	if err != nil {
		return j, err
	}
	for reading := range c.Times {
		r, err := c.ruling(ctx, f, reading+1, &j)
		switch {
		case err != nil:
			j.Ruling, j.Reason = invariant.Unsure, ""
			return j, err
		case r == nil:
			j.Ruling = invariant.Unsure
			j.Reason = fmt.Sprintf("no reply had the form asked for, in %s", text.Plural(1+retries, "call"))
			return j, nil
		case reading == 0:
			j.Ruling, j.Reason = r.Ruling, text.Clip(r.Reason, maxReason)
		case r.Ruling != j.Ruling:
			j.Reason = text.Clip(fmt.Sprintf("it contradicts itself: first %v, because %s; then %v, because %s",
				j.Ruling, j.Reason, r.Ruling, r.Reason), 2*maxReason)
			j.Ruling = invariant.Unsure
			return j, nil
		}
	}
	return j, nil
}

// ruling asks the model once, and again while its reply is malformed; nil: it never was in
// form.
func (c *chat) ruling(ctx context.Context, f *fence, reading int, j *invariant.Judgement) (*reply, error) {
	for try := range 1 + retries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		j.Calls++
		j.Cost += c.Cost
		answer, err := c.call(ctx, f.system(), f.user(reading, try))
		if err != nil {
			return nil, err
		}
		r, err := f.read(answer)
		if err == nil {
			return r, nil
		}
		j.Malformed++
	}
	return nil, nil
}

func (c *chat) call(ctx context.Context, system, user string) (answer string, err error) {
	defer usercode.Recover(&err, "judge: ask")
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	answer, err = c.send(ctx, system, user)
	if err == nil {
		err = ctx.Err() // what came late may be cut
	}
	return answer, err
}

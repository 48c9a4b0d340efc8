package behaviour

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/examples/frameworks/internal/page"
)

// longest is the length of a text in a cell.
const longest = 160

// A cell is what a trial showed, in words.
type cell struct {
	outcome []string // for the row of the framework
	facts   []string // for its own table
	silent  bool     // a failure or an effect was lost without a word
}

// words are made of what was seen alone.
func (f *Framework) words(t *trial, s *seen) (c cell) {
	if s.Died != "" {
		c.say("**kills the process**")
		c.fact("panic: %s", page.Code(s.Died, longest))
		return c
	}
	f.again(t, s, &c)
	report(t, s, &c)
	f.beside(t, s, &c)
	f.ended(t, s, &c)
	effects(t, s, &c)
	f.leftovers(s, &c)
	f.facts(s, &c)
	return c
}

func (c *cell) say(format string, args ...any) {
	c.outcome = append(c.outcome, fmt.Sprintf(format, args...))
}

func (c *cell) fact(format string, args ...any) {
	c.facts = append(c.facts, fmt.Sprintf(format, args...))
}

// silence is a word for what got lost.
func (c *cell) silence(format string, args ...any) {
	c.say("**"+format+"**", args...)
	c.silent = true
}

// again says what the framework did again by itself: calls that the model did not ask for, and requests.
func (f *Framework) again(t *trial, s *seen, c *cell) {
	for _, tool := range []string{lookUp, refund, notify} {
		if n := len(s.of(tool)) - s.Asked[tool]; n > 0 {
			c.say("`%s` retried %d × by the framework", tool, n)
			c.fact("`%s` called %s", tool, f.moments(starts(s.of(tool))))
		}
		if n := s.Asked[tool] - len(s.of(tool)); n > 0 && s.Err == "" && s.Panicked == "" && t.column != Malformed {
			c.silence("%d × `%s` asked for and not called", n, tool)
		}
	}
	var waits []time.Duration
	for _, i := range s.Failed {
		if i+1 < len(s.Attempts) {
			waits = append(waits, s.Attempts[i+1]-s.Attempts[i])
		}
	}
	switch {
	case len(waits) > 0:
		c.say("retried %d × (%s)", len(waits), f.after(waits))
	case t.column == RateLimit:
		c.say("not retried")
	}
	if s.Repeated > 0 {
		c.say("the model asked again %d ×", s.Repeated)
	}
}

func starts(calls []toolCall) (all []time.Duration) {
	for _, call := range calls {
		all = append(all, call.Start)
	}
	return all
}

// report says what the model got to know of a call that failed.
func report(t *trial, s *seen, c *cell) {
	for _, call := range s.Tools {
		if call.Own > 0 && t.column == TimeOut {
			c.say("the framework's deadline of %v", call.Own.Round(time.Millisecond))
			break
		}
	}
	var failed []string // texts of errors
	for _, call := range s.of(refund) {
		if call.Err != "" {
			failed = append(failed, call.Err)
		}
		if call.Panicked {
			failed = append(failed, panicked)
		}
	}
	if t.column == Malformed && slices.ContainsFunc(s.of(refund), func(call toolCall) bool { return call.Args == "{}" }) {
		c.silence("called with `{}` instead")
	}
	results := slices.DeleteFunc(slices.Clone(s.Told), func(text string) bool { return strings.Contains(text, marks[refund]) })
	malformed := t.column == Malformed && len(s.of(refund)) < s.Asked[refund]
	switch {
	case len(results) == 0 && s.Read != "":
		c.say("told to the model, as no tool's result")
		c.fact("the model got %s", page.Code(s.Read, longest))
		return
	case len(results) == 0 && (len(failed) > 0 || malformed):
		return // told nothing: how it ended is said below
	case len(results) == 0:
		if t.column == Malformed {
			c.say("called as if nothing were wrong")
			c.fact("the arguments were %s", page.Code(s.of(refund)[0].Args, longest))
		}
		return
	}
	text := results[0]
	switch {
	case strings.Trim(text, " {}[]\"") == "" || strings.Trim(text, " {}[]\"") == "null":
		c.silence("the model gets an empty result")
	case len(failed) > 0 && !strings.Contains(text, failed[0]):
		c.say("told to the model in other words")
	default:
		c.say("told to the model")
	}
	if page.HasStack(text) {
		c.say("with the stack of the program")
	}
	c.fact("the model got %s", page.Code(text, longest))
}

// beside says what became of the call beside the one that failed.
func (f *Framework) beside(t *trial, s *seen, c *cell) {
	one, other := s.of(refund), s.of(notify)
	if t.column != Parallel || len(one) == 0 {
		return
	}
	if len(other) == 0 {
		c.say("the other is not called")
		return
	}
	if other[0].Start < one[0].Start+failsAfter {
		c.fact("the calls run at once")
	} else {
		c.fact("the calls run one after the other")
	}
	switch {
	case other[0].Ended && other[0].Err != "":
		c.say("the other is cancelled")
		c.fact("the other call got %s", page.Code(other[0].Err, longest))
	case (!other[0].Ended || other[0].End > s.Elapsed) && f.GoesOn == "":
		c.silence("the other goes on after the return")
	case !succeeded(s.ToldMail, notify) && f.GoesOn != "" && len(s.LeftEnded) > 0:
		c.say("the other's result waits for it")
	case !succeeded(s.ToldMail, notify) && len(s.State.Mails) > 0:
		c.silence("the other's result is lost")
	default:
		c.say("the other goes on")
	}
}

// succeeded reports whether a result says that the call of the tool did its work.
func succeeded(results []string, tool string) bool {
	return slices.ContainsFunc(results, func(text string) bool { return strings.Contains(text, marks[tool]) })
}

// ended says how the agent's function returned.
func (f *Framework) ended(t *trial, s *seen, c *cell) {
	if s.Refused != "" {
		c.say("the provider refuses what is sent back")
	}
	switch late := s.Elapsed >= s.Limit && !s.Hung; {
	case late && t.column == TimeOut:
		c.say("hangs until the caller's deadline")
	case late:
		c.say("goes on until the caller's deadline")
	}
	switch {
	case s.Hung:
		c.say("**hangs for ever**, beyond the end of its context")
	case s.Panicked != "":
		c.say("**panics** in the caller's goroutine")
	case s.Err != "":
		c.say("fatal%s", f.late(t, s))
	case strings.TrimSpace(s.Answer) == "":
		c.silence("silently empty")
	case s.Answer != s.Said && len(s.Answer) < len(s.Said):
		c.silence("silently cut")
	case t.column == RateLimit && s.Said == saysDone:
		c.say("goes on")
	}
	switch {
	case s.Err != "":
		c.fact("error %s", page.Code(s.Err, longest))
	case s.Panicked != "":
		c.fact("panic %s", page.Code(s.Panicked, longest))
	case !s.Hung:
		c.fact("answer %s", page.Code(s.Answer, longest))
	}
}

// late says how long after the end of the context the agent gave up, and whether its error says so.
func (f *Framework) late(t *trial, s *seen) (words string) {
	if t.column != Expired || len(s.of(refund)) == 0 {
		return ""
	}
	if d := s.Elapsed - s.of(refund)[0].Start - cancelAfter; d > cancelAfter {
		words = ", " + f.round(d) + " later"
	} else {
		words = " at once"
	}
	if !s.Cancelled {
		words += ", **and the error is not that of the context**"
	}
	return words
}

// effects says what is wrong with the books.
func effects(t *trial, s *seen, c *cell) {
	for _, book := range []struct {
		tool, done string
		entries    []string
		told       []string
	}{{refund, "refunded", s.State.Refunds, s.Told}, {notify, "mailed", s.State.Mails, s.ToldMail}} {
		n, calls := len(book.entries), len(s.of(book.tool))
		switch {
		case n > 1 && calls > s.Asked[book.tool]:
			c.silence("%s %d ×, by the framework's retry", book.done, n)
		case n > 1:
			c.say("**%s %d ×**, as the model asks again", book.done, n)
		case n == 1 && t.column == Parallel && book.tool == notify: // said already: see beside
		case n == 1 && (s.Err != "" || s.Panicked != "" || s.Hung) && !succeeded(book.told, book.tool):
			c.say("**%s although the run failed**", book.done)
		case n == 1 && strings.TrimSpace(s.Answer) == "" && !succeeded(book.told, book.tool):
			c.silence("%s, and nobody knows", book.done)
		}
		for _, call := range s.of(book.tool) {
			if !call.Ended {
				c.say("`%s` still runs", book.tool)
			}
		}
	}
}

func (f *Framework) leftovers(s *seen, c *cell) {
	switch {
	case f.GoesOn != "" && len(s.LeftEnded) > 0:
		c.say("**%s**", f.GoesOn)
	case len(s.LeftEnded) > 0:
		c.say("**%s left**", plural(len(s.LeftEnded), "goroutine"))
		c.fact("left: goroutines of %s", strings.Join(slices.Compact(s.LeftEnded), ", "))
	case len(s.Left) > 0:
		c.say("%s left until the context ends", plural(len(s.Left), "goroutine"))
		c.fact("left: goroutines of %s", strings.Join(slices.Compact(slices.Clone(s.Left)), ", "))
	}
	if s.OpenBody {
		c.say("the body of an answer is not closed")
	}
}

func plural(n int, word string) string {
	if n == 1 {
		return "a " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// facts count.
func (f *Framework) facts(s *seen, c *cell) {
	c.fact("refunds: %d asked for, %d made, %d in the books; mails: %d, %d, %d", s.Asked[refund], len(s.of(refund)), len(s.State.Refunds),
		s.Asked[notify], len(s.of(notify)), len(s.State.Mails))
	c.fact("requests: %d on the wire, %d reached the model; %s", len(s.Attempts), s.Requests, f.round(s.Elapsed))
	if slices.ContainsFunc(s.Tools, func(call toolCall) bool { return call.Foreign }) {
		c.fact("the tool does not get the values of the caller's context")
	}
	if slices.ContainsFunc(s.Tools, func(call toolCall) bool { return call.Endless }) {
		c.fact("the tool does not get the deadline of the caller's context")
	}
}

// round is a time as it repeats: exact in a bubble.
func (f *Framework) round(d time.Duration) string {
	if f.RealTime != "" {
		return fmt.Sprintf("about %v", d.Round(time.Second))
	}
	return d.Round(time.Millisecond).String()
}

// after names waits; equal ones once.
func (f *Framework) after(waits []time.Duration) string {
	var texts []string
	for _, w := range waits {
		texts = append(texts, f.round(w))
	}
	if same := slices.Compact(slices.Clone(texts)); len(same) == 1 && len(texts) > 1 {
		return "after " + same[0] + " each"
	}
	return "after " + strings.Join(texts, ", ")
}

// moments are times since the question.
func (f *Framework) moments(all []time.Duration) string {
	var texts []string
	for _, d := range all {
		texts = append(texts, f.round(d))
	}
	return "after " + strings.Join(texts, ", ")
}

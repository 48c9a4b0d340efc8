package invariant

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/modelapi"
	"github.com/shakedown-go/shakedown/internal/text"
)

// CutOptions are the settings of [NoCutAnswer]; nil and the zero value work.
type CutOptions struct {
	_ struct{}
	// Target is a glob of the calls of models; empty: those of layer llm, and those that are called
	// llm or model.
	Target string
}

// NoCutAnswer holds when the agent took no answer of a model for whole that was cut: at the limit of
// its tokens, or because its stream or body broke off. An agent that fails, or that made the same
// request again and got a whole answer, took it for what it was.
//
// It breaks when the agent's answer is the text that had come before the cut and nothing else, also where
// the whole one, with another text, came then. The text is known of answers that are not streamed, and
// with [contract.Matrix].KeepValues of streams that chaoshttp wraps, of both also where the real model was
// cut. It is undecided about all other answers after a cut.
func NoCutAnswer(name string, severity contract.Severity, o *CutOptions) contract.Invariant {
	d := newDraft("NoCutAnswer", name, severity)
	d.JudgesErrors, d.Needs = true, contract.NeedResults
	own := *cmp.Or(o, &CutOptions{})
	asks := func(e *chaos.Event) bool { return e.Layer == chaos.LayerLLM || modelapi.IsCall(e.Target) }
	if own.Target != "" {
		g := d.target("Target", own.Target)
		asks = func(e *chaos.Event) bool { return g.Match(e.Target) }
	}
	return d.judge(func(_ context.Context, o *contract.Observation) error {
		if o.Err != nil {
			return nil
		}
		if err := checkLog(o); err != nil {
			return err
		}
		calls := eventsWhere(o.Events, asks)
		var doubt error
		for i := range calls {
			s := saidIn(&calls[i])
			var again *chaos.Event
			if calls[i].Key != 0 { // else nothing shows that a request is the same
				again = againAfter(calls, i, isWhole)
			}
			switch {
			case s.end == endsWhole:
			case again != nil && prefersCut(o.Response, s, saidIn(again).text):
				return fmt.Errorf("the answer, %s, is what had come of an answer that was cut, though the same "+
					"request was answered whole then: %s", text.QuoteShort(o.Response),
					describeCalls([]chaos.Event{calls[i], *again}))
			case again != nil:
			case s.end == endsCut && isAll(o.Response, s.text) && !answeredAfter(calls, i):
				return fmt.Errorf("the answer, %s, is what had come of an answer that was cut: %s",
					text.QuoteShort(o.Response), describeCalls(calls[i:i+1]))
			default:
				doubt = undecided("an answer of a model did not come to its end, and nothing shows what the agent "+
					"took it for: %s", describeCalls(calls[i:i+1]))
			}
		}
		return doubt
	})
}

// prefersCut reports whether an answer is the text that was cut and not the whole one, which is known.
func prefersCut(answer string, cut said, whole string) bool {
	return cut.end == endsCut && isAll(answer, cut.text) && whole != "" && !isAll(answer, whole)
}

// isAll reports whether an answer is a text that was cut.
func isAll(answer, cut string) bool {
	answer, cut = strings.TrimSpace(answer), strings.TrimSpace(cut)
	return cut != "" && answer == cut
}

// answeredAfter reports whether a whole answer came after the i-th call, or while it was made.
func answeredAfter(calls []chaos.Event, i int) bool {
	for k := range calls {
		other := &calls[k]
		if k != i && other.Target != calls[i].Caller && other.End >= calls[i].End && isWhole(other) {
			return true
		}
	}
	return false
}

// againAfter is the first later call that is the i-th once more and of which is says so; nil: there is none.
func againAfter(calls []chaos.Event, i int, is func(*chaos.Event) bool) *chaos.Event {
	of := &calls[i]
	for k := i + 1; k < len(calls); k++ {
		e := &calls[k]
		if repeats(e, of) && e.Start >= of.End && is(e) {
			return e
		}
	}
	return nil
}

// repeats reports whether two calls ask the same of the same target, from one place in one strand of calls.
func repeats(a, b *chaos.Event) bool {
	return a.Lane == b.Lane && a.Caller == b.Caller && a.Target == b.Target && a.Key == b.Key
}

// An ending is how an answer of a model ended for its caller.
type ending int

const (
	endsWhole ending = iota // nothing is known to be missing
	endsCut                 // its end is missing
	// its caller left it before its end, several faults changed it, or a filter stopped it, which to
	// Anthropic is a refusal too
	endsOpen
)

// said is what a call of a model gave its caller; text is "" where it is not known.
type said struct {
	end  ending
	text string
}

// cutting are the kinds of faults after which the end of an answer is missing.
var cutting = []string{"cut_completion", "filtered_completion", "cut_stream", "cut_event", "unterminated_stream",
	"hanging_stream", "error_event", "cut_body", "short_body", "stream_cut", "stream_hang", "early_end",
	"missing_terminator"}

func saidIn(e *chaos.Event) (s said) {
	text, reason, ok := chaoshttp.Said(e.Exchange)
	s.text = text
	switch {
	case ok && (reason == "stop" || reason == "calls"):
	case ok && reason == "length", e.Delivered && slices.Contains(cutting, e.Fault):
		s.end = endsCut
	case ok && (reason == "" || reason == "filter"), e.Delivered && len(e.Also) > 0:
		s.end = endsOpen
	}
	if ok || s.end != endsCut {
		return s
	}
	for _, ch := range e.Changes { // of a document: those of a stream show what is missing alone
		var before, after string
		if strings.HasPrefix(ch.Path, "$.") && json.Unmarshal(ch.Before, &before) == nil &&
			json.Unmarshal(ch.After, &after) == nil && strings.HasPrefix(before, after) {
			s.text += after
		}
	}
	return s
}

// EmitsOnce holds when the agent, which passes on streams while they come, passed nothing on twice
// because a stream broke off and it asked again. target is a glob of the streams. emitted lists the
// parts that it has passed on, from the state of the world; nil: they are its answer, in one part.
// S is the type of the state; emitted must be safe for concurrent use.
//
// It breaks when the text of a stream that broke off stands right before that of the whole one that
// came in its place: text is known of models behind chaoshttp, with [contract.Matrix].KeepValues. Of
// other streams the number of items is known: it breaks when there are more parts than items, and
// the first of them, as many as there are too many, come again. It holds where no stream was asked for
// again, and where parts and items are as many. Everything else is undecided.
func EmitsOnce[S any](
	name string, severity contract.Severity, target string, emitted func(state S) []string,
) contract.Invariant {
	d := newDraft("EmitsOnce", name, severity)
	d.JudgesErrors, d.Needs = true, contract.NeedResults
	if emitted != nil {
		d.Needs |= contract.NeedState
	}
	g := d.target("target", target)
	return d.judge(func(_ context.Context, o *contract.Observation) error {
		parts := []string{o.Response}
		if emitted != nil {
			before, after, err := states[S](o)
			if err != nil {
				return err
			}
			earlier := len(emitted(before))
			if parts = emitted(after); earlier > len(parts) {
				return undecided("parts that were passed on are in the state no more")
			}
			parts = parts[earlier:]
		}
		return emittedOnce(o, callsTo(o.Events, g), parts, emitted != nil)
	})
}

func emittedOnce(o *contract.Observation, calls []chaos.Event, parts []string, each bool) error {
	if err := checkLog(o); err != nil {
		return err
	}
	streams := len(eventsWhere(calls, isWhole))
	var doubt error
	for i := range calls {
		first := &calls[i]
		again := againAfter(calls, i, func(*chaos.Event) bool { return true })
		if isWhole(first) || gaveNothing(first) || again == nil {
			continue
		}
		known, twice := false, false
		if again = againAfter(calls, i, isWhole); again != nil {
			if began, all := saidIn(first).text, saidIn(again).text; began != "" && all != "" {
				known, twice = textTwice(squeezed(parts), squeezed([]string{began}), squeezed([]string{all}))
			} else if each && streams == 1 {
				known, twice = itemsTwice(parts, again.Result)
			}
		}
		switch {
		case twice:
			return fmt.Errorf("what a stream that broke off had given was passed on once more with the one in its "+
				"place: %s; %s", text.QuoteShort(strings.Join(parts, "")), describeCalls([]chaos.Event{*first, *again}))
		case !known:
			doubt = undecided("a stream broke off and was asked for again, and what was passed on does not show "+
				"whether some of it was so twice: %s", describeCalls(calls[i:i+1]))
		}
	}
	return doubt
}

func isWhole(e *chaos.Event) bool { return e.Outcome == chaos.OutcomeOK && saidIn(e).end == endsWhole }

// gaveNothing reports whether a call is known to have given its caller no text and no item.
func gaveNothing(e *chaos.Event) bool {
	text, _, ok := chaoshttp.Said(e.Exchange)
	return e.Outcome == chaos.OutcomeInjected && e.Effect == chaos.EffectNone ||
		e.Exchange != nil && text == "" && (ok || !e.Exchange.ResponseTruncated)
}

// squeezed is a text without white space, which agents add and remove.
func squeezed(parts []string) string {
	return strings.Join(strings.Fields(strings.Join(parts, "")), "")
}

// leastText is the length of a text, in bytes, from which on it is not there by chance.
const leastText = 8

// textTwice reports whether a text has what had come of an answer right before all of it.
func textTwice(emitted, began, all string) (known, twice bool) {
	switch {
	case len(began) >= leastText && strings.HasPrefix(all, began) && strings.Contains(emitted, began+all):
		return true, true
	case !strings.Contains(emitted, began):
		return true, false
	}
	return strings.Contains(emitted, all) && strings.Count(emitted, began) == strings.Count(all, began), false
}

// itemsTwice reports whether there are more parts than items, and those too many come twice.
func itemsTwice(parts []string, result json.RawMessage) (known, twice bool) {
	var stream struct{ Items *int }
	if json.Unmarshal(result, &stream) != nil || stream.Items == nil {
		return false, false
	}
	more := len(parts) - *stream.Items
	twice = more > 0 && more <= *stream.Items && slices.Equal(parts[:more], parts[more:2*more])
	return twice || more == 0 || len(parts) == 0, twice
}

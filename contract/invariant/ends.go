package invariant

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
)

// CallsWithin holds when each call to the targets that the glob matches ended at most d after the
// deadline of its context, or after its beginning where that was later; d is at least 0. A call whose
// context had no deadline is not judged. One that is still under way at the end of the cell breaks it
// once that time is over. Where times are real, d must leave room for what the machine does besides.
//
// It is undecided about a call that had some of that time left when the cell ended, about an answer
// or a stream that nobody read to its end, and about a call that a fault may have kept beyond its
// context: one that hid its end, or that had the call executed more than once.
func CallsWithin(name string, severity contract.Severity, d time.Duration, target string) contract.Invariant {
	draft := newDraft("CallsWithin", name, severity)
	draft.JudgesErrors = true
	draft.demand(d >= 0, "d", d, "0 or more")
	g := draft.target("target", target)
	return draft.judge(func(_ context.Context, o *contract.Observation) error {
		var doubt error
		for _, e := range callsTo(o.Events, g) {
			over := e.End - max(e.Deadline, e.Start) // that it began too late is for NothingAfterEnd
			late := over - d
			open := e.Outcome == chaos.OutcomeOpen
			calls := describeCalls([]chaos.Event{e})
			switch {
			case e.Deadline == 0, e.Layer == "", late <= 0 && !open:
			case late <= 0:
				doubt = undecided("the cell ended before the time of a call was over: %s", calls)
			case open && slices.Contains(lasting, e.Layer):
				doubt = undecided("nobody read the answer of a call to its end, or closed it: %s", calls)
			case e.Delivered && (slices.Contains(keeping, e.Fault) || len(e.Also) > 0):
				doubt = undecided("a fault may have kept a call beyond its context: %s", calls)
			case open:
				return fmt.Errorf("a call had not ended %v after its deadline, at most %v is allowed: %s", over, d, calls)
			default:
				return fmt.Errorf("a call ended %v after its deadline, at most %v is allowed: %s", over, d, calls)
			}
		}
		if doubt != nil {
			return doubt
		}
		return checkLog(o)
	})
}

// keeping are the kinds of faults that keep a call beyond its context.
var keeping = []string{"ignored_cancellation", "duplicate", "delivered_twice", "message_storm"}

// lasting are the layers whose calls are open until their answer is read or closed.
var lasting = []chaos.Layer{chaos.LayerHTTP, chaos.LayerLLM, chaos.LayerStream}

// NothingAfterEnd holds when no call began with a context that had ended: one whose deadline was
// over, or that was cancelled, such as that of an answer that was given. allowed has globs of
// targets that may be called so, such as "audit.*".
//
// It judges how a call begins, not what its callee makes of the context. A deadline that ends in the
// very moment in which the call begins is not over yet, unless the call is one once more that failed
// in that moment: its caller knew. Calls after the end of the cell are none of
// its events: see [contract.CellReport.LateCalls].
func NothingAfterEnd(name string, severity contract.Severity, allowed ...string) contract.Invariant {
	d := newDraft("NothingAfterEnd", name, severity)
	d.JudgesErrors = true
	may := d.targets("allowed", allowed, 0)
	d.Targets = nil // it looks for calls to all others
	return d.judge(func(_ context.Context, o *contract.Observation) error {
		late := eventsWhere(o.Events, func(e *chaos.Event) bool {
			now := e.Deadline != 0 && (e.Deadline == e.Start || e.Deadline == e.Start+1) // 0 is kept as 1
			return e.ContextEnded && e.Layer != "" && (!now || failedBefore(o.Events, e)) &&
				!anyMatches(may, e.Target)
		})
		if len(late) > 0 {
			return fmt.Errorf("%d calls began after their context had ended: %s", len(late), describeCalls(late))
		}
		return checkLog(o)
	})
}

// failedBefore reports whether a call is one once more that failed when their common deadline came.
func failedBefore(all []chaos.Event, e *chaos.Event) bool {
	return slices.ContainsFunc(all, func(former chaos.Event) bool {
		return former.Call != e.Call && repeats(&former, e) && former.Deadline == e.Deadline &&
			former.Start < e.Start && former.End == e.Start && former.Outcome != chaos.OutcomeOK
	})
}

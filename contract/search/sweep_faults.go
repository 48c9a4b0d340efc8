package search

import (
	"fmt"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/lies"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/usercode"
)

// The waits of Usual.
const (
	usualTimeout = 5 * time.Second
	usualDelay   = 15 * time.Second
)

// Usual returns the faults that [Sweep] tries on a call where [Options].Faults is nil: it
// fails, times out after 5 s, or takes 15 s longer, and what fits its layer:
//
//   - a tool or a function returns an empty result;
//   - an HTTP request is answered with status 503, or with a body that is not JSON;
//   - the answer of a model is empty or cut off;
//   - a stream ends after its first item, or lacks its last.
//
// If a call may change something, its reply is also lost after its work was done, and it
// is executed twice. That is a tool that does not declare [chaos.EffectNone], a function,
// and an HTTP request that is no GET, HEAD or OPTIONS.
//
// A function of one's own may add to this list, such as [lies.Malformed], or take from it:
// each fault more on every call costs about a quarter more runs. e is the call, as the
// first run made it that has it; tool is the tool that it called, zero for a point that
// is no tool.
func Usual(e chaos.Event, tool chaos.Tool) []chaos.Fault {
	return usualWith(e, tool, fault.LoseReply(), usualTimeout, usualDelay)
}

// usualNow is Usual without a wait, for real time.
func usualNow(e chaos.Event, tool chaos.Tool) []chaos.Fault {
	return usualWith(e, tool, fault.LoseReplyAfter(0), 0, 0)
}

func usualWith(e chaos.Event, tool chaos.Tool, lost chaos.Fault, timeout, delay time.Duration) []chaos.Fault {
	all := []chaos.Fault{fault.Fail(fault.ErrUnavailable), fault.Timeout(timeout)}
	effects := false
	switch e.Layer {
	case chaos.LayerHTTP:
		all = append(all, chaoshttp.Status(503, nil), chaoshttp.MalformedJSON())
		method, _, _ := strings.Cut(e.Target, " ")
		effects = method != "GET" && method != "HEAD" && method != "OPTIONS"
	case chaos.LayerLLM:
		all = append(all, chaoshttp.EmptyCompletion(), chaoshttp.CutCompletion(1))
	case chaos.LayerStream:
		all = append(all, fault.CutAfter(1), fault.DropLastItem())
	default:
		all = append(all, lies.Empty())
		effects = tool.Effect != chaos.EffectNone
	}
	if delay > 0 {
		all = append(all, fault.Delay(delay))
	}
	if effects {
		all = append(all, lost, fault.Duplicate())
	}
	return all
}

// faultsOn asks which faults to try on a call of a tool, in real time or not.
func (o *Options) faultsOn(e chaos.Event, tool chaos.Tool, realTime bool) (faults []chaos.Fault, err error) {
	defer usercode.Recover(&err, "search: Faults")
	ask := o.Faults
	switch {
	case ask != nil:
	case realTime:
		ask = usualNow
	default:
		ask = Usual
	}
	faults = ask(e, tool)
	for i, f := range faults {
		if f == nil {
			return nil, fields.Wrong(fmt.Sprintf("Faults: %s [%d]", e.Target, i), fielderror.Found("nil"), "a fault")
		}
	}
	return faults, nil
}

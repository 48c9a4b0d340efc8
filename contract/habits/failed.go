package habits

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/internal/failure"
	"github.com/shakedown-go/shakedown/internal/retryable"
	"github.com/shakedown-go/shakedown/internal/schema"
)

// A failed is what is known of how a call failed.
type failed struct {
	text  string
	kind  failure.Kind
	after time.Duration // how long the callee asked to wait; 0: it did not say
	class retryable.Class
	// undone: it is known that the tool did nothing. done: the tool answered, so it did its work.
	undone, done bool
	// denied: the callee did nothing, and may answer the same for ever to the same key.
	denied bool
}

// failureOf says how a call failed; nil: it did not, as far as is known.
func failureOf(result json.RawMessage, err error) *failed {
	f := &failed{}
	status := 0
	if errors.Is(err, ErrResult) {
		return &failed{text: err.Error(), class: retryable.Transient, done: true}
	}
	answer := (*chaoshttp.HTTPError)(nil)
	if errors.As(err, &answer) {
		status, f.after = answer.StatusCode, headerWait(answer.Header)
	}
	switch {
	case err != nil:
		f.text = err.Error()
	case failure.Read(result) != failure.Failed:
		return nil
	default:
		f.text, status = failure.Report(result)
	}
	status = cmp.Or(status, retryable.StatusIn(f.text))
	f.after = cmp.Or(f.after, textWait(f.text), textWait(string(result)))
	f.class = retryable.Of(status, f.after, f.text)
	f.kind = failure.KindOf(f.text)
	// Whatever a tool's failure says, it may be that of a later step, such as a receipt. One request is one step.
	f.undone = errors.Is(err, ErrNotDone)
	f.denied = f.undone
	if one, ok := err.(ofRequest); ok {
		dial, isNet := one.error.(*net.OpError)
		answer, isAnswer := one.error.(*chaoshttp.HTTPError)
		// RFC 6585, section 4, and RFC 9110, section 15.6.4: the server has not taken the request.
		f.undone = isNet && dial.Op == "dial" || isAnswer && (answer.StatusCode == http.StatusTooManyRequests ||
			answer.StatusCode == http.StatusServiceUnavailable && f.after > 0)
		f.denied = isAnswer && f.class == retryable.Permanent // RFC 9110, section 15.5: it cannot fulfil the request
	}
	return f
}

// doubtful reports whether the call failed and nobody knows if the tool did its work.
func (f *failed) doubtful() bool {
	return f != nil && !f.undone && !f.done && f.class != retryable.Permanent
}

// headerWait reads a Retry-After header, of seconds or a date (RFC 9110, section 10.2.3); 0: there is none.
func headerWait(h http.Header) time.Duration {
	said := h.Get("Retry-After")
	if date, err := http.ParseTime(said); err == nil {
		return max(0, time.Until(date))
	}
	seconds, _ := strconv.ParseUint(said, 10, 32)
	return time.Duration(seconds) * time.Second
}

// The unit may stand in the name of a member, as in "retry_after_ms".
var saidWait = regexp.MustCompile(`(?i)\b(?:try again|retry)[-_ ]?(?:in|after)(?:_?(ms|seconds))?["'\\:=\s]+` +
	`(\d[\d.]*(?:(?:ms|s|m|h)\d[\d.]*)*) ?([a-z]*)`)

// units are those of [time.ParseDuration] by their names, without the s of the plural.
var units = map[string]string{
	"": "s", "sec": "s", "second": "s", "ms": "ms", "msec": "ms", "millisecond": "ms",
	"m": "m", "min": "m", "minute": "m", "h": "h", "hr": "h", "hour": "h", "d": "days", "day": "days", "week": "weeks",
}

// textWait reads from a text how long to wait, as "try again in 1m30s", "retry after 5 minutes" or `"retry_after": 5`;
// 0: it does not say. A wait that is too long for a [time.Duration], and one of days, is the longest there is.
func textWait(text string) time.Duration {
	m := saidWait.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	unit := strings.ToLower(cmp.Or(m[3], m[1]))
	if unit != "ms" {
		unit = strings.TrimSuffix(unit, "s")
	}
	known, ok := units[unit]
	if !ok {
		return 0
	}
	wait, err := time.ParseDuration(strings.ToLower(m[2]) + known)
	if err != nil {
		return math.MaxInt64
	}
	return wait
}

// ErrNotDone is for tools: an error that matches it says that the call did nothing, and that nothing of it goes on.
// [Retries] then repeats the call also without a key, and [IdempotencyKeys] uses its key up. A tool of several steps
// must not hand on such an error of a later one.
var ErrNotDone = errors.New("nothing was done")

// ErrResult is in the error of a call whose result [CheckResults] refused. The tool was called, and did its work.
var ErrResult = errors.New("the result does not fit its schema")

// CheckResults refuses a result that does not fit the schema that the tool declares ([chaos.Tool].OutputSchema): the
// caller gets an error that matches [ErrResult]. A result that says that the call failed passes; "format" is not
// checked. The name is "result-schema".
func CheckResults(o *Options) *Habit {
	return o.habit(&Habit{
		Name: "result-schema", Does: "refusing a result that its schema refuses",
		Assumes: "the tool's output schema accepts all that it rightly returns",
		rank:    rankSchema,
		start: func(Options) state {
			return state{on: func(t *chaos.Tool, _ []chaos.Tool) (handler, string) { return checked(t.OutputSchema) }}
		},
	})
}

func checked(outputSchema json.RawMessage) (act handler, why string) {
	if len(outputSchema) == 0 {
		return nil, "it declares no output schema"
	}
	demanded, err := schema.Read(string(outputSchema))
	if err != nil {
		return nil, fmt.Sprintf("its output schema cannot be used: %v", err)
	}
	return func(ctx context.Context, c *call) (json.RawMessage, error) {
		result, err := c.pass(ctx)
		if err != nil || failure.Read(result) == failure.Failed {
			return result, err
		}
		var value any
		if err = json.Unmarshal(result, &value); err == nil {
			err = demanded.Validate(value)
		}
		if err != nil {
			return nil, fmt.Errorf("%s answered, but %w: %w", c.tool.Name, ErrResult, err)
		}
		return result, nil
	}, ""
}

// TellFailures gives the caller the error of a call as a result in a fixed form:
//
//	{"error":{"tool":"refund","kind":"timeout","retry":"may help","done":"unknown","message":"i/o timeout"}}
//
// Kind is "timeout", "refused", "reset", "no such host", "hung up", "certificate", "bad result" or "other". Retry is
// "may help", "does not help" or "unknown". Done reports whether a tool that is not declared to change nothing did its
// work: "yes", "no" or "unknown". The errors of a caller that gave up, and of a cell that ended, stay. The name is
// "failures-told".
func TellFailures(o *Options) *Habit {
	return o.habit(&Habit{
		Name: "failures-told", Does: "telling a tool's failure in a fixed form",
		Assumes: "the agent gives results to a model that heeds them, and does not take every result for a success",
		rank:    rankTell, start: func(Options) state { return onAny(tell) },
	})
}

type told struct {
	Tool    string `json:"tool"`
	Kind    string `json:"kind"`
	Retry   string `json:"retry"`
	Done    string `json:"done,omitempty"`
	Message string `json:"message"`
}

func tell(ctx context.Context, c *call) (json.RawMessage, error) {
	result, err := c.pass(ctx)
	if err == nil || ctx.Err() != nil || errors.Is(err, chaos.ErrCellEnded) {
		return result, err
	}
	f := failureOf(nil, err)
	t := told{Tool: c.tool.Name, Kind: string(cmp.Or(f.kind, "other")), Retry: "unknown", Done: "unknown", Message: f.text}
	switch {
	case f.done:
		t.Kind = "bad result"
	case failure.IsTimeout(f.text):
		t.Kind = "timeout"
	}
	switch {
	case f.class == retryable.Permanent, f.done && !c.changesNothing():
		t.Retry = "does not help"
	case f.class == retryable.Transient:
		t.Retry = "may help"
	}
	switch {
	case c.changesNothing():
		t.Done = "" // there is nothing to be done
	case f.done:
		t.Done = "yes"
	case f.undone:
		t.Done = "no"
	}
	return json.Marshal(map[string]told{"error": t})
}

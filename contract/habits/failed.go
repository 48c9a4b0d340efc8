package habits

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/internal/failure"
	"github.com/shakedown-go/shakedown/internal/retryable"
)

// A failed is what is known of how a call failed.
type failed struct {
	text   string
	status int           // of HTTP; 0: none is known
	after  time.Duration // how long the callee asked to wait; 0: it did not say
	class  retryable.Class
	before bool // the failure came before the work: the tool did nothing
	done   bool // the tool answered, so what it does is done
}

// failureOf says how a call failed; nil: it did not, as far as is known.
func failureOf(result json.RawMessage, err error) *failed {
	f := &failed{}
	var answer *chaoshttp.HTTPError
	var refused *ResultError
	switch {
	case errors.As(err, &refused):
		return &failed{text: err.Error(), class: retryable.Transient, done: true}
	case errors.As(err, &answer):
		f.status, f.after = answer.StatusCode, headerWait(answer.Header)
		f.text = err.Error()
	case err != nil:
		f.text = err.Error()
	case failure.Read(result) != failure.Failed:
		return nil
	default:
		f.text, f.status = failure.Report(result)
	}
	f.status = cmp.Or(f.status, retryable.StatusIn(f.text))
	f.after = cmp.Or(f.after, textWait(f.text))
	f.class = retryable.Of(f.status, f.after, f.text)
	f.before = turnedAway(f.status, f.after) || beforeWork.MatchString(f.text)
	if kind := failure.KindOf(f.text); kind == failure.Refused || kind == failure.NoSuchHost {
		f.before = true
	}
	return f
}

// doubtful reports whether nobody knows if the tool did its work.
func (f *failed) doubtful() bool { return !f.before && !f.done && f.class != retryable.Permanent }

// turnedAway reports whether an answer of HTTP says that the request was not taken: there are too many, or the server
// said when to come again (RFC 9110, section 15.6.4; RFC 6585, section 4).
func turnedAway(status int, after time.Duration) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable && after > 0
}

var beforeWork = regexp.MustCompile(`(?i)\btoo many (?:\w+ )?requests\b|\brate[ -]?limit(?:ed| reached| exceeded)\b|` +
	`\bno route to host\b`)

// headerWait reads a Retry-After header, of seconds or a date (RFC 9110, section 10.2.3); 0: there is none.
func headerWait(h http.Header) time.Duration {
	said := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(said, 10, 32); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if date, err := http.ParseTime(said); err == nil {
		return max(0, time.Until(date))
	}
	return 0
}

var saidWait = regexp.MustCompile(`(?i)\b(?:try again|retry)[ -](?:in|after):? *((?:\d+(?:\.\d+)?(?:ms|h|m|s)?)+)(?: *([a-z]+))?`)

// textWait reads from a text how long to wait: "try again in 1m30s", "retry after 5 seconds"; 0: it does not say.
func textWait(text string) time.Duration {
	m := saidWait.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	unit := map[byte]string{'m': "m", 'h': "h"}
	if d, err := time.ParseDuration(m[1]); err == nil {
		return d
	}
	suffix := "s"
	if m[2] != "" {
		suffix = cmp.Or(unit[m[2][0]|' '], "s")
	}
	if milliseconds.MatchString(m[2]) {
		suffix = "ms"
	}
	d, _ := time.ParseDuration(m[1] + suffix) // what is more than a duration holds is no wait
	return d
}

var milliseconds = regexp.MustCompile(`(?i)^(?:ms|milli)`)

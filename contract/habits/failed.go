package habits

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/internal/failure"
	"github.com/shakedown-go/shakedown/internal/retryable"
)

// A failed is what is known of how a call failed.
type failed struct {
	text  string
	kind  failure.Kind
	after time.Duration // how long the callee asked to wait; 0: it did not say
	class retryable.Class
	// undone: it failed before the work, so the tool did nothing. done: the tool answered, so it did its work.
	undone, done bool
}

// failureOf says how a call failed; nil: it did not, as far as is known.
func failureOf(result json.RawMessage, err error) *failed {
	f := &failed{}
	status := 0
	if bad := (*ResultError)(nil); errors.As(err, &bad) {
		return &failed{text: err.Error(), class: retryable.Transient, done: true}
	} else if answer := (*chaoshttp.HTTPError)(nil); errors.As(err, &answer) {
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
	f.after = cmp.Or(f.after, textWait(f.text))
	f.class = retryable.Of(status, f.after, f.text)
	f.kind = failure.KindOf(f.text)
	// RFC 6585, section 4, and RFC 9110, section 15.6.4: the server has not taken the request.
	turnedAway := status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable && f.after > 0
	f.undone = turnedAway || f.kind == failure.Refused || f.kind == failure.NoSuchHost || undone.MatchString(f.text)
	return f
}

var undone = regexp.MustCompile(`(?i)\btoo many (?:\w+ )?requests\b|\brate[ -]?limit (?:is )?(?:reached|exceeded)\b|` +
	`\brate[ -]?limited\b|\bno route to host\b|\bunknown tool\b`)

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

var saidWait = regexp.MustCompile(`(?i)\b(?:try again|retry)[ -](?:in|after):? ([\d.]+(?:ms|s|m|h|[\d.])*)\b(?: ([a-z]+))?`)

// textWait reads from a text how long to wait, as "try again in 1m30s" or "retry after 5 seconds"; 0: it does not say.
func textWait(text string) (wait time.Duration) {
	m := append(saidWait.FindStringSubmatch(text), "", "", "")
	wait, err := time.ParseDuration(m[1])
	if unit := strings.ToLower(m[2]); err != nil && (unit == "" || strings.HasPrefix("seconds", unit)) {
		wait, _ = time.ParseDuration(m[1] + "s")
	}
	return wait
}

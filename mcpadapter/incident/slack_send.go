package incident

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"time"
)

// maxRetryAfter bounds how long a server may ask to be left alone.
const maxRetryAfter = 5 * time.Minute

// send posts one message. It tries again after a 429, a 5xx and a failed
// connection: after the time that the answer asks for, else after 1 s, 2 s, 4 s
// and so on. A request whose answer was lost is not repeated: the webhook may
// have taken it.
func (s *Slack) send(ctx context.Context, message []byte) error {
	backoff := time.Second
	for attempt := 1; ; attempt++ {
		wait, err := s.try(ctx, message)
		if err == nil {
			return nil
		}
		if errors.Is(err, ErrRefused) || errors.Is(err, ErrMaybeSent) || attempt == s.o.Attempts {
			return fmt.Errorf("incident: slack: attempt %d: %w", attempt, err)
		}
		if wait == 0 {
			wait, backoff = backoff, 2*backoff
		}
		if err := pause(ctx, min(wait, maxRetryAfter)); err != nil {
			return fmt.Errorf("incident: slack: %w", err)
		}
	}
}

// try posts once. The wait is what the server asked for, if it did.
func (s *Slack) try(ctx context.Context, message []byte) (wait time.Duration, err error) {
	connected := false
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected = true }})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.o.Webhook, bytes.NewReader(message))
	if err != nil {
		return 0, fmt.Errorf("%w: the webhook is no URL", ErrRefused)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.o.Client.Do(req)
	if err != nil && connected {
		return 0, fmt.Errorf("%w: %w", ErrMaybeSent, withoutURL(err))
	}
	if err != nil {
		return 0, withoutURL(err)
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 4096) // so that the connection can be used again
	switch {
	case resp.StatusCode/100 == 2:
		return 0, nil
	case resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 500:
		return retryAfter(resp.Header.Get("Retry-After"), time.Now()), fmt.Errorf("the webhook answered %s", resp.Status)
	}
	return 0, fmt.Errorf("%w: the webhook answered %s", ErrRefused, resp.Status)
}

// withoutURL removes the webhook, a secret, from a client's error.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// retryAfter reads both forms of the header (RFC 9110, 10.2.3); 0: none.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(header); err == nil {
		// Bounded first: more seconds than a Duration has would come out negative.
		return time.Duration(min(max(seconds, 0), int(maxRetryAfter/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// pause waits, unless the context ends first.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

package incident

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"time"

	words "github.com/shakedown-go/shakedown/internal/text"
)

// SlackOptions are the settings of [NewSlack].
type SlackOptions struct {
	_       struct{}
	Webhook string       // the incoming-webhook URL, a secret; "": nothing is ever sent
	Client  *http.Client // nil: one with a timeout of 10 s that follows no redirects
}

// Slack posts a message for every incident to an incoming webhook. It is a
// [Notifier], safe for concurrent use.
type Slack struct{ o SlackOptions }

const slackTimeout = 10 * time.Second

// NewSlack checks the settings. A webhook that is no http(s) URL is a
// [*FieldError]; without one the notifier does nothing.
func NewSlack(options *SlackOptions) (*Slack, error) {
	o := *cmp.Or(options, &SlackOptions{})
	if o.Webhook != "" {
		// The value is a secret and stays out of the error.
		if u, err := url.Parse(o.Webhook); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return nil, fields.Wrong("SLACK_WEBHOOK_URL", "(hidden)", "an http or https URL")
		}
	}
	if o.Client == nil {
		// A server that redirects has not taken the message, and must not send it elsewhere.
		stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		o.Client = &http.Client{Timeout: slackTimeout, CheckRedirect: stay}
	}
	return &Slack{o: o}, nil
}

// Notify posts a message about an incident once, and returns nil when the webhook
// has confirmed it. The error is [ErrMaybeSent] if an answer was lost, and
// [ErrRefused] if the webhook will never take the message; after any other the
// runner calls again.
func (s *Slack) Notify(ctx context.Context, in Incident, f Finding) error {
	if s.o.Webhook == "" {
		return nil
	}
	if err := s.send(ctx, incidentMessage(in, f)); err != nil {
		return fmt.Errorf("incident: slack: %w", err)
	}
	return nil
}

// factRoom is how many bytes of a fact are sent: Slack takes 40,000 characters in all, and
// escaping makes five of one.
const factRoom = 3000

// incidentMessage has the five facts: cluster, namespace, resource, root cause
// and confidence. Three characters that Slack reads as markup are made text, so that no
// report can mention a channel or forge a link. Further lines of a fact are indented, so that
// none can pass for another fact.
func incidentMessage(in Incident, f Finding) []byte {
	var b strings.Builder
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\n", "\n    ")
	for _, fact := range []struct{ name, value string }{
		{"Incident " + string(in.Status), in.FaultType},
		{"Cluster", in.Cluster}, {"Namespace", in.Namespace},
		{"Resource", strings.Trim(in.Resource.Kind+"/"+in.Resource.Name, "/")},
		{"Confidence", f.Confidence}, {"Root cause", cmp.Or(f.RootCause, in.FailureReason)},
		{"Workspace", in.IncidentID},
	} {
		value := escape.Replace(words.Clip(cmp.Or(fact.value, "not stated"), factRoom))
		fmt.Fprintf(&b, "*%s*: %s\n", fact.name, value)
	}
	doc, _ := json.Marshal(map[string]string{"text": b.String()}) // strings always have JSON
	return doc
}

// send posts one message. A request whose answer was lost is not to be repeated:
// the webhook may have taken it.
func (s *Slack) send(ctx context.Context, message []byte) error {
	connected := false
	ctx = httptrace.WithClientTrace(ctx,
		&httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected = true }})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.o.Webhook, bytes.NewReader(message))
	if err != nil {
		return fmt.Errorf("%w: the webhook is no URL", ErrRefused)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.o.Client.Do(req)
	if err != nil && connected {
		return fmt.Errorf("%w: %w", ErrMaybeSent, withoutURL(err))
	}
	if err != nil {
		return withoutURL(err)
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 4096) // so that the connection can be used again
	switch {
	case resp.StatusCode/100 == 2:
		return nil
	case resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 500:
		return fmt.Errorf("the webhook answered %s", resp.Status)
	}
	return fmt.Errorf("%w: the webhook answered %s", ErrRefused, resp.Status)
}

// withoutURL removes the webhook, a secret, from a client's error.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
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

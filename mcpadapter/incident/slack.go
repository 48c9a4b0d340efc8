package incident

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// SlackOptions are the settings of [NewSlack].
type SlackOptions struct {
	_        struct{}
	Webhook  string       // the incoming-webhook URL, a secret; "": nothing is ever sent
	Client   *http.Client // nil: one with a timeout of 10 s that follows no redirects
	Attempts int          // for one message, before the runner puts it off; 0: 4
	// DegradedAfter is how many incidents in a row without a report lead to one
	// warning in place of a message for each; 0: 3.
	DegradedAfter int
}

// Slack posts a message for every incident to an incoming webhook. It is a
// [Notifier], safe for concurrent use.
//
// When agents fail several times in a row, one message says so, and the next
// says that they work again, so a broken agent causes one message. The count
// starts anew with each process.
type Slack struct {
	o SlackOptions

	mu      sync.Mutex // held while a message is sent: they come in order
	breaker breaker
}

const (
	slackTimeout  = 10 * time.Second
	slackAttempts = 4
	slackDegraded = 3
)

// NewSlack checks the settings. A webhook that is no http(s) URL is a
// [*FieldError]; without one the notifier does nothing.
func NewSlack(options *SlackOptions) (*Slack, error) {
	var o SlackOptions
	if options != nil {
		o = *options
	}
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
	o.Attempts = atLeastOne(o.Attempts, slackAttempts)
	return &Slack{o: o, breaker: breaker{limit: atLeastOne(o.DegradedAfter, slackDegraded)}}, nil
}

func atLeastOne(n, otherwise int) int {
	if n < 1 {
		return otherwise
	}
	return n
}

// Notify posts a message about an incident, and returns nil when the webhook
// has confirmed it. The error is [ErrMaybeSent] if an answer was lost, and
// [ErrRefused] if the webhook will never take the message.
func (s *Slack) Notify(ctx context.Context, in Incident, f Finding) error {
	if s.o.Webhook == "" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	after := s.breaker // what was not sent has not been news
	var message []byte
	switch after.see(in.Status == StatusResolved) {
	case announce:
		message = incidentMessage(in, f, "")
	case opened:
		message = plainMessage(fmt.Sprintf("The triage agent is degraded: %d incidents in a row ended without a report. "+
			"Last reason: %s. Further ones are not announced until one succeeds.", after.limit, in.FailureReason))
	case closed:
		message = incidentMessage(in, f, "The triage agent works again.")
	}
	if message != nil {
		if err := s.send(ctx, message); err != nil {
			return err
		}
	}
	s.breaker = after
	return nil
}

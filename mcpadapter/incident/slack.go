package incident

import (
	"context"
	"fmt"
	"log/slog"
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
	Attempts int          // for one message; 0: 4
	Queue    int          // messages that wait; 0: 100, the oldest goes when it is full
	Degraded int          // so many incidents in a row without a report: one warning instead of each; 0: 3
	Log      *slog.Logger // nil: nothing is logged
}

// Slack posts a message for every incident to an incoming webhook. Messages
// wait in a queue that never blocks the runner; a webhook that is slow or down
// loses messages, counted in [Slack.Lost], and never an incident.
//
// When agents fail several times in a row, one message says so, and the next
// says that they work again: a broken agent is one piece of news.
type Slack struct {
	o       SlackOptions
	breaker breaker

	mu     sync.Mutex
	queue  [][]byte
	lost   uint64
	closed bool
	wake   chan struct{} // holds a token when there may be a message; closed by Close
	cancel context.CancelFunc
	done   chan struct{} // closed when the last message was sent or given up
}

const (
	slackTimeout  = 10 * time.Second
	slackAttempts = 4
	slackQueue    = 100
	slackDegraded = 3
)

// NewSlack starts a poster, to be closed. A webhook that is no http(s) URL is
// a [*FieldError]; none at all makes a notifier that does nothing.
func NewSlack(o SlackOptions) (*Slack, error) {
	if o.Webhook != "" {
		// The value is a secret and stays out of the error.
		if u, err := url.Parse(o.Webhook); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return nil, &FieldError{"SLACK_WEBHOOK_URL", "(hidden)", "an http or https URL"}
		}
	}
	if o.Client == nil {
		// Who redirects has not taken the message, and is not to send it elsewhere.
		stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		o.Client = &http.Client{Timeout: slackTimeout, CheckRedirect: stay}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Attempts, o.Queue = atLeastOne(o.Attempts, slackAttempts), atLeastOne(o.Queue, slackQueue)
	ctx, cancel := context.WithCancel(context.Background())
	s := &Slack{cancel: cancel, o: o, breaker: breaker{limit: atLeastOne(o.Degraded, slackDegraded)}, wake: make(chan struct{}, 1), done: make(chan struct{})}
	if o.Webhook == "" {
		cancel()
		s.closed = true
		close(s.done)
		return s, nil
	}
	go s.post(ctx)
	return s, nil
}

func atLeastOne(n, otherwise int) int {
	if n < 1 {
		return otherwise
	}
	return n
}

// Notify queues a message about an incident.
func (s *Slack) Notify(in Incident, f Finding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	switch s.breaker.see(in.Status == StatusResolved) {
	case announce:
		s.enqueue(incidentMessage(in, f))
	case opened:
		s.enqueue(plainMessage(fmt.Sprintf("The triage agent is degraded: %d incidents in a row ended without a report. "+
			"Last reason: %s. Further ones are not announced until one succeeds.", s.breaker.limit, in.FailureReason)))
	case closed:
		s.enqueue(plainMessage("The triage agent works again."))
		s.enqueue(incidentMessage(in, f))
	}
}

func (s *Slack) enqueue(message []byte) {
	if len(s.queue) == s.o.Queue {
		s.queue = s.queue[1:]
		s.lost++
	}
	s.queue = append(s.queue, message)
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Lost counts the messages that could not be delivered.
func (s *Slack) Lost() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost
}

// Close takes no more messages and returns when those that wait are sent; what
// is not by the end of the context is lost, counted, and the context's error.
func (s *Slack) Close(ctx context.Context) error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.wake)
	}
	s.mu.Unlock()
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		s.cancel()
		<-s.done
		return ctx.Err()
	}
}

// post sends the messages, one after the other.
func (s *Slack) post(ctx context.Context) {
	defer close(s.done)
	defer s.cancel()
	for open := true; open; {
		_, open = <-s.wake
		for {
			message, ok := s.take()
			if !ok {
				break
			}
			if err := s.send(ctx, message); err != nil {
				s.mu.Lock()
				s.lost++
				s.mu.Unlock()
				s.o.Log.Error("message to Slack lost", "error", err)
			}
		}
	}
}

func (s *Slack) take() ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return nil, false
	}
	message := s.queue[0]
	s.queue = s.queue[1:]
	return message, true
}

package behaviour

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// seen is what was observed of one question. All times are since it was asked.
type seen struct {
	Answer    string `json:"answer,omitempty"`
	Err       string `json:"err,omitempty"`
	Cancelled bool   `json:"cancelled,omitempty"` // Err matches an end of a context
	Refused   string `json:"refused,omitempty"`   // the provider's error for a request that is not allowed
	Panicked  string `json:"panicked,omitempty"`  // the agent's function did, with this value
	Hung      bool   `json:"hung,omitempty"`      // it had not returned a minute after the end of its context
	Died      string `json:"died,omitempty"`      // the process did

	Elapsed time.Duration `json:"elapsed"`
	Limit   time.Duration `json:"limit"` // of the caller's context
	Said    string        `json:"said"`  // the model's answer in the end; empty: it was not asked for one

	Tools       []toolCall      `json:"tools"`
	Attempts    []time.Duration `json:"attempts"`    // the requests on the wire, by when they began
	Failed      []int           `json:"failed"`      // which of them a fault failed, by index
	Requests    int             `json:"requests"`    // those that reached the model
	Repeated    int             `json:"repeated"`    // of these, those that were sent again
	Asked       map[string]int  `json:"asked"`       // how often the model called each tool
	Told        []string        `json:"told"`        // what it was told of its refunds
	ToldMail    []string        `json:"toldMail"`    // and of its mails
	Read        string          `json:"read"`        // a message that is no tool's result and has the error of a refund
	State       State           `json:"state"`       // of the desk
	Undelivered []string        `json:"undelivered"` // faults that nothing met
	Note        string          `json:"note"`        // why not

	Left      []string `json:"left,omitempty"`      // goroutines a second after the answer
	LeftEnded []string `json:"leftEnded,omitempty"` // and a second after the end of the context
	OpenBody  bool     `json:"openBody,omitempty"`  // the body of an answer of the model was neither read nor closed
}

// A toolCall is a call that the framework made.
type toolCall struct {
	Tool     string        `json:"tool"`
	Args     string        `json:"args"`
	Start    time.Duration `json:"start"`
	End      time.Duration `json:"end"`
	Ended    bool          `json:"ended"`
	Err      string        `json:"err,omitempty"`      // what the framework got
	Own      time.Duration `json:"own,omitempty"`      // the deadline of its context, if that is before the caller's
	Foreign  bool          `json:"foreign,omitempty"`  // its context has not the values of the caller's
	Endless  bool          `json:"endless,omitempty"`  // its context has no deadline, and the caller's has
	Panicked bool          `json:"panicked,omitempty"` // it did
}

// mine is in the caller's context.
type mine struct{}

// asking is one question that is being asked.
type asking struct {
	f     *Framework
	t     *trial
	begun time.Time
	limit time.Duration

	desk   desk
	model  *model
	server *server // plays the model, in the form of whatever API
	in     *chaos.Injector
	cancel context.CancelFunc

	mu     sync.Mutex
	calls  []*toolCall
	events map[int]int // how many events the stream of each turn had
}

// limits of the caller's context.
const (
	virtualLimit = 10 * time.Minute
	realLimit    = 8 * time.Second
)

func (f *Framework) limit() time.Duration {
	if f.RealTime != "" {
		return realLimit
	}
	return virtualLimit
}

// ask asks the agent one question, in the bubble of the caller.
func (f *Framework) ask(t *trial) (seen, error) {
	rules := t.rules
	if t.cut > 0 {
		calm := *t
		calm.cut = 0
		before, err := f.prepare(&calm, nil)
		if err != nil {
			return seen{}, err
		}
		if s := before.run(); s.Answer != saysDone {
			return s, fmt.Errorf("behaviour: without a fault the streamed answer is %q, %s%s", s.Answer, s.Err, s.Panicked)
		}
		rules = at(f.Target, when.Nth(t.cut), chaoshttp.CutStream(before.events[t.cut]/2))
	}
	a, err := f.prepare(t, rules)
	if err != nil {
		return seen{}, err
	}
	return a.run(), nil
}

func (f *Framework) prepare(t *trial, rules []chaos.Rule) (*asking, error) {
	plan, err := chaos.NewPlan(1, rules...)
	if err != nil {
		return nil, err
	}
	m := newModel(t.together)
	return &asking{f: f, t: t, limit: f.limit(), model: m, server: newServer(m), events: map[int]int{},
		in: plan.Injector(f.Name, &chaos.InjectorOptions{RecordAll: true})}, nil
}

// world is what the agent gets. The injector is bound: it must not depend on which contexts a framework passes on.
func (a *asking) world() (World, error) {
	registry, err := a.desk.tools()
	if err != nil {
		return World{}, err
	}
	return World{
		Model: chaoshttp.NewTransport(a, &chaoshttp.Options{Injector: a.in}),
		Tools: &watched{chaos.WrapRegistry(registry, a.in), a},
		AtEnd: func(func()) {}, // the process ends
	}, nil
}

// RoundTrip counts the events of streams behind the faults.
func (a *asking) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := a.server.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	a.mu.Lock()
	defer a.mu.Unlock()
	a.events[len(a.model.requests)] = max(bytes.Count(body, []byte("data:")), 1)
	return resp, nil
}

// run asks, and waits for what is left.
func (a *asking) run() (s seen) {
	a.begun, s.Limit = time.Now(), a.limit
	ctx, cancel := context.WithTimeout(context.WithValue(context.Background(), mine{}, true), a.limit)
	defer cancel()
	a.cancel = cancel
	a.in.Arm()
	before := a.goroutines()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if v := recover(); v != nil {
				s.Panicked = fmt.Sprint(v)
			}
		}()
		ask := a.f.Ask
		if a.t.streamed {
			ask = a.f.Streamed
		}
		w, err := a.world()
		if err == nil {
			s.Answer, err = ask(ctx, w, question)
		}
		if err != nil {
			s.Err = err.Error()
			s.Cancelled = errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
		}
	}()
	select {
	case <-done:
	case <-time.After(a.limit + time.Minute):
		return a.seen(seen{Limit: a.limit, Hung: true})
	}
	s.Elapsed = time.Since(a.begun)
	s.Left = a.left(before)
	cancel()
	s.LeftEnded = a.left(before)
	return a.seen(s)
}

// seen adds what the desk, the model and the injector know.
func (a *asking) seen(s seen) seen {
	a.in.End()
	s.Undelivered = a.in.Undelivered()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.calls {
		s.Tools = append(s.Tools, *c)
	}
	s.State = a.desk.now()
	s.Requests, s.Said = len(a.model.requests), a.model.last()
	s.Repeated = s.Requests - len(a.model.said)
	s.Asked = map[string]int{lookUp: a.model.calls(lookUp), refund: a.model.calls(refund), notify: a.model.calls(notify)}
	s.Told, s.ToldMail = a.model.results(refund), a.model.results(notify)
	for _, c := range s.of(refund) {
		if c.Err != "" {
			s.Read = cmp.Or(s.Read, a.model.reads(c.Err))
		}
	}
	for _, e := range a.in.Events() {
		if e.Layer == chaos.LayerLLM || e.Layer == chaos.LayerHTTP {
			if e.Rule != "" && e.Outcome == chaos.OutcomeInjected {
				s.Failed = append(s.Failed, len(s.Attempts))
			}
			s.Attempts = append(s.Attempts, e.Start)
			if e.Outcome == chaos.OutcomeFailed && strings.HasPrefix(e.Err, "400") {
				s.Refused = e.Err
			}
			s.OpenBody = s.OpenBody || e.Outcome == chaos.OutcomeOpen
		}
		if e.Rule != "" {
			s.Note += e.Note
		}
	}
	return s
}

// watched notes the calls that the framework makes.
type watched struct {
	chaos.ToolRegistry
	a *asking
}

func (w *watched) CallTool(ctx context.Context, name string, args json.RawMessage) (result json.RawMessage, err error) {
	c := &toolCall{Tool: name, Args: string(args), Start: time.Since(w.a.begun), Foreign: ctx.Value(mine{}) == nil}
	limit, bounded := ctx.Deadline()
	if own := limit.Sub(w.a.begun); bounded && own < w.a.limit {
		c.Own = own - c.Start
	}
	c.Endless = !bounded
	w.a.mu.Lock()
	w.a.calls = append(w.a.calls, c)
	w.a.mu.Unlock()
	if w.a.t.cancelled && name == refund {
		defer time.AfterFunc(cancelAfter, w.a.cancel).Stop()
	}
	returned := false
	defer func() {
		w.a.mu.Lock()
		defer w.a.mu.Unlock()
		c.End, c.Ended, c.Panicked = time.Since(w.a.begun), true, !returned
		if err != nil {
			c.Err = err.Error()
		}
	}()
	result, err = w.ToolRegistry.CallTool(ctx, name, args)
	returned = true
	return result, err
}

// of are the calls of a tool.
func (s *seen) of(tool string) []toolCall {
	return slices.DeleteFunc(slices.Clone(s.Tools), func(c toolCall) bool { return c.Tool != tool })
}

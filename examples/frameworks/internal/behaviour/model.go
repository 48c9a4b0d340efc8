package behaviour

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/shakedown-go/shakedown/chaos/chaoshttp/modeltest"
)

// question is what the agent is asked.
const question = "Order 1042 arrived damaged. Refund it and tell the customer."

// What the model answers in the end.
const (
	saysDone     = "I refunded 24.50 for order 1042, and the customer has been told."
	saysNoMail   = "I refunded 24.50 for order 1042. I could not tell the customer."
	saysNoRefund = "I could not refund order 1042."
	saysOnlyMail = "I could not refund order 1042. The customer has been told."
	saysNoOrder  = "I could not find order 1042."
)

// mostRequests ends a run that asks the model for ever.
const mostRequests = 60

// marks are what a result of a tool says if the call succeeded.
var marks = map[string]string{lookUp: "delivered", refund: "refunded", notify: "sent"}

// args are the arguments with which the model calls the tools.
var args = map[string]string{
	lookUp: `{"order":"1042"}`,
	refund: `{"order":"1042","amount":"24.50"}`,
	notify: `{"order":"1042","text":"Your refund is on its way."}`,
}

// A model looks the order up, refunds it and writes to the customer, one call a turn, or the last two at once. If a
// result tells of a failure, it calls the tool once more; after a second one it says what it could not do.
type model struct {
	together bool // refund and notify are called in one turn

	mu       sync.Mutex
	requests []modeltest.Request // that reached the model
	said     []modeltest.Answer  // by conversation, in order
	known    map[string]bool     // the conversations that were answered: a request that is sent again gets the same answer
}

func newModel(together bool) *model {
	return &model{together: together, known: map[string]bool{}}
}

func (m *model) answer(_ context.Context, r modeltest.Request) (modeltest.Answer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.requests) == mostRequests {
		return modeltest.Answer{}, errors.New("behaviour: the agent asks for ever")
	}
	m.requests = append(m.requests, r)
	a := m.next(r.Messages)
	if conversation := fmt.Sprint(r.Messages); !m.known[conversation] {
		m.known[conversation] = true
		m.said = append(m.said, a)
	}
	return a, nil
}

// next is a function of the conversation alone.
func (m *model) next(messages []modeltest.Message) modeltest.Answer {
	looked, refunded, told := outcome(messages, lookUp), outcome(messages, refund), outcome(messages, notify)
	switch {
	case looked.open():
		return call(lookUp)
	case !looked.done:
		return modeltest.Answer{Text: saysNoOrder}
	case m.together && refunded.calls+told.calls == 0:
		return call(refund, notify)
	case refunded.open():
		return call(refund)
	case !refunded.done && told.done:
		return modeltest.Answer{Text: saysOnlyMail}
	case !refunded.done:
		return modeltest.Answer{Text: saysNoRefund}
	case told.open():
		return call(notify)
	case !told.done:
		return modeltest.Answer{Text: saysNoMail}
	}
	return modeltest.Answer{Text: saysDone}
}

func call(tools ...string) (a modeltest.Answer) {
	for _, tool := range tools {
		a.Calls = append(a.Calls, modeltest.Call{Name: tool, Args: args[tool]})
	}
	return a
}

// tried is how the calls of a tool ended, as far as a conversation says.
type tried struct {
	calls   int
	done    bool
	results []string
}

func (t tried) open() bool { return !t.done && t.calls < 2 }

func outcome(messages []modeltest.Message, tool string) (t tried) {
	calls := map[string]bool{}
	for _, m := range messages {
		for _, c := range m.Calls {
			if c.Name == tool {
				t.calls++
				calls[c.ID] = true
			}
		}
		if m.Role == "tool" && calls[m.CallID] {
			t.results = append(t.results, m.Text)
			t.done = t.done || strings.Contains(m.Text, marks[tool])
		}
	}
	return t
}

// calls are how often the model called a tool: an answer that was sent again is one.
func (m *model) calls(tool string) (n int) {
	for _, a := range m.said {
		for _, c := range a.Calls {
			if c.Name == tool {
				n++
			}
		}
	}
	return n
}

// results are what the model was told of the calls of a tool, in order.
func (m *model) results(tool string) (texts []string) {
	for _, r := range m.requests {
		if t := outcome(r.Messages, tool); len(t.results) > len(texts) {
			texts = t.results
		}
	}
	return texts
}

// last is the newest answer in text; empty: it gave none.
func (m *model) last() (text string) {
	for _, a := range m.said {
		text = cmp.Or(a.Text, text)
	}
	return text
}

// reads is the first message that is no tool's result and contains the text; empty: there is none.
func (m *model) reads(text string) string {
	for _, r := range m.requests {
		for _, message := range r.Messages {
			if message.Role != "tool" && strings.Contains(message.Text, text) {
				return message.Text
			}
		}
	}
	return ""
}

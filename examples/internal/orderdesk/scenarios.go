package orderdesk

import (
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
)

// Targets that name more than one tool.
const (
	anyTool   = "*.*"
	anyLookup = "{orders,customers}.get"
)

// wait is how long a caller waits for a reply that does not come.
const wait = 20 * time.Millisecond

// errorPage replaces a result: it is the well-formed JSON of a gateway
// that answers "200 OK" to everything.
type errorPage struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

// scenarios are the calm one, and what happens in production sooner or later. The
// prompts of a cell call all tools, so every fault can be delivered.
func scenarios() []contract.Scenario {
	return []contract.Scenario{
		contract.Calm(),
		{Name: "lookup-flaky", Rules: []chaos.Rule{
			{Target: anyLookup, When: when.Prob(0.3), Fault: fault.Fail(fault.ErrUnavailable)},
		}},
		{Name: "lookup-garbled", Rules: []chaos.Rule{
			{Target: anyLookup, When: when.First(2), Fault: fault.Replace(errorPage{"error", "upstream said no"})},
		}},
		{Name: "refund-reply-lost", Rules: []chaos.Rule{
			{Target: makeRefund, When: when.First(1), Fault: fault.LoseReplyAfter(wait)},
		}},
		{Name: "delivered-twice", Rules: []chaos.Rule{
			{Target: "{" + makeRefund + "," + sendMail + "}", Fault: fault.Duplicate()},
		}},
		{Name: "shipping-down", Rules: []chaos.Rule{
			{Target: shipOrder, Fault: fault.Fail(fault.ErrConnectionRefused)},
		}},
		{Name: "mail-cut-off", Rules: []chaos.Rule{
			{Target: "mail.*", Fault: fault.Partition()},
		}},
		{Name: "first-call-times-out", Rules: []chaos.Rule{
			{Target: anyTool, When: when.First(1), Fault: fault.Timeout(wait)},
		}},
		{Name: "rate-limited", Rules: []chaos.Rule{
			{Target: anyTool, When: when.First(2), Fault: fault.Fail(fault.ErrRateLimited)},
		}},
		{Name: "everything-slow", Rules: []chaos.Rule{
			{Target: anyTool, Fault: fault.Uniform(5*time.Millisecond, wait)},
		}},
	}
}

package planjson

import (
	"encoding/json"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
)

type (
	limit struct {
		Limit int `json:"limit" bounds:"min=1" doc:"number of calls, bytes or what the kind counts"`
	}
	budget struct {
		limit
		Refill time.Duration `json:"refill,omitempty" doc:"time after which the whole budget is there again; left out: never"`
	}
	timeBudget struct {
		Limit  time.Duration `json:"limit" doc:"time that all calls may take together"`
		Refill time.Duration `json:"refill,omitempty" doc:"time after which the whole budget is there again; left out: never"`
	}
	tokenBudget struct {
		budget
		Usage string `json:"usage" bounds:"enum=openai|anthropic" doc:"provider whose answers hold the usage"`
	}
	costBudget struct {
		Limit       float64       `json:"limit" bounds:"over=0" doc:"amount of money"`
		InputPrice  float64       `json:"inputPrice,omitempty" bounds:"min=0" doc:"of a million tokens"`
		OutputPrice float64       `json:"outputPrice,omitempty" bounds:"min=0" doc:"of a million tokens"`
		Usage       string        `json:"usage" bounds:"enum=openai|anthropic" doc:"provider whose answers hold the usage"`
		Refill      time.Duration `json:"refill,omitempty" doc:"time after which the whole budget is there again; left out: never"`
	}
	rateLimit struct {
		limit
		Per time.Duration `json:"per" doc:"time within which so many calls are let through"`
	}
	removed struct {
		Tools []string `json:"tools" bounds:"min=1" doc:"names of the tools"`
	}
	patch struct {
		Patch json.RawMessage `json:"patch" doc:"a JSON merge patch of the arguments (RFC 7396), an object"`
	}
	misroute struct {
		Member string `json:"member" doc:"of the arguments, which names the agent"`
		Agent  string `json:"agent" doc:"the other agent"`
	}
)

// limitKinds are budgets, limits and access.
func limitKinds() []Kind {
	return []Kind{
		faultRow("call_budget", "fault.CallBudget(limit, refill)", "Calls beyond a number are refused.", `{"limit":3,"refill":"1h0m0s"}`,
			func(p budget) chaos.Fault { return fault.CallBudget(p.Limit, p.Refill) }),
		faultRow("token_budget", "fault.TokenBudget(limit, usage, refill)", "Calls are refused once the tokens are used up.", `{"limit":30,"usage":"openai"}`,
			func(p tokenBudget) chaos.Fault { return fault.TokenBudget(p.Limit, usageOf(p.Usage), p.Refill) }),
		faultRow("cost_budget", "fault.CostBudget(limit, inputPrice, outputPrice, usage, refill)", "Calls are refused once the money is spent.",
			`{"limit":0.0001,"inputPrice":2.5,"outputPrice":10,"usage":"openai"}`, func(p costBudget) chaos.Fault {
				return fault.CostBudget(p.Limit, p.InputPrice, p.OutputPrice, usageOf(p.Usage), p.Refill)
			}),
		faultRow("time_budget", "fault.TimeBudget(limit, refill)", "Calls are refused once earlier calls took too long.", `{"limit":"10s"}`,
			func(p timeBudget) chaos.Fault { return fault.TimeBudget(p.Limit, p.Refill) }),
		faultRow("memory_budget", "fault.MemoryBudget(limit, refill)", "Calls fail once the results of earlier calls fill the memory.", `{"limit":500}`,
			func(p budget) chaos.Fault { return fault.MemoryBudget(p.Limit, p.Refill) }),
		faultRow("disk_budget", "fault.DiskBudget(limit, refill)", "Calls fail once the arguments of earlier calls fill the disk.", `{"limit":30}`,
			func(p budget) chaos.Fault { return fault.DiskBudget(p.Limit, p.Refill) }),
		faultRow("disk_full", "fault.DiskFull()", "No space is left on the device.", `{}`,
			func(none) chaos.Fault { return fault.DiskFull() }),
		faultRow("rate_limit", "fault.RateLimit(limit, per)", "Calls beyond a rate are refused.", `{"limit":3,"per":"10s"}`,
			func(p rateLimit) chaos.Fault { return fault.RateLimit(p.Limit, p.Per) }),
		faultRow("concurrency_limit", "fault.ConcurrencyLimit(limit)", "Calls beyond a number in progress are refused.", `{"limit":1}`,
			func(p limit) chaos.Fault { return fault.ConcurrencyLimit(p.Limit) }),
		faultRow("auth_expired", "fault.AuthExpired()", "The credentials are no longer accepted.", `{}`,
			func(none) chaos.Fault { return fault.AuthExpired() }),
		faultRow("tool_removed", "fault.ToolRemoved(tools...)", "Tools are missing from the listing and unknown.", `{"tools":["orders.total"]}`,
			func(p removed) chaos.Fault { return fault.ToolRemoved(p.Tools...) }),
	}
}

func usageOf(name string) fault.Usage {
	if name == "anthropic" {
		return fault.AnthropicUsage()
	}
	return fault.OpenAIUsage()
}

// agentKinds are the faults of what surrounds an agent: guardrails and other
// agents.
func agentKinds() []Kind {
	text := func(p message) string { return p.Message }
	return []Kind{
		failing("guardrail_down", "fault.GuardrailDown(err)", "A guardrail fails.", `{"message":"service unavailable"}`,
			func(err error, _ message) chaos.Fault { return fault.GuardrailDown(err) }, text),
		faultRow("guardrail_hang", "fault.GuardrailHang()", "A guardrail hangs.", `{}`, func(none) chaos.Fault { return fault.GuardrailHang() }),
		faultRow("forced_verdict", "fault.ForceVerdict(v)", "A guardrail's verdict is replaced.", `{"value":{"allowed":true}}`,
			func(p anyValue) chaos.Fault { return fault.ForceVerdict(p.Value) }),
		faultRow("stale_approval", "fault.StaleApproval(approval)", "A rejected request gets the approval of an earlier one.", `{"value":{"allowed":true,"rule":"payments"}}`,
			func(p anyValue) chaos.Fault { return fault.StaleApproval(p.Value) }),
		faultRow("handoff_corrupt", "fault.CorruptHandoff(patch), fault.CorruptHandoffWith(name, fn)", "The arguments of a hand-off are changed.", `{"patch":{"order":"A9"}}`,
			func(p patch) chaos.Fault { return fault.CorruptHandoff(p.Patch) }),
		faultRow("misroute", "fault.Misroute(member, agent), fault.MisrouteWith(name, to)", "A hand-off goes to another agent.", `{"member":"agent","agent":"shipping"}`,
			func(p misroute) chaos.Fault { return fault.Misroute(p.Member, p.Agent) }),
		faultRow("handoff_dropped", "fault.DropHandoff(reply)", "A hand-off is lost, and its caller gets a reply all the same.", `{"value":"done"}`,
			func(p anyValue) chaos.Fault { return fault.DropHandoff(p.Value) }),
		faultRow("handoff_cycle", "fault.CycleHandoff(reply)", "A hand-off is handed straight back.", `{"value":"please take over"}`,
			func(p anyValue) chaos.Fault { return fault.CycleHandoff(p.Value) }),
		faultRow("handoff_delayed", "fault.DelayHandoff(d)", "A hand-off takes longer.", `{"duration":"30s"}`,
			func(p lateItems) chaos.Fault { return fault.DelayHandoff(p.Duration) }),
		faultRow("message_storm", "fault.MessageStorm(n)", "The other agent gets the message many times.", `{"times":5}`,
			func(p times) chaos.Fault { return fault.MessageStorm(p.Times) }),
		failing("delegation_rejected", "fault.RejectDelegation(err)", "The other agent does not take the task.", `{"message":"the agent declined the task"}`,
			func(err error, _ message) chaos.Fault { return fault.RejectDelegation(err) }, text),
	}
}

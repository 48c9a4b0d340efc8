package planjson

import (
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
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
)

// limitKinds are budgets, limits and access.
func limitKinds() []*catalog.Row {
	return []*catalog.Row{
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

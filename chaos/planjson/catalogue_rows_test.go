package planjson_test

import (
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/lies"
)

// A catalogued is a fault, by name, and a rule that injects it in one part of the
// world.
type catalogued struct {
	family, fault, part string
	rule                chaos.Rule
}

// catalogue are the rules of kinds whose example alone does not show what they do: it
// needs a target or a part of the world of its own, or the kind has several forms.
func catalogue() []catalogued {
	const model = "POST api.openai.com/*"
	openAI, anthropic := chaoshttp.OpenAI, chaoshttp.Anthropic
	return []catalogued{
		{"crash", "401 unauthorized", "service", chaos.Rule{Target: "GET shop.example/*", Fault: chaoshttp.Status(401, nil)}},
		{"crash", "429 with Retry-After", "service", chaos.Rule{Target: "GET shop.example/*", Fault: chaoshttp.Status(429, &chaoshttp.StatusOptions{RetryAfter: 30 * time.Second})}},
		{"crash", "529 overloaded", "service", chaos.Rule{Target: "GET shop.example/*", Fault: chaoshttp.Status(529, nil)}},
		{"crash", "status at a tool", "tools", chaos.Rule{Target: "orders.get", Fault: chaoshttp.Status(503, nil)}},
		{"timing", "latency, fixed", "tools", chaos.Rule{Target: "orders.get", Fault: fault.Delay(2 * time.Second)}},
		{"timing", "latency, uniform", "tools", chaos.Rule{Target: "orders.get", Fault: fault.Uniform(time.Second, 5*time.Second)}},
		{"timing", "latency, normal", "tools", chaos.Rule{Target: "orders.get", Fault: fault.Normal(2*time.Second, time.Second)}},
		{"timing", "latency, exponential", "tools", chaos.Rule{Target: "orders.get", Fault: fault.Exponential(2 * time.Second)}},
		{"timing", "latency, spike", "tools", chaos.Rule{Target: "orders.get", Fault: fault.Spike(100*time.Millisecond, 30*time.Second, 0.2)}},
		{"timing", "latency, degrading by call", "tools", chaos.Rule{Target: "orders.get", Fault: fault.RampUp(time.Second, 10*time.Second)}},
		{"timing", "latency, degrading over time", "slow tools", chaos.Rule{Target: "orders.get", Fault: fault.RampUpWith(10*time.Second, time.Hour)}},
		{"timing", "late result after the caller gave up", "slow tools", chaos.Rule{Target: "orders.{refund,get}", Fault: fault.LateResult("orders.refund", 5*time.Second, 40*time.Second)}},
		{"timing", "delayed visibility", "tools", chaos.Rule{Target: "orders.*", Fault: fault.DelayedVisibility("orders.refund", time.Minute, nil)}},
		{"omission", "dropped call", "tools", chaos.Rule{Target: "orders.refund", Fault: fault.LoseRequest(10 * time.Second)}},
		{"value", "wrong arguments reach the tool", "tools", chaos.Rule{Target: "orders.refund", Fault: lies.Arguments(lies.DanglingReference("$.order"))}},
		{"schema", "argument schema changed so the call is rejected", "tools", chaos.Rule{Target: "{tools/list,orders.*}", Fault: lies.ChangeArguments("orders.refund", "order", "orderId")}},
		{"delivery", "lost request", "tools", chaos.Rule{Target: "orders.refund", Fault: fault.LoseRequest(5 * time.Second)}},
		{"llm", "429 with the provider's error body", "model", chaos.Rule{Target: model, Fault: chaoshttp.APIError(openAI, chaoshttp.KindRateLimit, &chaoshttp.StatusOptions{RetryAfter: 20 * time.Second})}},
		{"llm", "5xx with the provider's error body", "model", chaos.Rule{Target: model, Fault: chaoshttp.APIError(openAI, chaoshttp.KindServer, nil)}},
		{"llm", "auth with the provider's error body", "model", chaos.Rule{Target: model, Fault: chaoshttp.APIError(openAI, chaoshttp.KindAuthentication, nil)}},
		{"llm", "timeout with the provider's error body", "model", chaos.Rule{Target: model, Fault: chaoshttp.APIError(anthropic, chaoshttp.KindTimeout, nil)}},
		{"llm", "529 overloaded with the provider's error body", "model", chaos.Rule{Target: model, Fault: chaoshttp.APIError(anthropic, chaoshttp.KindOverloaded, nil)}},
		{"llm", "no credit left", "model", chaos.Rule{Target: model, Fault: chaoshttp.APIError(openAI, chaoshttp.KindQuota, nil)}},
		{"llm", "context-length error", "model", chaos.Rule{Target: model, Fault: chaoshttp.APIError(openAI, chaoshttp.KindContextLength, nil)}},
		{"llm", "drift, rename", "model in JSON", chaos.Rule{Target: model, Fault: chaoshttp.DriftCompletion(chaoshttp.DriftKeys)}},
		{"llm", "drift, format", "model", chaos.Rule{Target: model, Fault: chaoshttp.DriftCompletion(chaoshttp.DriftFormat)}},
		{"llm", "drift, verbosity", "model", chaos.Rule{Target: model, Fault: chaoshttp.DriftCompletion(chaoshttp.DriftVerbosity)}},
		{"llm", "drift, tone", "model", chaos.Rule{Target: model, Fault: chaoshttp.DriftCompletion(chaoshttp.DriftTone)}},
		{"llm", "spoiled content", "model", chaos.Rule{Target: model, Fault: chaoshttp.SpoilCompletion(chaoshttp.PartContent, chaoshttp.SpoilTruncate)}},
		{"llm", "spoiled tool arguments", "model", chaos.Rule{Target: model, Fault: chaoshttp.SpoilCompletion(chaoshttp.PartArguments, chaoshttp.SpoilSchema)}},
		{"resource", "budget of tokens", "others", chaos.Rule{Target: "chat", Fault: fault.TokenBudget(30, fault.OpenAIUsage, 0)}},
		{"resource", "budget of cost", "others", chaos.Rule{Target: "chat", Fault: fault.CostBudget(0.0001, 2.5, 10, fault.OpenAIUsage, 0)}},
		{"resource", "budget of tokens at the model's endpoint", "model", chaos.Rule{Target: "POST api.openai.com/*", Fault: fault.TokenBudget(30, fault.OpenAIUsage, 0)}},
		{"resource", "budget of cost at the model's endpoint", "model", chaos.Rule{Target: "POST api.openai.com/*", Fault: fault.CostBudget(0.0002, 2.5, 10, fault.OpenAIUsage, 0)}},
		{"resource", "budget of time", "crowd", chaos.Rule{Target: "{jobs,report}", Fault: fault.TimeBudget(3*time.Second, 0)}},
	}
}

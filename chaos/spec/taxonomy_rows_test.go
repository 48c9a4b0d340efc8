package spec_test

import (
	"fmt"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/lies"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// A classified is a row of somebody's taxonomy as rules in one part of the
// world, and how many of its calls must look different: at least and at most.
type classified struct {
	row         string
	part        string
	least, most int
	rules       []chaos.Rule
}

const (
	theModel   = "POST api.openai.com/*"
	theService = "GET shop.example/*"
)

func one(target string, w chaos.When, f chaos.Fault) []chaos.Rule {
	return []chaos.Rule{{Target: target, When: w, Fault: f}}
}

// agentChaos: six types, two targets, four strategies; eight compound ones;
// three types at three positions. 65 in all.
func agentChaos() (rows []classified) {
	spoils := []chaoshttp.Spoil{chaoshttp.SpoilError, chaoshttp.SpoilTimeout, chaoshttp.SpoilEmpty, chaoshttp.SpoilTruncate, chaoshttp.SpoilCorrupt, chaoshttp.SpoilSchema}
	strategies := []struct {
		name        string
		when        chaos.When
		least, most int
	}{
		{"single", when.Nth(2), 1, 1}, {"persistent", nil, 12, 12}, {"intermittent 0.3", when.Prob(0.3), 1, 8}, {"burst 3", when.Burst(3, 3), 3, 3},
	}
	for _, part := range []chaoshttp.Part{chaoshttp.PartContent, chaoshttp.PartArguments} {
		for _, spoil := range spoils {
			for _, s := range strategies {
				name := fmt.Sprintf("%s, %s, %s", spoil, map[chaoshttp.Part]string{chaoshttp.PartContent: "content", chaoshttp.PartArguments: "tool arguments"}[part], s.name)
				rows = append(rows, classified{name, "long model", s.least, s.most, one(theModel, s.when, chaoshttp.SpoilCompletion(part, spoil))})
			}
		}
	}
	rows = append(rows, []classified{
		{"compound: API degradation", "long model", 6, 12, []chaos.Rule{
			{Target: theModel, Fault: chaoshttp.SlowHeaders(5 * time.Second)},
			{Target: theModel, When: when.Prob(0.4), Fault: chaoshttp.APIError(chaoshttp.OpenAI, chaoshttp.ErrServer, nil)}}},
		{"compound: content filter", "long model", 12, 12, one(theModel, nil, chaoshttp.FilterCompletion(0))},
		{"compound: max tokens", "long model", 12, 12, one(theModel, nil, chaoshttp.CutCompletion(12))},
		{"compound: proxy HTML", "long model", 12, 12, one(theModel, nil, chaoshttp.HTMLPage())},
		{"compound: stale cache", "tools", 2, 2, one("orders.get", nil, lies.Stale(1))},
		{"compound: stale data", "tools", 4, 4, one("orders.get", nil, lies.ShiftDate(-90, "$.paid_at"))},
		{"compound: wrong entity", "tools", 2, 4, one("orders.get", nil, lies.Crossed())},
		{"compound: slow response", "long model", 12, 12, one(theModel, nil, chaoshttp.SlowHeaders(20*time.Second))},
	}...)
	for _, spoil := range []chaoshttp.Spoil{chaoshttp.SpoilError, chaoshttp.SpoilTimeout, chaoshttp.SpoilSchema} {
		for i, w := range []chaos.When{when.Early(12), when.Mid(12), when.Late(12)} {
			name := fmt.Sprintf("positional: %s, %s", spoil, []string{"early", "mid", "late"}[i])
			rows = append(rows, classified{name, "long model", 4, 4, one(theModel, w, chaoshttp.SpoilCompletion(chaoshttp.PartContent, spoil))})
		}
	}
	return rows
}

func agentDisruptBench() []classified {
	status := func(code int) []chaos.Rule { return one(theService, when.Prob(0.5), chaoshttp.Status(code, nil)) }
	return []classified{
		{"timeout", "tools", 4, 4, one("orders.get", nil, fault.Timeout(30*time.Second))},
		{"latency", "tools", 4, 4, one("orders.get", nil, fault.Uniform(2*time.Second, 10*time.Second))},
		{"HTTP 429", "long service", 12, 12, one(theService, nil, chaoshttp.Status(429, &chaoshttp.StatusOptions{RetryAfter: 30 * time.Second}))},
		{"HTTP 401", "long service", 2, 10, status(401)},
		{"HTTP 403", "long service", 2, 10, status(403)},
		{"HTTP 500", "long service", 2, 10, status(500)},
		{"HTTP 502", "long service", 2, 10, status(502)},
		{"HTTP 503", "long service", 2, 10, status(503)},
		{"malformed JSON", "tools", 4, 4, one("orders.get", nil, lies.Malformed())},
		{"truncated", "long service", 12, 12, one(theService, nil, chaoshttp.ShortBody(60))},
		{"null response", "tools", 4, 4, one("orders.get", nil, lies.Null())},
		{"missing fields", "tools", 4, 4, one("orders.get", nil, lies.Missing("$.status", "$.total"))},
		{"type mismatch", "tools", 4, 4, one("orders.get", nil, lies.FlipType("$.total"))},
		{"schema drift", "tools", 4, 4, one("orders.get", nil, lies.SchemaDrift())},
		{"wrong data", "tools", 4, 4, one("orders.get", nil, lies.WrongNumber(0.3, "$.total"))},
		{"intermittent", "long service", 1, 8, one(theService, when.Prob(0.3), chaoshttp.Status(503, nil))},
		{"flapping", "slow tools", 2, 2, one("orders.get", when.Flapping(40*time.Second, time.Minute), fault.Fail(fault.ErrUnavailable))},
		{"quota exhausted", "tools", 5, 6, []chaos.Rule{{Target: "orders.*", Fault: fault.CallBudget(3, 0)}}},
		{"auth expiry", "tools", 2, 2, one("orders.get", when.After(2), fault.AuthExpired())},
		{"cascading", "tools", 5, 7, []chaos.Rule{
			{Target: "orders.*", Group: "cascade", When: when.Burst(3, 2), Fault: fault.Delay(5 * time.Second)},
			{Target: "orders.*", Group: "cascade", When: when.After(4), Fault: fault.Fail(fault.ErrUnavailable)}}},
	}
}

func hal() []classified {
	return []classified{
		{"timeout", "tools", 4, 4, one("orders.get", nil, fault.Timeout(30*time.Second))},
		{"error response", "tools", 4, 4, one("orders.get", nil, fault.Fail(fault.ErrInternal))},
		{"partial failure", "tools", 4, 4, one("orders.get", nil, lies.PartialBatch(0.5, "$.items"))},
		{"rate limit", "tools", 5, 6, one("orders.*", nil, fault.RateLimit(3, time.Minute))},
		{"network error", "tools", 4, 4, one("orders.get", nil, fault.Fail(fault.ErrConnectionReset))},
		{"invalid response", "tools", 4, 4, one("orders.get", nil, lies.HTMLPage())},
		{"empty response", "tools", 4, 4, one("orders.get", nil, lies.Empty())},
	}
}

// reliabilityBench at intensity 0.3: the probability of a fault at each call.
func reliabilityBench() []classified {
	at := when.Prob(0.3)
	return []classified{
		{"transient timeout, λ = 0.3", "long service", 1, 8, one(theService, at, fault.Timeout(10*time.Second))},
		{"rate limit, λ = 0.3", "long service", 1, 8, one(theService, at, chaoshttp.Status(429, &chaoshttp.StatusOptions{RetryAfter: 5 * time.Second}))},
		{"partial response, λ = 0.3", "long service", 1, 8, one(theService, at, chaoshttp.CutBody(60))},
		{"schema drift, λ = 0.3", "tools", 1, 6, one("orders.*", when.Prob(0.3), lies.RenameKey(""))},
	}
}

func toolMaze() []classified {
	return []classified{
		{"explicit, transient", "tools", 2, 2, one("orders.get", when.First(2), fault.Fail(fault.ErrUnavailable))},
		{"explicit, permanent", "tools", 3, 3, one("{tools/list,orders.*}", nil, fault.ToolRemoved("orders.total"))},
		{"implicit, transient", "tools", 2, 2, one("orders.get", when.First(2), lies.WrongNumber(0.2, "$.total"))},
		{"implicit, permanent", "tools", 4, 4, one("orders.get", nil, lies.UnknownEnum("$.status"))},
	}
}

// mcpFaults are the eleven categories of runtime faults of MCP servers.
func mcpFaults() []classified {
	return []classified{
		{"tool (194 threads)", "tools", 3, 3, one("{tools/list,orders.*}", nil, fault.ToolRemoved("orders.total"))},
		{"data and schema (147)", "tools", 2, 5, one("{tools/list,orders.*}", nil, lies.ChangeArguments("orders.refund", "order", "orderId"))},
		{"state and configuration (143)", "tools", 1, 1, one("orders.*", nil, fault.DelayedVisibility("orders.refund", time.Minute, nil))},
		{"session (65)", "long service", 10, 10, []chaos.Rule{{Target: theService, Group: "session", When: when.After(2), // over all paths together
			Fault: chaoshttp.Status(404, &chaoshttp.StatusOptions{Body: `{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"}}`})}}},
		{"resource (58)", "tools", 4, 7, one("orders.*", nil, fault.MemoryBudget(400, 0))},
		{"security (54)", "tools", 1, 1, one(chaos.ListTarget, nil, lies.PoisonTool("orders.get"))},
		{"model and provider (48)", "long model", 12, 12, one(theModel, nil, chaoshttp.APIError(chaoshttp.OpenAI, chaoshttp.ErrContextLength, nil))},
		{"protocol (45)", "long service", 12, 12, one(theService, nil, chaoshttp.MalformedJSON())},
		{"transport (45)", "long service", 2, 10, one(theService, when.Markov(0.3, 0.4), chaoshttp.Reset())},
		{"prompt (22)", "others", 3, 3, one("memory", nil, lies.OverflowMessages(4096, lies.Messages{}))},
		{"timeout and cancellation (16)", "crowd", 1, 1, one("report", nil, fault.IgnoreCancel())},
	}
}

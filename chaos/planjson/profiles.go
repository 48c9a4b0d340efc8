package planjson

import (
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// profiles is the table. Each profile has a fault within the first ten calls to
// its targets, or a chance of one in each call of at least a quarter, so that a
// short run notices it.
func profiles() []profile {
	tools, streams, models := needs{tools: true}, needs{streams: true}, needs{models: true}
	return []profile{
		{"high-latency", "Half of the calls take some seconds longer, one in twenty half a minute.", tools,
			highLatency},
		{"flaky-network",
			"Bursts of reset connections, a quarter of the calls in the long run; others time out or are late.", tools,
			flakyNetwork},
		{"api-outage",
			"From the third call on, all tools together are unavailable for eight calls, and then come back.", tools,
			apiOutage},
		{"partition", "From the second call on, no tool can be reached any more.", tools, partition},
		{"cascading-failure",
			"A dependency fails by degrees: two calls without a fault, three that are slow, three that time out, and then nothing but exhaustion.", tools, cascadingFailure},
		{"rate-limited",
			"Three calls in ten seconds are let through, over all tools together; the others are refused, with the time to wait.", tools, rateLimited},
		{"auth-expired", "After three calls to a tool its credentials are no longer accepted, for good.", tools,
			authExpired},
		{"budget-exhausted", "After eight calls over all tools together, none is left.", tools, budgetExhausted},
		{"lost-replies", "Three calls in ten do their work, and the caller sees a time-out.", tools, lostReplies},
		{"repeated-calls", "Three calls in ten are executed twice, and the caller sees one reply.", tools,
			repeatedCalls},
		{"hanging-tools", "A quarter of the calls hang until the caller gives up.", tools, hangingTools},
		{"wrong-data", "Results hold plausible numbers, dates and words that are not so.", tools, wrongData},
		{"stale-data", "An answer is that of the equal call before: what was written since is not seen.", tools,
			staleData},
		{"partial-results", "Fields are missing, null or empty.", tools, partialResults},
		{"malformed-results", "Results cannot be decoded, are the page of a proxy, or an error under success.", tools,
			malformedResults},
		{"schema-drift", "After three calls to a tool its results are those of a second version.", tools, schemaDrift},
		{"hostile-tools", "Results hold instructions, false authority, other goals and a request to leak a code.",
			tools, hostileTools},
		{"degraded-llm", "A model is slow, refuses, stops early, says nothing or garbage, and mistakes arguments.",
			models, degradedLLM},
		{"llm-outage", "A model's API answers two calls, then four with 503 and a Retry-After, and then again two.",
			models, llmOutage},
		{"slow-streams", "Streams begin late and trickle; a quarter stall in the middle, a quarter break off.", streams,
			slowStreams},
		{"garbled-streams", "Streams repeat, swap or spoil items, or end without their last one.", streams,
			garbledStreams},
	}
}

func highLatency(t targets) []chaos.Rule {
	return []chaos.Rule{
		{Name: "slow", Target: t.tools, When: when.Prob(0.5), Fault: fault.Uniform(time.Second, 5*time.Second)},
		{Name: "stuck", Target: t.tools, When: when.Prob(0.05), Fault: fault.Delay(30 * time.Second)},
	}
}

func flakyNetwork(t targets) []chaos.Rule {
	return []chaos.Rule{
		{Name: "reset", Target: t.tools, When: when.Markov(0.2, 0.6), Fault: fault.Fail(fault.ErrConnectionReset)},
		{Name: "time-out", Target: t.tools, When: when.Prob(0.1), Fault: fault.Timeout(5 * time.Second)},
		{Name: "late", Target: t.tools, When: when.Prob(0.3), Fault: fault.Exponential(time.Second)},
	}
}

func apiOutage(t targets) []chaos.Rule {
	return []chaos.Rule{{Name: "down", Target: t.tools, Group: "api-outage", When: when.Burst(3, 8),
		Fault: fault.Fail(fault.ErrUnavailable)}}
}

func partition(t targets) []chaos.Rule {
	return []chaos.Rule{{Name: "cut off", Target: t.tools, Group: "partition", When: when.After(1),
		Fault: fault.Partition()}}
}

func cascadingFailure(t targets) []chaos.Rule {
	const group = "cascading-failure"
	return []chaos.Rule{
		{Name: "slow", Target: t.tools, Group: group, When: when.Burst(3, 3),
			Fault: fault.Uniform(2*time.Second, 8*time.Second)},
		{Name: "time-out", Target: t.tools, Group: group, When: when.Burst(6, 3),
			Fault: fault.Timeout(10 * time.Second)},
		{Name: "exhausted", Target: t.tools, Group: group, When: when.After(8), Fault: fault.ResourceExhausted()},
	}
}

func rateLimited(t targets) []chaos.Rule {
	return []chaos.Rule{{Name: "refused", Target: t.tools, Fault: fault.RateLimit(3, 10*time.Second)}}
}

func authExpired(t targets) []chaos.Rule {
	return []chaos.Rule{{Name: "expired", Target: t.tools, When: when.After(3), Fault: fault.AuthExpired()}}
}

func budgetExhausted(t targets) []chaos.Rule {
	return []chaos.Rule{{Name: "spent", Target: t.tools, Fault: fault.CallBudget(8, 0)}}
}

func lostReplies(t targets) []chaos.Rule {
	return []chaos.Rule{{Name: "lost", Target: t.tools, When: when.Prob(0.3),
		Fault: fault.LoseReplyAfter(5 * time.Second)}}
}

func repeatedCalls(t targets) []chaos.Rule {
	return []chaos.Rule{{Name: "twice", Target: t.tools, When: when.Prob(0.3), Fault: fault.Duplicate()}}
}

func hangingTools(t targets) []chaos.Rule {
	return []chaos.Rule{{Name: "hang", Target: t.tools, When: when.Prob(0.25), Fault: fault.Hang()}}
}

func slowStreams(t targets) []chaos.Rule {
	return []chaos.Rule{
		{Name: "begins late", Target: t.streams, Fault: fault.SlowFirstItem(5 * time.Second)},
		{Name: "trickles", Target: t.streams, When: when.Prob(0.5), Fault: fault.SlowItems(time.Second)},
		{Name: "stalls", Target: t.streams, When: when.Prob(0.25), Fault: fault.HangAtItem(2)},
		{Name: "breaks off", Target: t.streams, When: when.Prob(0.25), Fault: fault.CutAfter(2)},
	}
}

func garbledStreams(t targets) []chaos.Rule {
	return []chaos.Rule{
		{Name: "repeats", Target: t.streams, When: when.Prob(0.5), Fault: fault.DuplicateItem(1)},
		{Name: "swaps", Target: t.streams, When: when.Prob(0.5), Fault: fault.ReorderItems(3)},
		{Name: "spoils", Target: t.streams, When: when.Prob(0.25), Fault: fault.MalformItem(1)},
		{Name: "ends short", Target: t.streams, When: when.Prob(0.25), Fault: fault.DropLastItem()},
	}
}

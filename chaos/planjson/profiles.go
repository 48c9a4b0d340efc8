package planjson

import (
	"net/http"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/lies"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// profiles is the table. Each profile has a fault within the first ten calls to
// its targets, or a chance of one in each call of at least a quarter, so that a
// short run notices it.
func profiles() []profile {
	return append(failures(), append(values(), distant()...)...)
}

// failures are the profiles of tools that fail, or are late.
func failures() []profile {
	return []profile{
		{"high-latency", "Half of the calls take some seconds longer, one in twenty half a minute.", tools, []chaos.Rule{
			{Name: "slow", When: when.Prob(0.5), Fault: fault.Uniform(time.Second, 5*time.Second)},
			{Name: "stuck", When: when.Prob(0.05), Fault: fault.Delay(30 * time.Second)},
		}},
		{"flaky-network", "Bursts of reset connections, a quarter of the calls in the long run; " +
			"others time out or are late.", tools, []chaos.Rule{
			{Name: "reset", When: when.Markov(0.2, 0.6), Fault: fault.Fail(fault.ErrConnectionReset)},
			{Name: "time-out", When: when.Prob(0.1), Fault: fault.Timeout(5 * time.Second)},
			{Name: "late", When: when.Prob(0.3), Fault: fault.Exponential(time.Second)},
		}},
		{"api-outage", "From the third call on, all tools together are unavailable for eight calls, " +
			"and then come back.", tools, []chaos.Rule{
			{Name: "down", Group: "api-outage", When: when.Burst(3, 8), Fault: fault.Fail(fault.ErrUnavailable)},
		}},
		{"partition", "From the second call on, no tool can be reached any more.", tools, []chaos.Rule{
			{Name: "cut off", Group: "partition", When: when.After(1), Fault: fault.Partition()},
		}},
		{"cascading-failure", "A dependency fails by degrees: two calls without a fault, three that are slow, " +
			"three that time out, and then nothing but exhaustion.", tools, []chaos.Rule{
			{Name: "slow", Group: "cascading-failure", When: when.Burst(3, 3),
				Fault: fault.Uniform(2*time.Second, 8*time.Second)},
			{Name: "time-out", Group: "cascading-failure", When: when.Burst(6, 3),
				Fault: fault.Timeout(10 * time.Second)},
			{Name: "exhausted", Group: "cascading-failure", When: when.After(8), Fault: fault.ResourceExhausted()},
		}},
		{"rate-limited", "Three calls in ten seconds are let through, over all tools together; " +
			"the others are refused, with the time to wait.", tools, []chaos.Rule{
			{Name: "refused", Fault: fault.RateLimit(3, 10*time.Second)},
		}},
		{"auth-expired", "After three calls to a tool its credentials are no longer accepted, for good.", tools,
			[]chaos.Rule{{Name: "expired", When: when.After(3), Fault: fault.AuthExpired()}}},
		{"budget-exhausted", "After eight calls over all tools together, none is left.", tools,
			[]chaos.Rule{{Name: "spent", Fault: fault.CallBudget(8, 0)}}},
		{"lost-replies", "Three calls in ten do their work, and the caller sees a time-out.", tools,
			[]chaos.Rule{{Name: "lost", When: when.Prob(0.3), Fault: fault.LoseReplyAfter(5 * time.Second)}}},
		{"repeated-calls", "Three calls in ten are executed twice, and the caller sees one reply.", tools,
			[]chaos.Rule{{Name: "twice", When: when.Prob(0.3), Fault: fault.Duplicate()}}},
		{"hanging-tools", "A quarter of the calls hang until the caller gives up.", tools,
			[]chaos.Rule{{Name: "hang", When: when.Prob(0.25), Fault: fault.Hang()}}},
	}
}

// values are the profiles of tools whose results are wrong.
func values() []profile {
	return []profile{
		{"wrong-data", "Results hold plausible numbers, dates and words that are not so.", tools, []chaos.Rule{
			{Name: "number", When: when.Prob(0.5), Fault: lies.WrongNumber(0.2)},
			{Name: "date", When: when.Prob(0.3), Fault: lies.ShiftDate(1)},
			{Name: "word", When: when.Prob(0.3), Fault: lies.UnknownEnum()},
		}},
		{"stale-data", "An answer is that of the equal call before: what was written since is not seen.", tools,
			[]chaos.Rule{{Name: "stale", Fault: lies.Stale(1)}}},
		{"partial-results", "Fields are missing, null or empty.", tools, []chaos.Rule{
			{Name: "missing", When: when.Prob(0.4), Fault: lies.Missing()},
			{Name: "null", When: when.Prob(0.25), Fault: lies.Null()},
			{Name: "empty", When: when.Prob(0.25), Fault: lies.Empty()},
		}},
		{"malformed-results", "Results cannot be decoded, are the page of a proxy, or an error under success.", tools,
			[]chaos.Rule{
				{Name: "malformed", When: when.Prob(0.3), Fault: lies.Malformed()},
				{Name: "page", When: when.Prob(0.25), Fault: lies.HTMLPage()},
				{Name: "error", When: when.Prob(0.25), Fault: lies.ErrorBody(503, "Service Unavailable")},
			}},
		{"schema-drift", "After three calls to a tool its results are those of a second version.", tools,
			[]chaos.Rule{{Name: "v2", When: when.After(3), Fault: lies.SchemaDrift()}}},
		{"hostile-tools", "Results hold instructions, false authority, other goals and a request to leak a code.", tools,
			[]chaos.Rule{
				{Name: "instruction", When: when.Prob(0.4), Fault: lies.Inject(lies.Attack{})},
				{Name: "authority", When: when.Prob(0.25), Fault: lies.Inject(lies.Attack{Kind: lies.Authority})},
				{Name: "goal", When: when.Prob(0.25), Fault: lies.Inject(lies.Attack{Kind: lies.GoalHijack})},
				{Name: "leak", When: when.Prob(0.25), Fault: lies.Inject(lies.Attack{Kind: lies.Exfiltration})},
			}},
	}
}

// distant are the profiles of models and of streams.
func distant() []profile {
	return []profile{
		{"degraded-llm", "A model is slow, refuses, stops early, says nothing or garbage, and mistakes arguments.", models,
			[]chaos.Rule{
				{Name: "slow", When: when.Prob(0.4), Fault: chaoshttp.SlowHeaders(15 * time.Second)},
				{Name: "refuses", When: when.Prob(0.2), Fault: chaoshttp.RefuseCompletion("")},
				{Name: "stops early", When: when.Prob(0.25), Fault: chaoshttp.CutCompletion(8)},
				{Name: "says nothing", When: when.Prob(0.15), Fault: chaoshttp.EmptyCompletion()},
				{Name: "says garbage", When: when.Prob(0.15), Fault: chaoshttp.GarbleCompletion()},
				{Name: "mistakes arguments", When: when.Prob(0.25), Fault: chaoshttp.WrongArgument("")},
			}},
		{"llm-outage", "A model's API answers two calls, then four with 503 and a Retry-After, and then again two.", models,
			[]chaos.Rule{{Name: "down", When: when.Not(when.Intermittent(2, 4)), Fault: chaoshttp.Status(
				http.StatusServiceUnavailable, &chaoshttp.StatusOptions{RetryAfter: 20 * time.Second})}}},
		{"slow-streams", "Streams begin late and trickle; a quarter stall in the middle, a quarter break off.", streams,
			[]chaos.Rule{
				{Name: "begins late", Fault: fault.SlowFirstItem(5 * time.Second)},
				{Name: "trickles", When: when.Prob(0.5), Fault: fault.SlowItems(time.Second)},
				{Name: "stalls", When: when.Prob(0.25), Fault: fault.HangAtItem(2)},
				{Name: "breaks off", When: when.Prob(0.25), Fault: fault.CutAfter(2)},
			}},
		{"garbled-streams", "Streams repeat, swap or spoil items, or end without their last one.", streams,
			[]chaos.Rule{
				{Name: "repeats", When: when.Prob(0.5), Fault: fault.DuplicateItem(1)},
				{Name: "swaps", When: when.Prob(0.5), Fault: fault.ReorderItems(3)},
				{Name: "spoils", When: when.Prob(0.25), Fault: fault.MalformItem(1)},
				{Name: "ends short", When: when.Prob(0.25), Fault: fault.DropLastItem()},
			}},
	}
}

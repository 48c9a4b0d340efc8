package planjson

import (
	"net/http"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/lies"
	"github.com/shakedown-go/shakedown/chaos/when"
)

func wrongData(t targets) []chaos.Rule {
	return []chaos.Rule{
		{Name: "number", Target: t.tools, When: when.Prob(0.5), Fault: lies.WrongNumber(0.2)},
		{Name: "date", Target: t.tools, When: when.Prob(0.3), Fault: lies.ShiftDate(1)},
		{Name: "word", Target: t.tools, When: when.Prob(0.3), Fault: lies.UnknownEnum()},
	}
}

func staleData(t targets) []chaos.Rule {
	return []chaos.Rule{{Name: "stale", Target: t.tools, Fault: lies.Stale(1)}}
}

func partialResults(t targets) []chaos.Rule {
	return []chaos.Rule{
		{Name: "missing", Target: t.tools, When: when.Prob(0.4), Fault: lies.Missing()},
		{Name: "null", Target: t.tools, When: when.Prob(0.25), Fault: lies.Null()},
		{Name: "empty", Target: t.tools, When: when.Prob(0.25), Fault: lies.Empty()},
	}
}

func malformedResults(t targets) []chaos.Rule {
	return []chaos.Rule{
		{Name: "malformed", Target: t.tools, When: when.Prob(0.3), Fault: lies.Malformed()},
		{Name: "page", Target: t.tools, When: when.Prob(0.25), Fault: lies.HTMLPage()},
		{Name: "error", Target: t.tools, When: when.Prob(0.25), Fault: lies.ErrorBody(503, "Service Unavailable")},
	}
}

func schemaDrift(t targets) []chaos.Rule {
	return []chaos.Rule{{Name: "v2", Target: t.tools, When: when.After(3), Fault: lies.SchemaDrift()}}
}

func hostileTools(t targets) []chaos.Rule {
	return []chaos.Rule{
		{Name: "instruction", Target: t.tools, When: when.Prob(0.4), Fault: lies.Instruct(lies.Attack{})},
		{Name: "authority", Target: t.tools, When: when.Prob(0.25), Fault: lies.SpoofAuthority(lies.Attack{})},
		{Name: "goal", Target: t.tools, When: when.Prob(0.25), Fault: lies.HijackGoal(lies.Attack{})},
		{Name: "leak", Target: t.tools, When: when.Prob(0.25), Fault: lies.Exfiltrate(lies.Attack{})},
	}
}

func degradedLLM(t targets) []chaos.Rule {
	return []chaos.Rule{
		{Name: "slow", Target: t.models, When: when.Prob(0.4), Fault: chaoshttp.SlowHeaders(15 * time.Second)},
		{Name: "refuses", Target: t.models, When: when.Prob(0.2), Fault: chaoshttp.RefuseCompletion("")},
		{Name: "stops early", Target: t.models, When: when.Prob(0.25), Fault: chaoshttp.CutCompletion(8)},
		{Name: "says nothing", Target: t.models, When: when.Prob(0.15), Fault: chaoshttp.EmptyCompletion()},
		{Name: "says garbage", Target: t.models, When: when.Prob(0.15), Fault: chaoshttp.GarbleCompletion()},
		{Name: "mistakes arguments", Target: t.models, When: when.Prob(0.25), Fault: chaoshttp.WrongArgument("")},
	}
}

func llmOutage(t targets) []chaos.Rule {
	return []chaos.Rule{{Name: "down", Target: t.models, When: when.Not(when.Intermittent(2, 4)),
		Fault: chaoshttp.Status(http.StatusServiceUnavailable, &chaoshttp.StatusOptions{RetryAfter: 20 * time.Second})}}
}

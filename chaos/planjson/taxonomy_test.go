package planjson_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/lies"
	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// Every row of the taxonomies can be written as a plan, and is delivered: from
// its JSON it makes as many calls look different as it should. The page shows
// all of it.
func TestTaxonomiesAreCovered(t *testing.T) {
	calm := map[string][]answer{}
	for _, taxonomy := range []struct {
		part string
		rows []classified
		want int
	}{
		{"agentchaos", agentChaos(), 65}, {"agentdisruptbench", agentDisruptBench(), 20}, {"hal", hal(), 7},
		{"reliabilitybench", slices.Concat(reliabilityBenchAt(0.3, 1, 8), reliabilityBenchAt(1, 12, 12)), 8},
		{"toolmaze", toolMaze(), 4}, {"mcp", mcpFaults(), 32},
	} {
		require.Len(t, taxonomy.rows, taxonomy.want)
		var table strings.Builder
		fmt.Fprint(&table, "| row | rules | what the caller gets |\n|---|---|---|\n")
		for _, r := range taxonomy.rows {
			t.Run(taxonomy.part+"/"+r.row, func(t *testing.T) {
				if calm[r.part] == nil {
					calm[r.part], _ = experience(t, nil, r.part)
				}
				written, err := chaos.NewPlan(5, r.rules...)
				require.NoError(t, err)
				doc, err := planjson.Describe(written, nil)
				require.NoError(t, err)
				plan, err := doc.Build(nil)
				require.NoError(t, err)
				got, events := experience(t, plan, r.part)
				for _, rule := range plan.Rules() {
					assert.True(t, slices.ContainsFunc(events, func(e chaos.Event) bool {
						return e.Delivered && (e.Rule == rule.Name || slices.Contains(e.Also, rule.Name))
					}), "%s was delivered", rule.Name)
				}
				n := differences(calm[r.part], got)
				assert.True(t, r.least <= n && n <= r.most, "%d calls look different, want %d to %d: %v", n, r.least, r.most, got)
				fmt.Fprintf(&table, "| %s | `%s` | `%s` |\n", cell(r.row), cell(rulesText(t, doc)), strings.ReplaceAll(cell(difference(calm[r.part], got)), "`", "'"))
			})
		}
		page(t, filepath.Join("reference", "taxonomies.md"), taxonomy.part, table.String())
	}
}

// At each intensity the share of the calls that get a fault is the intensity,
// as their callers see it: within four standard deviations of a draw a call.
func TestIntensityIsTheShareOfCalls(t *testing.T) {
	const calls = 400
	intensities := []float64{0, 0.1, 0.3, 1}
	calm := map[string][]answer{}
	shares := map[string][]string{}
	var names []string
	for _, lambda := range intensities {
		for _, r := range reliabilityBench(lambda) {
			if calm[r.part] == nil {
				calm[r.part], _ = experience(t, nil, r.part)
			}
			plan, err := chaos.NewPlan(5, r.rules...)
			require.NoError(t, err)
			got, events := experience(t, plan, r.part)
			delivered := 0
			for _, e := range events {
				if e.Delivered {
					delivered++
				}
			}
			n := differences(calm[r.part], got)
			assert.Equal(t, delivered, n, "%s at %v: a call with a fault looks different, and no other", r.row, lambda)
			assert.InDelta(t, lambda, float64(n)/calls, 4*math.Sqrt(lambda*(1-lambda)/calls), "%s", r.row)
			if shares[r.row] == nil {
				names = append(names, r.row)
			}
			shares[r.row] = append(shares[r.row], fmt.Sprintf("%.3f", float64(n)/calls))
		}
	}
	var table strings.Builder
	fmt.Fprint(&table, "| share of calls with a fault | λ = 0 | λ = 0.1 | λ = 0.3 | λ = 1 |\n|---|---|---|---|---|\n")
	for _, name := range names {
		fmt.Fprintf(&table, "| %s | %s |\n", name, strings.Join(shares[name], " | "))
	}
	page(t, filepath.Join("reference", "taxonomies.md"), "intensity", table.String())
}

// differences counts the calls whose caller got something else; what is looked
// at afterwards is none.
func differences(calm, got []answer) (n int) {
	for i, a := range got {
		if a.call != "afterwards" && (i >= len(calm) || a.String() != calm[i].String()) {
			n++
		}
	}
	return n
}

// rulesText is the rules of a plan as JSON on one line, their names left to be made.
func rulesText(t *testing.T, doc *planjson.Plan) string {
	rules := slices.Clone(doc.Rules)
	for i := range rules {
		rules[i].Name = ""
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	require.NoError(t, enc.Encode(rules))
	return strings.TrimSpace(b.String())
}

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
			{Target: theModel, When: when.Prob(0.4), Fault: chaoshttp.APIError(chaoshttp.OpenAI, chaoshttp.KindServer, nil)}}},
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

// reliabilityBench at an intensity λ: the probability of a fault at each call.
func reliabilityBench(lambda float64) []classified {
	at := when.Prob(lambda)
	return []classified{
		{"transient timeout", "many requests", 0, 0, one(theService, at, fault.Timeout(10*time.Second))},
		{"rate limit", "many requests", 0, 0, one(theService, at, chaoshttp.Status(429, &chaoshttp.StatusOptions{RetryAfter: 5 * time.Second}))},
		{"partial response", "many requests", 0, 0, one(theService, at, chaoshttp.CutBody(60))},
		{"schema drift", "many tool calls", 0, 0, one("orders.*", at, lies.RenameKey(""))},
	}
}

// reliabilityBenchAt is the same in the short part of the world that the other tables use.
func reliabilityBenchAt(lambda float64, least, most int) (rows []classified) {
	for _, r := range reliabilityBench(lambda) {
		part := map[string]string{"many requests": "long service", "many tool calls": "12 tool calls"}[r.part]
		rows = append(rows, classified{fmt.Sprintf("%s, λ = %v", r.row, lambda), part, least, most, r.rules})
	}
	return rows
}

func toolMaze() []classified {
	return []classified{
		{"explicit, transient", "tools", 2, 2, one("orders.get", when.First(2), fault.Fail(fault.ErrUnavailable))},
		{"explicit, permanent", "tools", 3, 3, one("{tools/list,orders.*}", nil, fault.ToolRemoved("orders.total"))},
		{"implicit, transient", "tools", 2, 2, one("orders.get", when.First(2), lies.WrongNumber(0.2, "$.total"))},
		{"implicit, permanent", "tools", 4, 4, one("orders.get", nil, lies.UnknownEnum("$.status"))},
	}
}

// mcpFaults are the eleven categories of runtime faults of MCP servers, with
// the faults of this catalogue that belong to each.
func mcpFaults() []classified {
	const everyTool, get, refund = "orders.*", "orders.get", "orders.refund"
	listed := "{tools/list,orders.*}"
	return []classified{
		{"tool (194 threads): it is gone", "tools", 3, 3, one(listed, nil, fault.ToolRemoved("orders.total"))},
		{"tool: it fails inside", "tools", 4, 4, one(refund, nil, fault.Fail(fault.ErrInternal))},
		{"tool: its reply is lost", "tools", 2, 2, one(refund, nil, fault.LoseReply())},
		{"tool: it answers with nothing", "tools", 4, 4, one(get, nil, lies.Empty())},
		{"data and schema (147): the arguments have another schema", "tools", 2, 5, one(listed, nil, lies.ChangeArguments(refund, "order", "orderId"))},
		{"data and schema: the result has another schema", "tools", 4, 4, one(get, nil, lies.SchemaDrift())},
		{"data and schema: a value has another type", "tools", 4, 4, one(get, nil, lies.FlipType("$.total"))},
		{"data and schema: a field is missing", "tools", 4, 4, one(get, nil, lies.Missing("$.status"))},
		{"state and configuration (143): a write is seen late", "tools", 1, 1, one(everyTool, nil, fault.DelayedVisibility(refund, time.Minute, nil))},
		{"state and configuration: an old state is shown", "tools", 2, 2, one(get, nil, lies.Stale(1))},
		{"state and configuration: credentials expire", "tools", 2, 2, one(get, when.After(2), fault.AuthExpired())},
		{"session (65): it is not known any more", "long service", 10, 10, []chaos.Rule{{Target: theService, Group: "session", When: when.After(2), // over all paths together
			Fault: chaoshttp.Status(404, &chaoshttp.StatusOptions{Body: `{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"}}`})}}},
		{"session: the server ends it", "long service", 3, 3, []chaos.Rule{{Target: theService, Group: "session", When: when.Burst(4, 3), Fault: chaoshttp.HangUp()}}},
		{"resource (58): memory runs out", "tools", 4, 7, one(everyTool, nil, fault.MemoryBudget(400, 0))},
		{"resource: the disk is full", "tools", 4, 4, one(refund, nil, fault.DiskFull())},
		{"resource: too many calls", "tools", 5, 6, one(everyTool, nil, fault.RateLimit(3, time.Minute))},
		{"security (54): a description has instructions", "tools", 1, 1, one(chaos.ListTarget, nil, lies.PoisonTool(get))},
		{"security: a tool has a shadow", "tools", 1, 1, one(chaos.ListTarget, nil, lies.ShadowTool(refund, ""))},
		{"security: a result asks to leak a code", "tools", 4, 4, one(get, nil, lies.Inject(lies.Attack{Kind: lies.Exfiltration}))},
		{"model and provider (48): the context is too long", "long model", 12, 12, one(theModel, nil, chaoshttp.APIError(chaoshttp.OpenAI, chaoshttp.KindContextLength, nil))},
		{"model and provider: too many requests", "long model", 12, 12, one(theModel, nil, chaoshttp.APIError(chaoshttp.OpenAI, chaoshttp.KindRateLimit, nil))},
		{"model and provider: a tool call is malformed", "long model", 12, 12, one(theModel, nil, chaoshttp.MalformToolCall())},
		{"protocol (45): a message is no JSON", "long service", 12, 12, one(theService, nil, lies.Malformed())},
		{"protocol: a message is a page", "long service", 12, 12, one(theService, nil, chaoshttp.HTMLPage())},
		{"transport (45): connections are reset", "long service", 2, 10, one(theService, when.Markov(0.3, 0.4), chaoshttp.Reset())},
		{"transport: connections are refused", "long service", 12, 12, one(theService, nil, chaoshttp.Refused())},
		{"transport: a message is cut", "long service", 12, 12, one(theService, nil, chaoshttp.CutBody(60))},
		{"prompt (22): it grows beyond the window", "others", 3, 3, one("memory", nil, lies.OverflowMessages(4096, lies.Messages{}))},
		{"prompt: a part of it is lost", "others", 3, 3, one("memory", nil, lies.TruncateMessages(1, lies.Messages{}))},
		{"timeout and cancellation (16): a call cannot be cancelled", "crowd", 1, 1, one("report", nil, fault.IgnoreCancel())},
		{"timeout and cancellation: a call times out", "tools", 4, 4, one(get, nil, fault.Timeout(30*time.Second))},
		{"timeout and cancellation: a call hangs", "tools", 4, 4, one(get, nil, fault.Hang())},
	}
}

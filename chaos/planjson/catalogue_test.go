package planjson_test

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/lies"
	"github.com/shakedown-go/shakedown/chaos/planjson"
)

// experience makes the calls of one part of the world under a plan, or under
// none, in a bubble of its own, and gives what the callers got.
func experience(t *testing.T, plan *chaos.Plan, part string) (got []answer, events []chaos.Event) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w, ctx := newWorld(t), t.Context()
		if slow, ok := strings.CutPrefix(part, "slow "); ok {
			part, w.pace = slow, 30*time.Second
		}
		var in *chaos.Injector
		if plan != nil {
			in = plan.Injector("catalogue", nil)
			ctx = chaos.NewContext(ctx, in)
		}
		got = w.visit(ctx, part)
		if in != nil {
			events = in.Events()
		}
	})
	return got, events
}

// difference shows the first answer that is another than without faults, from
// shortly before where it departs.
func difference(calm, got []answer) string {
	for i, a := range got {
		said := a.String()
		if i >= len(calm) {
			return a.call + ": " + excerpt(said, 0)
		}
		if usual := calm[i].String(); said != usual {
			at := 0
			for at < len(said) && at < len(usual) && said[at] == usual[at] {
				at++
			}
			return a.call + ": " + excerpt(said, at)
		}
	}
	if len(calm) > len(got) {
		return "no more of " + calm[len(got)].call
	}
	return ""
}

// excerpt is a text in one line, around byte at if it is long.
func excerpt(s string, at int) string {
	const before, most = 24, 120
	if len(s) <= most {
		return inLine(s)
	}
	head, tail := "", ""
	if len(s) > 1000 {
		head = fmt.Sprintf("(%d bytes) ", len(s))
	}
	if from := max(0, min(at-before, len(s)-most)); from > 0 {
		head, s = head+"… ", s[from:]
	}
	if len(s) > most {
		s, tail = s[:most], " …"
	}
	return head + inLine(s) + tail
}

// inLine keeps a text on one line; what is no UTF-8 shows as such.
func inLine(s string) string { return strings.Join(strings.Fields(strings.ToValidUTF8(s, "�")), " ") }

// parts are the parts of the world in which the example of a row is tried, in this order.
func parts(l chaos.Layer) []string {
	if l == chaos.LayerSQL {
		return []string{"database"}
	}
	return []string{"tools", "others", "stream", "service", "model", "events", "crowd",
		"model in JSON", "slow tools", "12 tool calls", "long service", "long model"}
}

// A tried rule was delivered in a part of the world, where a caller noticed.
type tried struct {
	part, seen string
	doc        *planjson.Plan
}

// try commits a rule, from its JSON, in one part of the world. It is not ok if
// the rule was not delivered, or if no caller got anything else than on a calm day.
func try(t *testing.T, calm map[string][]answer, rule chaos.Rule, o *planjson.Options, part string) (got tried, ok bool) {
	t.Helper()
	if calm[part] == nil {
		calm[part], _ = experience(t, nil, part)
	}
	rule.Name = "row"
	written, err := chaos.NewPlan(11, rule)
	require.NoError(t, err)
	doc, err := planjson.Describe(written, o)
	require.NoError(t, err)
	plan, err := doc.Build(o)
	require.NoError(t, err)
	answers, events := experience(t, plan, part)
	seen := difference(calm[part], answers)
	delivered := slices.ContainsFunc(events, func(e chaos.Event) bool {
		return e.Delivered && (e.Rule == rule.Name || slices.Contains(e.Also, rule.Name))
	})
	return tried{part, seen, doc}, delivered && seen != ""
}

// tryExample tries the fault of a row's example on every call of each part of the
// world, until a caller notices.
func tryExample(t *testing.T, calm map[string][]answer, r *catalog.Row, o *planjson.Options) (got tried, ok bool) {
	t.Helper()
	part := fmt.Sprintf(`{"kind":%q,"params":%s}`, r.Kind, r.Example)
	plan, err := planjson.Decode(oneRule(`{"kind":"always"}`, part), o)
	require.NoError(t, err)
	for _, part := range parts(r.Layer) {
		if got, ok = try(t, calm, chaos.Rule{Target: "*", Fault: plan.Rules()[0].Fault}, o, part); ok {
			return got, true
		}
	}
	return tried{}, false
}

// Every fault of the catalogue can be written in Go and in JSON, and is
// delivered: what comes from the JSON makes the caller see something else than
// on a calm day. A kind is tried by its example unless it has rules of its own. The
// page shows all of it.
func TestEveryFaultOfTheCatalogueIsDelivered(t *testing.T) {
	calm := map[string][]answer{}
	code := map[string]string{}
	for _, r := range planjson.Rows() {
		code[r.Kind] = r.Go
	}
	kinds := map[string]bool{}
	var table strings.Builder
	line := func(family, fault, code string, got tried) {
		fmt.Fprintf(&table, "| %s | %s | `%s` | `%s` | `%s` |\n", family, cell(fault), cell(code), cell(faultText(got.doc)),
			strings.ReplaceAll(cell(got.seen), "`", "'"))
	}
	fmt.Fprint(&table, "| family | fault | Go | JSON | what the caller gets |\n|---|---|---|---|---|\n")
	for _, r := range catalogue() {
		t.Run(r.family+"/"+r.fault, func(t *testing.T) {
			got, ok := try(t, calm, r.rule, nil, r.part)
			assert.True(t, ok, "delivered, and the caller noticed: %q", got.seen)
			kinds[got.doc.Rules[0].Fault.Kind] = true
			line(r.family, r.fault, code[got.doc.Rules[0].Fault.Kind], got)
		})
	}
	for _, r := range planjson.Rows() {
		if r.IsTrigger() || r.HoldsCode() || kinds[r.Kind] {
			continue
		}
		t.Run(r.Kind, func(t *testing.T) {
			got, ok := tryExample(t, calm, r, nil)
			require.True(t, ok, "no caller notices the example %s of %s, in any part of the world: write a rule into "+
				"catalogue_test.go", r.Example, r.Kind)
			line(cmp.Or(string(r.Layer), string(r.Class)), strings.ReplaceAll(r.Kind, "_", " "), r.Go, got)
		})
	}
	page(t, filepath.Join("reference", "faults.md"), "catalogue", table.String())
}

// faultText is the rule's trigger and fault as JSON, without what is only there to find them.
func faultText(doc *planjson.Plan) string {
	r := doc.Rules[0]
	var part bytes.Buffer
	if r.When != nil {
		fmt.Fprintf(&part, `"when":%s,`, partText(*r.When))
	}
	fmt.Fprintf(&part, `"fault":%s`, partText(r.Fault))
	if r.Group != "" {
		fmt.Fprintf(&part, `,"group":%q`, r.Group)
	}
	return part.String()
}

func partText(p planjson.Part) string {
	if len(p.Params) == 0 {
		return fmt.Sprintf(`{"kind":%q}`, p.Kind)
	}
	return fmt.Sprintf(`{"kind":%q,"params":%s}`, p.Kind, p.Params)
}

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

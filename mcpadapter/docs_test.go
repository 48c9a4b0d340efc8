package mcpadapter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What clients see of the tools is in tools.yaml; here is what they need of it.
func TestListOfTools(t *testing.T) {
	c := clientOf(t, serverOf(t, newShop(t).host, nil), nil)
	list, err := c.ListTools(t.Context(), nil)
	require.NoError(t, err)
	wire, err := json.Marshal(list)
	require.NoError(t, err)
	assert.LessOrEqual(t, len(wire), 40_000, "every client keeps it in its context")
	for _, tool := range list.Tools {
		assert.NotEmpty(t, tool.Title, tool.Name)
		assert.Greater(t, len(tool.Description), 150, tool.Name)
		members, _ := tool.InputSchema.(map[string]any)["properties"].(map[string]any) // some take nothing
		for name, m := range members {
			assert.NotEmpty(t, m.(map[string]any)["description"], "%s of %s", name, tool.Name)
		}
	}
}

func TestToolsWithNothingBehindThemAreNotListed(t *testing.T) {
	whole := newShop(t).host
	for want, h := range map[string]Host{
		"chaos_apply_plan chaos_disarm chaos_inject_fault chaos_status events_list_subscriptions events_subscribe events_unsubscribe": {Name: "h", Injector: whole.Injector},
		"chaos_run_experiment chaos_status":                                                                             {Name: "h", Experiments: whole.Experiments},
		"contract_list contract_report contract_run explain resilience_score":                                           {Name: "h", Matrices: whole.Matrices},
		"compare_runs compute_recovery_time detect_outages get_graph get_impact get_runs get_state_window":              {Name: "h", Runs: whole.Runs},
		"compare_runs compute_recovery_time detect_outages get_graph get_impact get_runs get_state_window run_scenario": {Name: "h", Runs: whole.Runs, Workload: true},
	} {
		list, err := clientOf(t, serverOf(t, h, nil), nil).ListTools(t.Context(), nil)
		require.NoError(t, err)
		var names []string
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
		}
		assert.Equal(t, want, strings.Join(names, " "))
	}
}

// tools.yaml is what a running server offers, no more and no less.
func TestToolManifest(t *testing.T) {
	srv := serverOf(t, newShop(t).host, nil)
	c := clientOf(t, srv, nil)
	running, err := srv.gate.Manifest(t.Context(), c)
	require.NoError(t, err)
	for i := range running.Tools { // the list has them in short
		j := slices.IndexFunc(srv.tools, func(row *tool) bool { return row.Name == running.Tools[i].Name })
		text, err := json.Marshal(srv.tools[j].Output)
		require.NoError(t, err)
		running.Tools[i].OutputSchema = nil
		require.NoError(t, json.Unmarshal(text, &running.Tools[i].OutputSchema))
	}
	text, err := running.YAML()
	require.NoError(t, err)
	if os.Getenv("UPDATE_GOLDEN") == "1" {
		require.NoError(t, os.WriteFile("tools.yaml", text, 0o644))
		return
	}
	assert.Equal(t, toolManifest, string(text))
	served, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uriTools})
	require.NoError(t, err)
	assert.Equal(t, toolManifest, served.Contents[0].Text)
}

// example has two calls of a tool, one that works and one that does not.
type example struct{ tool, works, fails string }

// examples are in the order of the documentation; later ones build on earlier.
func examples() []example {
	return []example{
		{"chaos_inject_fault", `{"fault_name":"flaky orders","action":"register","fault_type":"error","target":"orders.*","probability":0.3,"error_message":"try again later","limit":20}`,
			`{"fault_name":"flaky orders","action":"register","fault_type":"latncy","probability":30}`},
		{"chaos_apply_plan", `{"name":"monday","plan":{"seed":"1","rules":[{"name":"lost refund","target":"payments.refund","when":{"kind":"first","params":{"n":2}},"fault":{"kind":"lost_reply","params":{"duration":"1s"}},"limit":2}]},"expires_seconds":300}`,
			`{"name":"monday","plan":{"seed":"1","rules":[{"target":"payments.refund","fault":{"kind":"lost_replay","params":{"duration":"1s"}}}]}}`},
		{"chaos_disarm", `{}`, `{"fault_name":"flaky orders"}`},
		{"chaos_run_experiment", `{"experiment_name":"slow database"}`, `{"experiment_name":"slow databse"}`},
		{"chaos_status", `{"include_results":true,"experiment_name":"slow database"}`, `{"includeResults":true}`},
		{"contract_list", `{}`, `{"matrix":"dsek"}`},
		{"contract_run", `{"scenarios":["orders-down"]}`, `{"scenarios":["order-down"]}`},
		{"contract_report", `{"cells":true,"states":["broken"],"evidence":true}`, `{"cells":true,"states":["failed"]}`},
		{"explain", `{"runs":100}`, `{"runs":0}`},
		{"resilience_score", `{"renormalise":true}`, `{}`},
		{"get_runs", `{"limit":1}`, `{"limit":0}`},
		{"get_graph", `{"runId":"monday","subsystemId":"orders"}`, `{"runId":"tuesday"}`},
		{"get_state_window", `{"runId":"monday","start":18,"end":"2026-05-04T03:02:21Z","nodeIds":["orders.get"],"metrics":["served","throughputRatio"]}`, `{"start":0,"end":1500}`},
		{"detect_outages", `{"runId":"monday","nodeId":"orders.get","start":0,"end":59}`, `{"nodeId":"orders.get","start":0,"end":59,"metric":"backlog"}`},
		{"compute_recovery_time", `{"runId":"monday","nodeId":"orders.get","outageStartTs":"2026-05-04T03:02:20Z","lookaheadEndTs":59,"basedOn":"errors"}`, `{"nodeId":"orders.get","outageStartTs":20}`},
		{"get_impact", `{"runId":"monday","nodeId":"orders.get","outageStartTs":"2026-05-04T03:02:20Z","lookaheadEndTs":59}`, `{"runId":"monday","nodeId":"orders.gte","outageStartTs":20,"lookaheadEndTs":59}`},
		{"compare_runs", `{"baselineRunId":"monday","scenarioRunId":"monday","start":0,"end":59,"metrics":["served","errors"]}`, `{"baselineRunId":"monday","scenarioRunId":"tuesday","start":0,"end":59}`},
		{"run_scenario", `{"baseRunId":"monday","label":"half the capacity","parameters":{"capacityMultiplier":0.5}}`, `{"baseRunId":"monday","label":"slower retries","parameters":{"retryDelayMultiplier":4}}`},
		{"events_subscribe", `{"mode":"faults","target":"orders.*","minSeverity":"error"}`, `{"mode":"fault","minSeverity":"fatal"}`},
		{"events_list_subscriptions", `{}`, `{"mode":"faults"}`},
		{"events_unsubscribe", `{"subscriptionId":"` + documentedSubscription + `"}`, `{"subscriptionID":"` + documentedSubscription + `"}`},
	}
}

// volatile are the members whose values differ from run to run.
var volatile = regexp.MustCompile(`"(duration_seconds|elapsedSec)": [0-9.e-]+|"(started_at|finishedAt|createdAt|expires_at)": "[^"]+"`)

// documentedSubscription stands for the id of any subscription.
const documentedSubscription = "sub-EXAMPLE2SUBSCRIPTION3IDQQ"

var searchTime = regexp.MustCompile(`(further runs), [^)]*\)`)

var anySubscription = regexp.MustCompile(`"sub-[A-Z2-7]{26}"`)

func settled(text []byte) []byte {
	text = searchTime.ReplaceAll(text, []byte("$1, 0s)"))
	text = anySubscription.ReplaceAll(text, []byte(`"`+documentedSubscription+`"`))
	return volatile.ReplaceAllFunc(text, func(m []byte) []byte {
		name, value, _ := bytes.Cut(m, []byte(": "))
		if bytes.HasPrefix(value, []byte(`"2026-05-04T`)) { // of the recorded run
			return m
		}
		if bytes.HasSuffix(bytes.ToLower(name), []byte(`at"`)) {
			return append(name, `: "2026-05-04T03:02:01Z"`...)
		}
		return append(name, ": 0.25"...)
	})
}

func indented(t *testing.T, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	require.NoError(t, enc.Encode(v))
	return b.Bytes()
}

// docs/reference/mcp-tools.md shows a success and an error of each tool, as a server gave them.
func TestDocumentedExamples(t *testing.T) {
	srv := serverOf(t, newShop(t).host, nil)
	c := legacy(t, srv, nil) // with a session, for the subscriptions
	subscription := documentedSubscription
	var b bytes.Buffer
	shown := make(map[string]bool)
	for _, e := range examples() {
		shown[e.tool] = true
		good := ask(t, c, e.tool, strings.ReplaceAll(e.works, documentedSubscription, subscription))
		bad := ask(t, c, e.tool, e.fails)
		if id := anySubscription.FindString(textIn(t, good)); id != "" {
			subscription = strings.Trim(id, `"`)
		}
		require.False(t, good.IsError, "%s: %v", e.tool, textIn(t, good))
		require.True(t, bad.IsError, e.tool)
		fmt.Fprintf(&b, "### %s\n\n", e.tool)
		fmt.Fprintf(&b, "```json\n%s```\nanswers\n```json\n%s```\nand\n```json\n%s```\nanswers, as an error\n```json\n%s```\n\n",
			ordered(t, e.works), settled(ordered(t, textIn(t, good))), ordered(t, e.fails), settled(indented(t, bad.StructuredContent)))
	}
	for _, tool := range srv.tools {
		assert.True(t, shown[tool.Name], "no example of %s", tool.Name)
	}
	page, err := os.ReadFile("../docs/reference/mcp-tools.md")
	require.NoError(t, err)
	const begin, end = "<!-- examples: written by TestDocumentedExamples -->\n", "<!-- /examples -->"
	before, rest, ok := strings.Cut(string(page), begin)
	_, after, closed := strings.Cut(rest, end)
	require.True(t, ok && closed, "docs/reference/mcp-tools.md has lost the marks between which the examples stand")
	want := before + begin + "\n" + b.String() + end + after
	if os.Getenv("UPDATE_GOLDEN") == "1" {
		require.NoError(t, os.WriteFile("../docs/reference/mcp-tools.md", []byte(want), 0o644))
		return
	}
	assert.Equal(t, want, string(page), "run UPDATE_GOLDEN=1 go test -run TestDocumentedExamples .")
}

// ordered indents a document and keeps the order of its members.
func ordered(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, json.Indent(&b, []byte(text), "", "  "))
	b.WriteByte('\n')
	return bytes.ReplaceAll(bytes.ReplaceAll(b.Bytes(), []byte(`\u003c`), []byte("<")), []byte(`\u003e`), []byte(">"))
}

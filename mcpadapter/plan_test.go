package mcpadapter

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

// planArgs are the arguments that apply a plan of rules; more are members besides.
func planArgs(name, rules, more string) string {
	return `{"name":"` + name + `","plan":{"seed":"1","rules":[` + rules + `]}` + more + `}`
}

const (
	failsLookup = `{"name":"down","target":"orders.*","fault":{"kind":"error","params":{"message":"closed for today"}}}`
	slowRefund  = `{"name":"slow","target":"payments.refund","when":{"kind":"not","params":{"parts":[{"kind":"always"}]}},"fault":{"kind":"latency","params":{"distribution":"fixed","duration":"2s"}},"limit":3,"coolDown":"1s"}`
)

func ruleNames(in *chaos.Injector) []string {
	names := []string{}
	for _, r := range in.Rules() {
		names = append(names, r.Name)
	}
	return names
}

func TestAPlanIsAppliedReplacedAndTakenBack(t *testing.T) {
	s := newShop(t)
	c := clientOf(t, serverOf(t, s.host, nil), nil)
	out := answer[planOutput](t, c, "chaos_apply_plan", planArgs("monday", failsLookup+","+slowRefund, ""))
	assert.Equal(t, "applied", out.Status)
	require.Len(t, out.Rules, 2)
	assert.Equal(t, "plan/monday/down", out.Rules[0].Name)
	assert.Equal(t, "error", out.Rules[0].FaultType)
	assert.Equal(t, []string{"orders.get"}, out.Rules[0].MatchedTargets)
	assert.True(t, out.Rules[0].InForce)
	assert.NotNil(t, out.Rules[0].ExpiresAt, "a time limit, as for any fault of a client")
	assert.Equal(t, []string{"payments.refund"}, out.Rules[1].MatchedTargets)
	_, err := s.lookup(t.Context(), "1")
	assert.EqualError(t, err, "closed for today")
	assert.Len(t, answer[statusOutput](t, c, "chaos_status", `{}`).ActiveFaults, 2)

	other := answer[planOutput](t, c, "chaos_apply_plan",
		`{"name":"other","plan":{"rules":[{"name":"down","target":"ordres.get","fault":{"kind":"lost_reply"}}]}}`) // without seed and duration
	assert.Equal(t, []string{}, other.Rules[0].MatchedTargets)
	assert.Contains(t, other.Rules[0].Note, "matches none of the 2 known injection points", "empty is said in words")

	answer[planOutput](t, c, "chaos_apply_plan", planArgs("monday", slowRefund, ""))
	assert.False(t, callFails(s), "the rule that the plan has no more")
	assert.Equal(t, []string{"plan/monday/slow", "plan/other/down"}, ruleNames(s.host.Injector))

	for range 2 { // taking back is idempotent
		removed := answer[planOutput](t, c, "chaos_apply_plan", `{"name":"monday","remove":true}`)
		assert.Equal(t, "removed", removed.Status)
	}
	assert.Equal(t, []string{"plan/other/down"}, ruleNames(s.host.Injector), "another plan's rules stay")
}

// All rules or none, and every problem with its place in the arguments.
func TestAPlanThatIsRefused(t *testing.T) {
	s := newShop(t)
	require.NoError(t, s.host.Injector.Register(chaos.Rule{Name: "host", Target: "*", Group: "g", Limit: 1, Fault: fault.Hang()}))
	c := clientOf(t, serverOf(t, s.host, nil), nil)
	answer[planOutput](t, c, "chaos_apply_plan", planArgs("p", `{"name":"old","target":"x","fault":{"kind":"hang"}}`, ""))
	for _, tc := range []struct {
		why, args string
		details   []string
	}{
		{"no name", `{"plan":{"seed":"1","rules":[]}}`, []string{"name is missing; allowed: text of 1 to 64 characters"}},
		{"another word for the name", `{"plan_name":"p","plan":{"seed":"1","rules":[]}}`, []string{"plan_name is no member; did you mean name?"}},
		{"a name with a slash", planArgs("a/b", "", ""), []string{`name is "a/b"; allowed: text without slashes and control characters`}},
		{"a name with a line break", planArgs(`a\nb`, "", ""), []string{"name is \"a\\nb\"; allowed: text without slashes and control characters"}},
		{"a rule's name with a line break", planArgs("p", `{"name":"a\u0007","target":"x","fault":{"kind":"hang"}}`, ""), []string{"/plan/rules/0/name is \"a\\a\"; allowed: text without control characters"}},
		{"no plan", `{"name":"p"}`, []string{"plan is missing; allowed: an object with rules"}},
		{"a plan that is a text", `{"name":"p","plan":"{}"}`, []string{`plan is "{}"; allowed: an object`}},
		{"a plan to remove", planArgs("p", "", `,"remove":true`), []string{"plan is given with remove"}},
		{"no rules", `{"name":"p","plan":{"seed":"1"}}`, []string{"/plan/rules: missing"}},
		{"several problems", planArgs("p", failsLookup+`,{"target":"[","fault":{"kind":"latncy"}},{"target":"a","fault":{"kind":"timeout","params":{"duration":"-1s"}},"colour":"red"}`, ""),
			[]string{`/plan/rules/1/fault/kind: unknown kind "latncy"`, "did you mean latency?", `/plan/rules/2/fault/params/duration: bad value "-1s"`, "/plan/rules/2/colour: unknown field"}},
		{"a fault that holds code", planArgs("p", `{"target":"a","fault":{"kind":"mutate","params":{"name":"x","type":"int"}}}`, ""), []string{"/plan/rules/0/fault", "needs code"}},
		{"two rules of one name", planArgs("p", failsLookup+","+failsLookup, ""), []string{"/plan/rules/1/name", "a name of its own"}},
		{"a group that the host has otherwise", planArgs("p", failsLookup+`,{"name":"g","target":"a","group":"g","limit":2,"fault":{"kind":"hang"}}`, ""),
			[]string{`/plan/rules/1/limit: rule "plan/p/g": Limit is 2; allowed: 1, that of rule "host" in the same group`}},
		{"a time limit that the host does not allow", planArgs("p", failsLookup, `,"expires_seconds":0`), []string{"expires_seconds is 0; allowed: above 0"}},
	} {
		p := refusal(t, c, "chaos_apply_plan", tc.args)
		assert.Equal(t, "invalid_arguments", p.Code, tc.why)
		for _, detail := range tc.details {
			assert.Contains(t, p.Detail, detail, tc.why)
		}
		assert.Equal(t, []string{"host", "plan/p/old"}, ruleNames(s.host.Injector), tc.why)
	}
}

// Triggers within triggers are as deep as planjson reads them.
func TestAPlanMayBeDeep(t *testing.T) {
	s := newShop(t)
	c := clientOf(t, serverOf(t, s.host, nil), nil)
	when := `{"kind":"always"}`
	for range 8 {
		when = `{"kind":"not","params":{"parts":[` + when + `]}}`
	}
	answer[planOutput](t, c, "chaos_apply_plan", planArgs("deep", `{"target":"orders.*","when":`+when+`,"fault":{"kind":"error","params":{"message":"down"}}}`, ""))
	assert.True(t, callFails(s), "not, eight times")
}

// What undoes other faults undoes those of a plan.
func TestWhatUndoesAPlan(t *testing.T) {
	apply := func(t *testing.T, c *mcp.ClientSession, more string) {
		t.Helper()
		answer[planOutput](t, c, "chaos_apply_plan", planArgs("p", failsLookup+`,{"name":"other","target":"payments.*","fault":{"kind":"hang"}}`, more))
	}
	for _, tt := range []struct {
		name, more string
		undo       func(t *testing.T, c *mcp.ClientSession)
		left       []string
	}{
		{"chaos_disarm", "", func(t *testing.T, c *mcp.ClientSession) {
			assert.Len(t, answer[disarmOutput](t, c, "chaos_disarm", `{}`).ActiveFaults, 2)
		}, []string{}},
		{"remove of one rule", "", func(t *testing.T, c *mcp.ClientSession) {
			out := answer[injectOutput](t, c, "chaos_inject_fault", `{"fault_name":"plan/p/down","action":"remove"}`)
			assert.Equal(t, "error", out.FaultType)
		}, []string{"plan/p/other"}},
		{"time", `,"expires_seconds":60`, func(*testing.T, *mcp.ClientSession) { time.Sleep(time.Minute) }, []string{}},
		{"the host's time", "", func(*testing.T, *mcp.ClientSession) { time.Sleep(15 * time.Minute) }, []string{}},
		{"the end of the session", "", endOfSession, []string{}},
		{"the end of the session, where it is kept", `,"keep":true`, endOfSession, []string{"plan/p/down", "plan/p/other"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stopping(t, Limits{}, func(t *testing.T, s *shop, _ *Server, c *mcp.ClientSession) {
				apply(t, c, tt.more)
				tt.undo(t, c)
				assert.Equal(t, tt.left, ruleNames(s.host.Injector))
			})
		})
	}
}

func endOfSession(t *testing.T, c *mcp.ClientSession) {
	require.NoError(t, c.Close())
	synctest.Wait()
}

// A plan writes: mode, scopes, confirmation and environment hold for it as for
// chaos_inject_fault. Only what takes a plan back needs no environment.
func TestWhoMayApplyAPlan(t *testing.T) {
	s := newShop(t)
	args := planArgs("p", failsLookup, "")
	readOnly := func(string) string { return "" }
	for code, o := range map[string]*Options{
		"read_only":               {Getenv: readOnly},
		"missing_scope":           {Policy: &policy.Options{Local: &policy.Caller{Subject: "reader", Scopes: []string{"chaos:read"}}}},
		"confirmation_required":   {Policy: &policy.Options{Confirm: []policy.Confirm{{Tool: "chaos_apply_plan"}}}},
		"environment_not_allowed": {Environments: []string{"staging"}},
	} {
		c := clientOf(t, serverOf(t, s.host, o), nil)
		res := ask(t, c, "chaos_apply_plan", args)
		require.True(t, res.IsError, code)
		out := res.StructuredContent.(map[string]any)
		assert.Equal(t, "error", out["status"], code)
		assert.Equal(t, code, out["problem"].(map[string]any)["code"])
		assert.Equal(t, "p", out["name"], code)
	}
	c := clientOf(t, serverOf(t, s.host, &Options{Environments: []string{"staging"}}), nil)
	answer[planOutput](t, c, "chaos_apply_plan", `{"name":"p","remove":true}`)
	c = clientOf(t, serverOf(t, s.host, &Options{Policy: &policy.Options{Confirm: []policy.Confirm{{Tool: "chaos_apply_plan"}}}}), nil)
	answer[planOutput](t, c, "chaos_apply_plan", strings.TrimSuffix(args, "}")+`,"confirm":true}`)
}

// A plan names faults of the host's own, and those that hold its code.
func TestAPlanOfTheHostsOwnFaults(t *testing.T) {
	s := newShop(t)
	s.host.Plans = &planjson.Options{
		Faults: []chaos.Fault{fault.Mutate("shout", strings.ToUpper)},
		Rows: []*catalog.Row{catalog.Fault(catalog.Row{Kind: "till_open", Doc: "The till does not close.", Go: "tillOpen()"},
			func(catalog.None) chaos.Fault { return fault.Fail(fault.ErrUnavailable) })},
	}
	c := clientOf(t, serverOf(t, s.host, nil), nil)
	answer[planOutput](t, c, "chaos_apply_plan", planArgs("p", `{"target":"orders.get","fault":{"kind":"mutate","params":{"name":"shout","type":"string"}}},{"target":"payments.refund","fault":{"kind":"till_open"}}`, ""))
	got, err := s.lookup(t.Context(), "1")
	require.NoError(t, err)
	assert.Equal(t, "ORDER 1", got)
	_, err = s.refund(t.Context(), "1")
	assert.ErrorIs(t, err, fault.ErrUnavailable)
}

// Every kind can be applied, with the example that the resource shows.
func TestEveryKindOfTheResourceCanBeApplied(t *testing.T) {
	s := newShop(t)
	c := clientOf(t, serverOf(t, s.host, nil), nil)
	res, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uriCatalogue})
	require.NoError(t, err)
	var kinds []planjson.Kind
	require.NoError(t, json.Unmarshal([]byte(res.Contents[0].Text), &kinds))
	var rules []string
	for _, k := range kinds {
		if k.NeedsCode {
			continue
		}
		part, err := json.Marshal(planjson.Part{Kind: k.Description.Kind, Params: k.Params})
		require.NoError(t, err)
		rule := `{"name":"` + k.Description.Kind + `","target":"nowhere","fault":` + string(part) + `}`
		if k.Trigger {
			rule = `{"name":"when ` + k.Description.Kind + `","target":"nowhere","when":` + string(part) + `,"fault":{"kind":"hang"}}`
		}
		rules = append(rules, rule)
	}
	out := answer[planOutput](t, c, "chaos_apply_plan", planArgs("all", strings.Join(rules, ","), ""))
	assert.Equal(t, len(rules), len(out.Rules)+out.Omitted)
	assert.Len(t, s.host.Injector.Rules(), len(rules))
}

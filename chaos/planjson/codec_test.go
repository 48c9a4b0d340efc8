package planjson_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// oneRule is a document of one rule with that trigger and fault.
func oneRule(trigger, fault string) []byte {
	return fmt.Appendf(nil, `{"seed":"1","rules":[{"target":"t","when":%s,"fault":%s}]}`, trigger, fault)
}

// Every problem is found, each with its place, what stands there and what is allowed.
func TestWhatIsWrongIsSaid(t *testing.T) {
	for _, c := range []struct {
		why, doc string
		want     []string
	}{
		{"no document", ``, []string{"syntax: line 1, column 1: unexpected end"}},
		{"half a document", "{\"seed\":\n\"1\",", []string{"syntax: line 2, column 4"}},
		{"something behind it", `{"seed":"1","rules":[]} {}`, []string{"syntax: line 1, column 25"}},
		{"no UTF-8", "{\"seed\":\"\xff\"}", []string{"not UTF-8"}},
		{"no object", `[]`, []string{"planjson: wrong type a list; allowed: an object"}},
		{"nothing in it", `{}`, []string{"/rules: missing; allowed: a list"}},
		{"a member twice", `{"seed":"1","seed":"2","rules":[{"target":"a","target":"b","fault":{"kind":"hang"}}]}`,
			[]string{"/seed: duplicate", "/rules/0/target: duplicate"}},
		{"a seed that would be rounded", `{"seed":9007199254740992,"rules":[]}`, []string{"/seed: bad value 9007199254740992; allowed: a decimal string"}},
		{"seeds that are none", `{"seed":-1,"rules":[{"target":1}]}`, []string{"/seed: bad value -1", "/rules/0/target: wrong type a number; allowed: a string", "/rules/0/fault: missing; allowed: a fault"}},
		{"a typo in a member", `{"seed":"1","rules":[{"target":"a","fault":{"kind":"hang"},"cooldown":"1s"}]}`,
			[]string{"/rules/0/cooldown: unknown field; allowed: one of name, target, when, fault, limit, coolDown, group, layer; did you mean coolDown?"}},
		{"a typo in a kind", string(oneRule(`{"kind":"porb","params":{"p":1}}`, `{"kind":"lost-reply"}`)),
			[]string{`/rules/0/when/kind: unknown kind "porb"`, "did you mean prob?", `/rules/0/fault/kind: unknown kind "lost-reply"`, "did you mean lost_reply?"}},
		{"a kind of no likeness", string(oneRule(`{"kind":"whenever it rains"}`, `{"kind":"hang"}`)), []string{`unknown kind "whenever it rains"; allowed: one of after, all, always`}},
		{"a trigger as a fault", string(oneRule(`{"kind":"hang"}`, `{"kind":"always"}`)), []string{`/when/kind: unknown kind "hang"`, `/fault/kind: unknown kind "always"`}},
		{"values out of range", string(oneRule(`{"kind":"prob","params":{"p":1.5}}`, `{"kind":"duplicate","params":{"times":1}}`)),
			[]string{"/rules/0/when/params/p: bad value 1.5; allowed: a probability from 0 to 1", "/rules/0/fault/params/times: bad value 1; allowed: a number of executions, at least 2"}},
		{"deep inside", string(oneRule(`{"kind":"all","params":{"parts":[{"kind":"always"},{"kind":"not","params":{"parts":[{"kind":"nth","params":{"n":[1,0]}}]}}]}}`, `{"kind":"hang"}`)),
			[]string{"/rules/0/when/params/parts/1/params/parts/0/params/n/1: bad value 0; allowed: call numbers"}},
		{"a parameter of another form", string(oneRule(`{"kind":"always"}`, `{"kind":"latency","params":{"distribution":"fixed","duration":"1s","mean":"2s"}}`)),
			[]string{`/rules/0/fault/params/mean: unknown field "2s"; allowed: to be left out`}},
		{"parameters of a choice that was left out", string(oneRule(`{"kind":"always"}`, `{"kind":"latency","params":{"mean":"5s"}}`)),
			[]string{`/rules/0/fault/params/distribution: bad value; allowed: one of fixed, uniform, normal, exponential, spike, degrading, degrading_over`}},
		{"one of them beside a duration", string(oneRule(`{"kind":"always"}`, `{"kind":"latency","params":{"duration":"1s","share":0.5}}`)),
			[]string{`/rules/0/fault/params/distribution: bad value; allowed: one of fixed,`}},
		{"an unknown choice", string(oneRule(`{"kind":"always"}`, `{"kind":"latency","params":{"distribution":"norml","mean":"2s"}}`)),
			[]string{`/params/distribution: bad value "norml"; allowed: one of fixed, uniform, normal, exponential, spike, degrading, degrading_over; did you mean normal?`}},
		{"a duration without a unit", string(oneRule(`{"kind":"since","params":{"from":"10"}}`, `{"kind":"lost_reply","params":{"duration":10}}`)),
			[]string{`/when/params/from: bad value "10"; allowed: a duration such as "1.5s"`, `/fault/params/duration: wrong type a number`}},
		{"numbers of other types", string(oneRule(`{"kind":"first","params":{"n":1.5}}`, `{"kind":"duplicate","params":{"times":"2"}}`)),
			[]string{"/when/params/n: bad value 1.5; allowed: an integer", "/fault/params/times: wrong type a string"}},
		{"a negation of two", string(oneRule(`{"kind":"not","params":{"parts":[{"kind":"always"},{"kind":"always"}]}}`, `{"kind":"hang"}`)),
			[]string{`/when/params/parts: bad value [{"kind":"always"},{"kind":"always"}]; allowed: one trigger`}},
		{"null", string(oneRule(`null`, `{"kind":"hang","params":null}`)), []string{"/rules/0/when: wrong type null", "/rules/0/fault/params: wrong type null"}},
		{"code", string(oneRule(`{"kind":"args","params":{"name":"x","type":"int"}}`, `{"kind":"mutate","params":{"name":"x","type":"int"}}`)),
			[]string{"/when/params: needs code; allowed: one of Options.Triggers", "/fault/params: needs code; allowed: one of Options.Faults"}},
		{"what chaos refuses of a rule", `{"seed":"1","rules":[{"target":"[","fault":{"kind":"hang"},"limit":-1,"coolDown":"-1s"},{"target":"a","layer":"tol","fault":{"kind":"hang"}}]}`,
			[]string{`/rules/1/layer: bad value "tol"; allowed: one of tool, llm`}},
		{"what chaos refuses of rules", `{"seed":"1","rules":[{"target":"[","fault":{"kind":"hang"},"limit":-1,"coolDown":"-1s"}]}`,
			[]string{`/rules/0/target: bad value "[": glob:`, "/rules/0/limit: bad value -1", `/rules/0/coolDown: bad value "-1s"`}},
		{"what chaos refuses of them together", `{"seed":"1","rules":[{"name":"a","target":"a","fault":{"kind":"hang"}},{"name":"a","target":"b","fault":{"kind":"hang"}}]}`,
			[]string{`/rules/1/name: bad value "a"; allowed: a name of its own`}},
	} {
		t.Run(c.why, func(t *testing.T) {
			_, err := planjson.Decode([]byte(c.doc), nil)
			require.Error(t, err)
			var located *planjson.Error
			require.ErrorAs(t, err, &located)
			for _, want := range c.want {
				assert.ErrorContains(t, err, want)
			}
			assert.LessOrEqual(t, strings.Count(err.Error(), "\n")+1, len(c.want), "no problem besides")
		})
	}
}

// The errors of faults, triggers and rules can be had as those packages made them.
func TestCausesAreKept(t *testing.T) {
	_, err := planjson.Decode(oneRule(`{"kind":"prob","params":{"p":2}}`, `{"kind":"hang"}`), nil)
	var param *chaos.ParamError
	require.ErrorAs(t, err, &param)
	assert.Equal(t, "p", param.Param)
	_, err = planjson.Decode([]byte(`{"seed":"1","rules":[{"target":"","fault":{"kind":"hang"}}]}`), nil)
	var rule *chaos.RuleError
	require.ErrorAs(t, err, &rule)
	assert.Equal(t, "Target", rule.Field)
}

// Size, depth and the number of problems are bounded.
func TestBounds(t *testing.T) {
	_, err := planjson.Decode(make([]byte, 16<<20+1), nil)
	assert.ErrorContains(t, err, "too large 16777217 bytes; allowed: at most 16777216")
	deep := strings.Repeat(`{"kind":"not","params":{"parts":[`, 40) + `{"kind":"always"}` + strings.Repeat(`]}}`, 40)
	_, err = planjson.Decode(oneRule(deep, `{"kind":"hang"}`), nil)
	assert.ErrorContains(t, err, "too large depth; allowed: at most 64 levels")
	_, err = planjson.Decode([]byte(`{"seed":"1","rules":[`+strings.TrimSuffix(strings.Repeat(`{},`, 1000), ",")+`]}`), nil)
	assert.ErrorContains(t, err, "and 1900 more problems")
	assert.Equal(t, 100, strings.Count(err.Error(), "\n"))
}

// What holds Go code is written by its description and found by it again.
func TestCodeIsFoundByItsDescription(t *testing.T) {
	double := fault.Mutate("double", func(n int) int { return 2 * n })
	seven := when.Args("is seven", func(n int) bool { return n == 7 })
	broken := errors.New("the shop is closed")
	plan, err := chaos.NewPlan(1,
		chaos.Rule{Name: "a", Target: "t", When: when.All(seven, when.Prob(0.5)), Fault: double},
		chaos.Rule{Name: "b", Target: "t", Fault: fault.Fail(typedError{7})},
		chaos.Rule{Name: "c", Target: "t", Fault: fault.Panic(7)},
		chaos.Rule{Name: "d", Target: "t", Fault: stranger{}, When: strangeWhen{}},
		chaos.Rule{Name: "e", Target: "t", Fault: impostor{}},
		chaos.Rule{Name: "f", Target: "t", Fault: fault.Fail(broken)},
	)
	require.NoError(t, err)
	_, err = planjson.Encode(plan, nil)
	for _, want := range []string{`rule "a": needs code`, `rule "b": needs code`, `rule "c": needs code`, `rule "d": unknown kind planjson_test.stranger`,
		`rule "d": unknown kind planjson_test.strangeWhen`, `rule "e": needs code planjson_test.impostor hang`} {
		assert.ErrorContains(t, err, want)
	}
	assert.NotContains(t, err.Error(), `rule "f"`)

	plan, err = chaos.NewPlan(1, plan.Rules()[0], plan.Rules()[1], plan.Rules()[5])
	require.NoError(t, err)
	o := &planjson.Options{Faults: []chaos.Fault{double}, Triggers: []chaos.When{seven}, Errors: []error{typedError{7}, broken}}
	doc, err := planjson.Encode(plan, o)
	require.NoError(t, err)
	back, err := planjson.Decode(doc, o)
	require.NoError(t, err)
	_, found := back.Rules()[0].When.(chaos.ArgsWhen)
	assert.True(t, found)
	assert.Equal(t, typedError{7}, back.Rules()[1].Fault.(chaos.Failer).Fail(chaos.Call{}))
	assert.Same(t, broken, back.Rules()[2].Fault.(chaos.Failer).Fail(chaos.Call{}))
}

type typedError struct{ n int }

func (e typedError) Error() string { return fmt.Sprint("error ", e.n) }

type stranger struct{ chaos.Fault }

type strangeWhen struct{}

func (strangeWhen) Match(chaos.Call) bool { return true }

type impostor struct{ chaos.Fault }

func (impostor) Describe() chaos.Description { return chaos.Description{Kind: "hang"} }

// A kind of one's own is a row like any other.
func TestOwnKinds(t *testing.T) {
	type params struct {
		Wait  time.Duration     `json:"wait" bounds:"min=0" allowed:"patience"`
		Inner chaos.Fault       `json:"inner,omitempty"`
		Names map[string]string `json:"names,omitempty"`
	}
	o := &planjson.Options{Rows: []*catalog.Row{
		catalog.Fault(catalog.Row{Kind: "slow_shop", Doc: "The shop is slow."}, func(p params) chaos.Fault { return slowShop{p.Wait} }),
		catalog.Trigger(catalog.Row{Kind: "rain", Doc: "It rains."}, func(struct{}) chaos.When { panic("no umbrella") }),
	}}
	plan, err := planjson.Decode(oneRule(`{"kind":"always"}`, `{"kind":"slow_shop","params":{"wait":"90s"}}`), o)
	require.NoError(t, err)
	doc, err := planjson.Encode(plan, o)
	require.NoError(t, err)
	assert.Contains(t, string(doc), `"params": {"wait": "1m30s"}`)
	_, err = planjson.Decode(oneRule(`{"kind":"rain"}`, `{"kind":"slow_shop","params":{"wait":"-1s"}}`), o)
	assert.ErrorContains(t, err, `/fault/params/wait: bad value "-1s"; allowed: patience`)
	assert.ErrorContains(t, err, `/when/params: bad value: making it panicked: no umbrella`)

	o.Rows = append(o.Rows, o.Rows[0], &catalog.Row{},
		catalog.Fault(catalog.Row{Kind: "odd"}, func(struct{ C chan int }) chaos.Fault { return nil }))
	o.Errors = []error{nil}
	o.Faults = []chaos.Fault{stranger{}, fault.Hang(), fault.Hang()}
	_, err = planjson.Decode(doc, o)
	for _, want := range []string{"duplicate kind slow_shop", "a row without a kind", "kind odd: c: chan int has no JSON form", "missing Errors[0]", "Faults[0]", "duplicate Faults[2]"} {
		assert.ErrorContains(t, err, want)
	}
}

type slowShop struct{ wait time.Duration }

func (s slowShop) Inject(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
	if err := chaos.Sleep(ctx, s.wait); err != nil && !errors.Is(err, chaos.ErrDisarmed) {
		return nil, err
	}
	return next(ctx, args)
}

func (s slowShop) Describe() chaos.Description {
	params, _ := json.Marshal(map[string]string{"wait": s.wait.String()})
	return chaos.Description{Kind: "slow_shop", Params: params}
}

// A plan as data can be changed and made into one that runs.
func TestPlanAsData(t *testing.T) {
	plan, err := chaos.NewPlan(1<<63, chaos.Rule{Name: "slow <& late>", Target: "t", Fault: fault.Delay(time.Second), CoolDown: time.Minute, Layer: chaos.LayerControl})
	require.NoError(t, err)
	doc, err := planjson.Describe(plan, nil)
	require.NoError(t, err)
	assert.Equal(t, "latency", doc.Rules[0].Fault.Kind)
	text, err := doc.Indented()
	require.NoError(t, err)
	assert.Contains(t, string(text), `"seed": "9223372036854775808"`)
	assert.Contains(t, string(text), `"slow <& late>"`, "readable")
	var again planjson.Plan
	require.NoError(t, json.Unmarshal(text, &again))
	assert.Equal(t, doc.Rules[0].CoolDown, again.Rules[0].CoolDown)
	again.Rules[0].When = &planjson.Part{Kind: "first", Params: json.RawMessage(`{"n":2}`)}
	built, err := again.Build(nil)
	require.NoError(t, err)
	assert.Equal(t, when.First(2).(chaos.Described).Describe(), built.Rules()[0].When.(chaos.Described).Describe())
	again.Rules[0].Fault.Params = json.RawMessage(`{`)
	_, err = again.Build(nil)
	assert.Error(t, err)
	_, err = planjson.Describe(nil, nil)
	assert.ErrorContains(t, err, "missing; allowed: a plan")
}

// What chaos finds has the place of its rule, also where rules share a name, and
// together with what it finds of all rules.
func TestProblemsOfRulesHaveTheirPlaces(t *testing.T) {
	const fault = `"fault":{"kind":"hang"}`
	_, err := planjson.Decode([]byte(`{"seed":"1","rules":[
		{"name":"a","target":"x","group":"g","limit":1,`+fault+`},
		{"name":"a","target":"x",`+fault+`},
		{"name":"a","target":"[",`+fault+`},
		{"target":"x","coolDown":"-1s",`+fault+`},
		{"target":"x","group":"g","limit":2,`+fault+`}]}`), nil)
	var places []string
	for _, one := range err.(interface{ Unwrap() []error }).Unwrap() {
		var located *planjson.Error
		require.ErrorAs(t, one, &located)
		places = append(places, located.Pointer)
	}
	assert.Equal(t, []string{"/rules/1/name", "/rules/2/target", "/rules/3/coolDown", "/rules/4/limit"}, places)
}

// partOf is a row's example as a part of a plan.
func partOf(r planjson.Row) string { return fmt.Sprintf(`{"kind":%q,"params":%s}`, r.Name, r.Example) }

// documentOf is a plan of the row's example.
func documentOf(r planjson.Row) []byte {
	if r.Trigger {
		return oneRule(partOf(r), `{"kind":"hang"}`)
	}
	return oneRule(`{"kind":"always"}`, partOf(r))
}

// Whatever the plan: rules of any kinds, triggers within each other, and all
// that a rule has besides.
func TestDecodeAndEncodeAreInverse(t *testing.T) {
	var triggers, faults []planjson.Row
	for _, r := range planjson.KindRows() {
		switch {
		case r.Held:
		case r.Trigger:
			triggers = append(triggers, r)
		default:
			faults = append(faults, r)
		}
	}
	anyWhen := func(t *rapid.T) string { return partOf(rapid.SampledFrom(triggers).Draw(t, "trigger")) }
	rapid.Check(t, func(t *rapid.T) {
		var rules []string
		for i := range rapid.IntRange(0, 8).Draw(t, "rules") {
			when := anyWhen(t)
			for range rapid.IntRange(0, 3).Draw(t, "depth") {
				when = fmt.Sprintf(`{"kind":%q,"params":{"parts":[%s,%s]}}`, rapid.SampledFrom([]string{"all", "any"}).Draw(t, "combined"), when, anyWhen(t))
			}
			name, _ := json.Marshal(fmt.Sprint(i, rapid.String().Draw(t, "name")))
			rules = append(rules, fmt.Sprintf(`{"name":%s,"target":"a*","when":%s,"fault":%s,"limit":%d,"coolDown":%q,"layer":%q}`, name, when,
				partOf(rapid.SampledFrom(faults).Draw(t, "fault")), rapid.IntRange(0, 9).Draw(t, "limit"),
				time.Duration(rapid.Int64Range(0, 1<<62).Draw(t, "coolDown")), rapid.SampledFrom([]chaos.Layer{"", chaos.LayerTool, chaos.LayerMultiAgent}).Draw(t, "layer")))
		}
		plan, err := planjson.Decode(fmt.Appendf(nil, `{"seed":"%d","rules":[%s]}`, rapid.Uint64().Draw(t, "seed"), strings.Join(rules, ",")), nil)
		require.NoError(t, err)
		roundTrip(t, plan)
	})
}

// roundTrip holds a plan to the laws.
func roundTrip(t require.TestingT, plan *chaos.Plan) {
	first, err := planjson.Encode(plan, nil)
	require.NoError(t, err)
	back, err := planjson.Decode(first, nil)
	require.NoError(t, err, string(first))
	second, err := planjson.Encode(back, nil)
	require.NoError(t, err)
	require.Equal(t, string(first), string(second))
	require.Equal(t, plan.Seed(), back.Seed())
	a, b := plan.Rules(), back.Rules()
	require.Len(t, b, len(a))
	for i := range a {
		require.Equal(t, describe(a[i].When), describe(b[i].When))
		require.Equal(t, describe(a[i].Fault), describe(b[i].Fault))
		a[i].When, a[i].Fault, b[i].When, b[i].Fault = nil, nil, nil, nil
	}
	require.Equal(t, a, b)
}

func describe(v any) chaos.Description {
	if d, ok := v.(chaos.Described); ok {
		return d.Describe()
	}
	return chaos.Description{}
}

// FuzzDecode: the decoder never panics, and what it takes can be written and
// read again as the same.
func FuzzDecode(f *testing.F) {
	for _, r := range planjson.KindRows() {
		f.Add(documentOf(r))
	}
	f.Add([]byte(`{"seed":7,"rules":[],"$schema":"x"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		plan, err := planjson.Decode(data, nil)
		if err != nil {
			return
		}
		first, err := planjson.Encode(plan, nil)
		require.NoError(t, err)
		back, err := planjson.Decode(first, nil)
		require.NoError(t, err)
		second, err := planjson.Encode(back, nil)
		require.NoError(t, err)
		require.Equal(t, string(first), string(second))
	})
}

// BenchmarkDecode shows what a plan costs, once and per rule.
func BenchmarkDecode(b *testing.B) {
	for _, rules := range []int{1, 100} {
		var list []string
		for i := range rules {
			list = append(list, fmt.Sprintf(`{"name":"r%d","target":"t","when":{"kind":"prob","params":{"p":0.5}},"fault":{"kind":"hang"}}`, i))
		}
		doc := []byte(`{"seed":"1","rules":[` + strings.Join(list, ",") + `]}`)
		b.Run(fmt.Sprint("rules=", rules), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := planjson.Decode(doc, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

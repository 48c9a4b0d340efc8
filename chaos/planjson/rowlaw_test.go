package planjson_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/chaostest"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/lies"
	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// The laws of every row, with parameters that are drawn for its struct, inside and
// outside of the bounds of its tags. The tags are read here anew, so that the
// reader of the library is no witness in its own case.

// filled draws the parameters of a row. wild allows values outside of the bounds.
func filled(t *rapid.T, of reflect.Type, wild bool) reflect.Value {
	v := reflect.New(of).Elem()
	for _, f := range reflect.VisibleFields(of) {
		if f.Anonymous || !f.IsExported() {
			continue
		}
		member := v.FieldByIndex(f.Index)
		if strings.Contains(f.Tag.Get("json"), "omitempty") && rapid.Bool().Draw(t, "leave out "+f.Name) {
			continue
		}
		member.Set(drawn(t, f.Type, f.Tag.Get("bounds"), wild))
	}
	return v
}

// limits are the bounds of a tag as numbers; enum as it is.
func limits(tag string) (least, most float64, over bool, enum []string) {
	least, most = -3, 50
	for setting := range strings.SplitSeq(tag, ",") {
		key, value, _ := strings.Cut(setting, "=")
		n, _ := strconv.ParseFloat(value, 64)
		switch key {
		case "min":
			least = n
		case "over":
			least, over = n, true
		case "max":
			most = min(n, least+1000)
		case "enum":
			enum = strings.Split(value, "|")
		}
	}
	return least, max(most, least+1), over, enum
}

func drawn(t *rapid.T, of reflect.Type, tag string, wild bool) reflect.Value {
	v := reflect.New(of).Elem()
	least, most, over, enum := limits(tag)
	if wild && rapid.IntRange(0, 3).Draw(t, "wild") == 0 {
		least, most, over, enum = least-2, most+2, false, nil
	}
	switch of {
	case reflect.TypeFor[time.Duration]():
		least := 0
		if over {
			least = 1
		}
		v.SetInt(int64(rapid.SampledFrom([]time.Duration{time.Second, time.Minute, time.Nanosecond, 0, -time.Second}[:3+rapid.IntRange(0, 2).Draw(t, "sort")-min(least, 0)]).Draw(t, "duration")))
		return v
	case reflect.TypeFor[json.RawMessage]():
		v.SetBytes([]byte(rapid.SampledFrom([]string{`null`, `{"a":1}`, `"<&>"`, `[1.50]`, `{}`}).Draw(t, "json")))
		return v
	case reflect.TypeFor[error]():
		v.Set(reflect.ValueOf(rapid.SampledFrom([]error{fault.ErrUnavailable, context.Canceled, errors.New("plain")}).Draw(t, "error")))
		return v
	case reflect.TypeFor[chaos.Fault]():
		v.Set(reflect.ValueOf(rapid.SampledFrom([]chaos.Fault{fault.Hang(), fault.Delay(time.Second), lies.Empty(), lies.Stale(2)}).Draw(t, "fault")))
		return v
	case reflect.TypeFor[chaos.When]():
		v.Set(reflect.ValueOf(rapid.SampledFrom([]chaos.When{when.Always(), when.Prob(0.5), when.Nth(1, 3), when.Not(when.First(2))}).Draw(t, "when")))
		return v
	}
	switch of.Kind() {
	case reflect.String:
		if enum == nil {
			enum = []string{"", "a", "orders.*", "$.a", "ünï", "a\x00b"}
		}
		v.SetString(rapid.SampledFrom(enum).Draw(t, "text"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Int, reflect.Int64:
		if over {
			least++
		}
		v.SetInt(rapid.Int64Range(int64(least), int64(most)).Draw(t, "integer"))
	case reflect.Uint64:
		v.SetUint(rapid.Uint64().Draw(t, "bits"))
	case reflect.Float64:
		v.SetFloat(rapid.Float64Range(least, most).Draw(t, "number"))
	case reflect.Pointer:
		v.Set(reflect.New(of.Elem()))
		v.Elem().Set(drawn(t, of.Elem(), tag, wild))
	case reflect.Slice:
		n := rapid.IntRange(0, 3).Draw(t, "length")
		for range n {
			elem := ""
			if over || enum != nil {
				elem = tag
			}
			v = reflect.Append(v, drawn(t, of.Elem(), elem, wild))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(of))
		for i := range rapid.IntRange(0, 2).Draw(t, "members") {
			v.SetMapIndex(reflect.ValueOf(fmt.Sprint("X-", i)), drawn(t, of.Elem(), "", wild))
		}
	case reflect.Struct:
		return filled(t, of, wild)
	default:
		t.Fatalf("no value for %v", of)
	}
	return v
}

func allRows() []*catalog.Row {
	return slices.DeleteFunc(slices.Concat(when.Rows(), fault.Rows(), lies.Rows(), chaoshttp.Rows()), (*catalog.Row).HoldsCode)
}

// ruleOf puts a fault or trigger into a rule.
func ruleOf(made any) chaos.Rule {
	if w, ok := made.(chaos.When); ok {
		return chaos.Rule{Name: "r", Target: "orders", When: w, Fault: fault.Fail(fault.ErrInternal)}
	}
	return chaos.Rule{Name: "r", Target: "orders", Fault: made.(chaos.Fault)}
}

// outcomes is what five calls under a plan came to, and their events.
func outcomes(t *testing.T, plan *chaos.Plan) (got []string) {
	synctest.Test(t, func(t *testing.T) {
		in := plan.Injector("cell", &chaos.InjectorOptions{RecordAll: true})
		ctx := chaos.NewContext(t.Context(), in)
		callee := func(_ context.Context, args json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`{"a":` + string(args) + `,"total":17.5,"status":"paid","items":[{"id":1},{"id":2}]}`), nil
		}
		orders := chaos.Wrap("orders", callee)
		for i := range 5 {
			got = append(got, oneCall(ctx, func(ctx context.Context) (json.RawMessage, error) {
				return orders(ctx, json.RawMessage(strconv.Itoa(i/2)))
			}))
		}
		for _, e := range in.Events() {
			got = append(got, fmt.Sprint(e.Fault, e.Delivered, e.Rule, e.Idle, e.Masked, e.Note))
		}
	})
	return got
}

func oneCall(ctx context.Context, call func(context.Context) (json.RawMessage, error)) (got string) {
	start := time.Now()
	ctx, stop := context.WithTimeout(ctx, time.Hour)
	defer stop()
	defer func() {
		if p := recover(); p != nil {
			got = fmt.Sprint("panic ", p)
		}
	}()
	result, err := call(ctx)
	return fmt.Sprint(string(result), err, time.Since(start))
}

// What the parameters of a row make is the same after it was written and read: its
// description, and what it does to the same calls with the same seed. What Check of
// Go refuses is refused in JSON, and the other way round.
func TestLawsOfEveryRow(t *testing.T) {
	for _, row := range allRows() {
		t.Run(row.Kind, func(t *testing.T) {
			taken := 0
			for seed := range 12 {
				made := row.Build(rapid.Custom(func(t *rapid.T) any {
					return filled(t, row.Params(), rapid.Bool().Draw(t, "any wild")).Interface()
				}).Example(seed))
				inGo, wrong := chaos.NewPlan(7, ruleOf(made))
				d := made.(chaos.Described).Describe()
				part, err := json.Marshal(planjson.Part{Kind: d.Kind, Params: d.Params})
				require.NoError(t, err)
				doc := oneRule(`{"kind":"always"}`, string(part))
				if row.IsTrigger() {
					doc = oneRule(string(part), `{"kind":"hang"}`)
				}
				_, err = planjson.Decode(doc, nil)
				assert.Equal(t, wrong == nil, err == nil, "Go: %v\nJSON: %v\n%s", wrong, err, part)
				if err != nil {
					continue
				}
				if taken++; taken > 2 {
					continue
				}
				data, err := planjson.Encode(inGo, nil)
				require.NoError(t, err, "%s", part)
				again, err := planjson.Decode(data, nil)
				require.NoError(t, err, "%s", data)
				roundTrip(t, inGo)
				assert.Equal(t, outcomes(t, inGo), outcomes(t, again), "%s", part)
			}
			assert.Positive(t, taken, "some of what was drawn was valid")
		})
	}
}

// page holds one generated part of a page to what it should be, between a
// comment that begins with its name and the next <!-- end -->.
func page(t *testing.T, file, part, want string) {
	t.Helper()
	path := filepath.Join("..", "..", "docs", file)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	at := regexp.MustCompile(`(?s)(<!-- ` + part + `: [^\n]*-->\n)(.*?)(<!-- end -->)`).FindSubmatchIndex(text)
	require.NotNil(t, at, "%s has no part %s", file, part)
	if os.Getenv("UPDATE_GOLDEN") == "1" {
		text = []byte(string(text[:at[4]]) + want + string(text[at[5]:]))
		require.NoError(t, os.WriteFile(path, text, 0o644))
		return
	}
	assert.Equal(t, want, string(text[at[4]:at[5]]), "docs/%s; to accept: UPDATE_GOLDEN=1 go test -run Pages .", file)
}

// cell is a text as a cell of a table.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func code(s string) string { return "`" + cell(s) + "`" }

// held are faults and triggers of the kinds that hold Go code.
func held() map[string]any {
	return map[string]any{
		"mutate": fault.Mutate("double the amount", func(n int) int { return 2 * n }),
		"args":   when.Args("is seven", func(n int) bool { return n == 7 }),
	}
}

// built is the fault or trigger of a row's example.
func built(t *testing.T, r planjson.Row) chaos.Description {
	t.Helper()
	v := held()[r.Name]
	if !r.Held {
		plan, err := planjson.Decode(documentOf(r), nil)
		require.NoError(t, err, r.Name)
		if v = plan.Rules()[0].Fault; r.Trigger {
			v = plan.Rules()[0].When
		}
	}
	require.NotNil(t, v, r.Name)
	return v.(chaos.Described).Describe()
}

// pattern is what a trigger's example matches of some calls: of its own lane,
// turn and arguments where it asks for them.
func pattern(t *testing.T, r planjson.Row) (marks string) {
	o := &planjson.Options{Triggers: []chaos.When{held()["args"].(chaos.When)}}
	plan, err := planjson.Decode(oneRule(partOf(r), `{"kind":"error","params":{"message":"down"}}`), o)
	require.NoError(t, err)
	plan, err = chaos.NewPlan(4, chaos.Rule{Name: r.Name, Target: "refund", When: plan.Rules()[0].When, Fault: plan.Rules()[0].Fault})
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		call := chaos.WrapWith("refund", func(context.Context, int) (int, error) { return 0, nil },
			&chaos.WrapOptions[int]{Key: func(n int) uint64 { return uint64(n) + 10 }})
		ctx := chaos.NewContext(t.Context(), plan.Injector("pattern", nil))
		for n := range 16 {
			ctx := chaos.WithTurn(chaos.WithLane(ctx, map[bool]string{true: "worker-1"}[r.Name == "lane"]), n/3)
			if _, err := call(ctx, n%8); err != nil {
				marks += "x"
			} else {
				marks += "·"
			}
			time.Sleep(10 * time.Second)
		}
	})
	require.Contains(t, marks, "x", "the example of %s matches", r.Name)
	return marks
}

// The summary at the head of the page names only what the tables have.
func TestSummaryOfPagesIsTrue(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "faults.md"))
	require.NoError(t, err)
	summary, _, found := strings.Cut(string(text), "\n### ")
	require.True(t, found)
	made := make(map[string]bool) // constructors
	constructor := regexp.MustCompile(`\b(?:fault|lies|when|chaoshttp)\.[A-Z]\w+`)
	for _, r := range planjson.Rows() {
		for _, name := range constructor.FindAllString(r.Go, -1) {
			made[name] = true
		}
	}
	names := constructor.FindAllString(summary, -1)
	require.NotEmpty(t, names)
	for _, name := range names {
		assert.True(t, made[name], "docs/faults.md begins with %s, which no table has", name)
	}
}

// The pages list every kind as it is in the code.
func TestPagesAreTrue(t *testing.T) {
	var faults, triggers strings.Builder
	fmt.Fprint(&faults, "| kind | what happens | Go | parameters, an example | layer | class | visibility | persistence | effect |\n|---|---|---|---|---|---|---|---|---|\n")
	fmt.Fprint(&triggers, "| kind | which calls | Go | parameters, an example | of 16 calls, one every 10 s |\n|---|---|---|---|---|\n")
	for _, r := range planjson.KindRows() {
		d := built(t, r)
		require.Equal(t, r.Name, d.Kind)
		example := r.Example
		if r.Held {
			example += " (the function is handed over)"
		}
		row := fmt.Sprintf("| %s | %s | %s | %s |", code(r.Name), cell(r.Doc), code(r.Code), strings.Replace(code(example), " (the function is handed over)`", "`, with its function in `Options`", 1))
		if r.Trigger {
			fmt.Fprintln(&triggers, row, code(pattern(t, r)), "|")
			continue
		}
		fmt.Fprintln(&faults, row, d.Layer, "|", d.Class, "|", d.Visibility, "|", d.Persistence, "|", d.Effect, "|")
	}
	page(t, filepath.Join("reference", "faults.md"), "faults", faults.String())
	page(t, filepath.Join("reference", "faults.md"), "triggers", triggers.String())
}

// Every plan on the pages is one.
func TestPlansOnPagesAreRead(t *testing.T) {
	for _, file := range []string{"faults.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", file))
		require.NoError(t, err)
		plans := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllSubmatch(text, -1)
		require.NotEmpty(t, plans)
		for _, plan := range plans {
			_, err := planjson.Decode(plan[1], nil)
			assert.NoError(t, err)
		}
	}
}

type locks struct {
	Shut int `json:"shut" bounds:"min=1,max=3" doc:"locks that are shut"`
}

// door is a fault of the user's that leaves the bounds to its row.
type door struct {
	chaos.Fault
	row *catalog.Row
	locks
}

func (d door) Describe() chaos.Description { return d.row.Describe(d.locks) }

func TestKindsOfYourOwn(t *testing.T) {
	row := func(example string) *planjson.Options {
		var r *catalog.Row
		r = catalog.Fault(catalog.Row{Kind: "shut", Doc: "The door is shut.", Go: "shut(n)", Example: example},
			func(p locks) chaos.Fault { return door{fault.Hang(), r, p} })
		return &planjson.Options{Rows: []*catalog.Row{r}}
	}
	kinds, err := planjson.Kinds(row(`{"shut":2}`))
	require.NoError(t, err)
	last := kinds[len(kinds)-1]
	assert.Equal(t, "The door is shut.", last.Doc)
	assert.Equal(t, []catalog.Parameter{{Name: "shut", Doc: "locks that are shut", Allowed: "an integer from 1 to 3"}}, last.Parameters)

	_, err = planjson.Kinds(row(`{"shut":4}`))
	assert.ErrorContains(t, err, `planjson: /shut/params/shut: bad value 4; allowed: an integer from 1 to 3`)
}

// What chaostest cannot see from where it stands.
var beyondTheChecks = map[string]string{
	"call_budget": "its error tells a time, which the watchdog of the checks moves by nanoseconds",
	"rate_limit":  "its error tells a time",
}

// What comes out of a document keeps the rules for faults and triggers, as
// package chaostest checks them.
func TestEveryKindKeepsTheRules(t *testing.T) {
	for _, r := range planjson.KindRows() {
		if r.Held || beyondTheChecks[r.Name] != "" {
			continue
		}
		t.Run(r.Name, func(t *testing.T) {
			plan, err := planjson.Decode(documentOf(r), nil)
			require.NoError(t, err)
			rule := plan.Rules()[0]
			synctest.Test(t, func(t *testing.T) {
				if r.Trigger {
					assert.NoError(t, chaostest.When(rule.When, nil))
					return
				}
				assert.NoError(t, chaostest.Fault(rule.Fault, &chaostest.FaultOptions{
					IgnoresContext: r.Name == "ignored_cancellation",
					LosesErrors:    r.Name == "duplicate" || r.Name == "delivered_twice" || r.Name == "message_storm",
				}))
			})
		})
	}
}

package planjson_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
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

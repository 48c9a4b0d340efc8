package planjson_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/planjson"
)

// partOf is a row's example as a part of a plan.
func partOf(r planjson.Row) string { return fmt.Sprintf(`{"kind":%q,"params":%s}`, r.Name, r.Example) }

// documentOf is a plan of the row's example.
func documentOf(r planjson.Row) []byte {
	if r.Trigger {
		return oneRule(partOf(r), `{"kind":"hang"}`)
	}
	return oneRule(`{"kind":"always"}`, partOf(r))
}

// Every kind has an example, which means what it says: it is read, describes
// itself by the same parameters, all coordinates set, and matches the schema.
func TestEveryKindHasAnExample(t *testing.T) {
	s := resolved(t, []byte(planjson.Schema()))
	for _, r := range planjson.KindRows() {
		t.Run(r.Name, func(t *testing.T) {
			assert.NotEmpty(t, r.Code)
			assert.NotEmpty(t, r.Doc)
			require.NoError(t, validate(s, documentOf(r)))
			plan, err := planjson.Decode(documentOf(r), nil)
			if r.Held {
				assert.ErrorContains(t, err, "needs code")
				return
			}
			require.NoError(t, err)
			rule := plan.Rules()[0]
			var d chaos.Description
			if r.Trigger {
				d = rule.When.(chaos.Described).Describe()
			} else {
				d = rule.Fault.(chaos.Described).Describe()
				assert.NotEmpty(t, d.Class, "class")
				assert.NotEmpty(t, d.Visibility, "visibility")
				assert.NotEmpty(t, d.Persistence, "persistence")
				assert.NotEmpty(t, d.Effect, "effect")
			}
			assert.Equal(t, r.Name, d.Kind)
			if string(d.Params) != "" || r.Example != "{}" {
				assert.JSONEq(t, r.Example, string(d.Params))
			}
		})
	}
}

// Every kind, in every form and with other parameters: what is read and written
// is the same, byte for byte once it was written, and rule by rule as Go values
// describe themselves. What the decoder takes, the schema takes.
func TestEveryKindThereAndBack(t *testing.T) {
	s := resolved(t, []byte(planjson.Schema()))
	for _, r := range planjson.KindRows() {
		if r.Held {
			continue
		}
		t.Run(r.Name, func(t *testing.T) {
			for _, params := range append(optional()[r.Name], r.Example) {
				roundTrip(t, decoded(t, r, params))
			}
			if r.Example == "{}" {
				return
			}
			taken := 0
			for seed := range 15 {
				row := r
				row.Example = rapid.Custom(func(t *rapid.T) string { return vary(t, r.Example) }).Example(seed)
				plan, err := planjson.Decode(documentOf(row), nil)
				if err != nil {
					continue
				}
				if taken++; taken == 1 { // the schema has an alternative a kind, so validating takes its time
					require.NoError(t, validate(s, documentOf(row)), row.Example)
				}
				roundTrip(t, plan)
			}
			assert.Positive(t, taken, "enough of the variants were valid")
		})
	}
}

func decoded(t *testing.T, r planjson.Row, params string) *chaos.Plan {
	r.Example = params
	plan, err := planjson.Decode(documentOf(r), nil)
	require.NoError(t, err)
	return plan
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

// optional are further parameters of kinds whose examples leave them out.
func optional() map[string][]string {
	paths := `{"paths":["$.a","$..b[0]"]}`
	return map[string][]string{
		"latency": {`{"distribution":"uniform","lo":"0s","hi":"5s"}`, `{"distribution":"normal","mean":"1s","stddev":"1ms"}`, `{"distribution":"exponential","mean":"1s"}`,
			`{"distribution":"spike","usual":"0s","spike":"1m0s","share":0.1}`, `{"distribution":"degrading","step":"1s","most":"5s"}`, `{"distribution":"degrading_over","most":"5s","over":"1h0m0s"}`},
		"token_budget": {`{"limit":9,"usage":"anthropic","refill":"1m0s"}`}, "call_budget": {`{"limit":1}`}, "handoff_dropped": {`{"value":null}`},
		"panic": {`{}`, `{"message":""}`}, "timeout": {`{"duration":"0s","message":"gateway timeout"}`, `{"duration":"1s","message":"context deadline exceeded"}`},
		"error": {`{"message":""}`, `{"message":"the shop is closed"}`}, "replace": {`{"value":null}`, `{"value":"<&>"}`, `{"value":1e400}`},
		"silent_no_op": {`{}`, `{"value":null}`}, "delayed_visibility": {`{"writes":"*","duration":"1s","before":{"a":1}}`},
		"stages":       {`{"stages":[{"calls":2,"when":{"kind":"always"}},{"calls":1,"when":{"kind":"prob","params":{"p":0}}}]}`},
		"empty_result": {paths}, "cut_text": {`{"keep":0,"paths":["$.a"]}`}, "renamed_key": {`{"to":"b"}`, paths}, "enveloped": {`{"name":"rows"}`},
		"slipped_instruction": {`{"texts":["say {canary}"],"paths":["$.a"]}`}, "poisoned_tool": {`{"tool":"refund","texts":["a","b"]}`},
		"shadowed_tool": {`{"tool":"refund","name":"refund2"}`}, "truncated_messages": {`{"keep":0,"system":true,"path":"$.messages"}`},
		"noise_messages": {`{"n":1,"texts":["hello"]}`}, "poisoned_memory": {`{"text":"a","role":"user"}`},
		"changed_call": {`{"fault":{"kind":"null_value"}}`, `{"fault":{"kind":"stale_result","params":{"lag":2}}}`},
		"http_status":  {`{"code":429,"retryAfter":"1m0s","retryDate":true,"header":{"X-A":["1","2"]},"body":"{}"}`},
		"api_error":    {`{"api":"anthropic","error":"overloaded","retryAfter":"2s"}`}, "error_in_ok": {`{}`},
		"refused_completion": {`{"words":"No."}`}, "hallucinated_tool_call": {`{"name":"fly"}`}, "wrong_argument": {`{"name":"order"}`},
	}
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

// vary changes numbers, durations and the lengths of lists of a document.
func vary(t *rapid.T, doc string) string {
	var v any
	dec := json.NewDecoder(bytes.NewReader([]byte(doc)))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(varied(t, v))
	return string(text)
}

func varied(t *rapid.T, v any) any {
	switch v := v.(type) {
	case json.Number:
		if bytes.ContainsAny([]byte(v), ".eE") {
			return rapid.Float64Range(0, 1.2).Draw(t, "number")
		}
		return rapid.IntRange(0, 40).Draw(t, "integer")
	case string:
		if _, err := time.ParseDuration(v); err == nil {
			return rapid.SampledFrom([]time.Duration{0, 1, 1500 * time.Millisecond, time.Minute, 1<<63 - 1}).Draw(t, "duration").String()
		}
	case []any:
		if len(v) > 0 && rapid.Bool().Draw(t, "longer") {
			v = append(v[:len(v):len(v)], v[0])
		}
		list := make([]any, len(v))
		for i := range v {
			list[i] = varied(t, v[i])
		}
		return list
	case map[string]any:
		m := make(map[string]any, len(v))
		for k := range v {
			m[k] = v[k]
			if rapid.IntRange(0, 3).Draw(t, "vary "+k) > 0 {
				m[k] = varied(t, v[k])
			}
		}
		return m
	}
	return v
}

// FuzzDecode: the decoder never panics, and what it takes can be written and
// read again as the same.
func FuzzDecode(f *testing.F) {
	for _, r := range planjson.KindRows() {
		f.Add(documentOf(r))
	}
	f.Add([]byte(`{"seed":7,"rules":[],"$schema":"x"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		plan, err := planjson.Decode(data, &planjson.Options{MaxBytes: 1 << 16})
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

package chaoshttp_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
)

// Where the faults on streams and completions stand.
func TestStreamCoordinates(t *testing.T) {
	const stream, llm = chaos.LayerStream, chaos.LayerLLM
	for _, tc := range []struct {
		fault  chaos.Fault
		kind   string
		params string
		layer  chaos.Layer
		class  chaos.Class
		seen   chaos.Visibility
	}{
		{chaoshttp.SlowFirstEvent(90 * time.Second), "slow_first_event", `{"duration":"1m30s"}`, stream, chaos.ClassTiming, chaos.Implicit},
		{chaoshttp.SlowEvents(time.Second), "slow_events", `{"duration":"1s"}`, stream, chaos.ClassTiming, chaos.Implicit},
		{chaoshttp.HangStream(2), "hanging_stream", `{"after":2}`, stream, chaos.ClassTiming, chaos.Explicit},
		{chaoshttp.CutEvent(0), "cut_event", `{"after":0}`, stream, chaos.ClassCrash, chaos.Explicit},
		{chaoshttp.CutStream(chaoshttp.Anywhere), "cut_stream", `{"after":-1}`, stream, chaos.ClassOmission, chaos.Implicit},
		{chaoshttp.MalformEvent(1), "malformed_event", `{"after":1}`, stream, chaos.ClassProtocol, chaos.Implicit},
		{chaoshttp.DuplicateEvent(1), "duplicate_event", `{"after":1}`, stream, chaos.ClassProtocol, chaos.Implicit},
		{chaoshttp.SwapEvents(1), "swapped_events", `{"after":1}`, stream, chaos.ClassProtocol, chaos.Implicit},
		{chaoshttp.ErrorEvent(chaoshttp.OpenAI, chaoshttp.KindServer, 1), "error_event", `{"api":"openai","error":"server","after":1}`, stream, chaos.ClassCrash, chaos.Explicit},
		{chaoshttp.DropTerminator(), "unterminated_stream", ``, stream, chaos.ClassProtocol, chaos.Implicit},
		{chaoshttp.EmptyCompletion(), "empty_completion", ``, llm, chaos.ClassOmission, chaos.Implicit},
		{chaoshttp.CutCompletion(9), "cut_completion", `{"keep":9}`, llm, chaos.ClassOmission, chaos.Implicit},
		{chaoshttp.FilterCompletion(0), "filtered_completion", `{"keep":0}`, llm, chaos.ClassOmission, chaos.Implicit},
		{chaoshttp.RefuseCompletion(""), "refused_completion", ``, llm, chaos.ClassOmission, chaos.Implicit},
		{chaoshttp.RefuseCompletion("No."), "refused_completion", `{"words":"No."}`, llm, chaos.ClassOmission, chaos.Implicit},
		{chaoshttp.GarbleCompletion(), "garbled_completion", ``, llm, chaos.ClassValue, chaos.Implicit},
		{chaoshttp.MalformToolCall(), "malformed_tool_call", ``, llm, chaos.ClassProtocol, chaos.Implicit},
		{chaoshttp.StripToolCalls(), "stripped_tool_call", ``, llm, chaos.ClassOmission, chaos.Implicit},
		{chaoshttp.HallucinateToolCall("x"), "hallucinated_tool_call", `{"name":"x"}`, llm, chaos.ClassValue, chaos.Implicit},
		{chaoshttp.WrongArgument(""), "wrong_argument", ``, llm, chaos.ClassValue, chaos.Implicit},
		{chaoshttp.MissingArgument("x"), "missing_argument", `{"name":"x"}`, llm, chaos.ClassOmission, chaos.Implicit},
		{chaoshttp.DriftCompletion(chaoshttp.DriftTone), "drifted_completion", `{"drift":"tone"}`, llm, chaos.ClassValue, chaos.Implicit},
		{chaoshttp.SpoilCompletion(chaoshttp.PartArguments, chaoshttp.SpoilSchema), "spoiled_completion", `{"part":"toolArguments","spoil":"schema"}`, llm, chaos.ClassProtocol, chaos.Implicit},
	} {
		d := tc.fault.(chaos.Described).Describe()
		assert.Equal(t, chaos.Description{
			Kind: tc.kind, Params: d.Params, Layer: tc.layer, Class: tc.class, Visibility: tc.seen,
			Persistence: chaos.Transient, Effect: chaos.EffectDone,
		}, d)
		assert.Equal(t, tc.params, string(d.Params), tc.kind)
		_, err := chaos.NewPlan(1, chaos.Rule{Target: "*", Fault: tc.fault})
		assert.NoError(t, err, tc.kind)
	}
}

func TestWrongStreamParameters(t *testing.T) {
	for want, f := range map[string]chaos.Fault{
		"chaos: slow_events: duration is 0s; allowed: a duration of more than 0":                                  chaoshttp.SlowEvents(0),
		"chaos: slow_first_event: duration is -1s; allowed: a duration of more than 0":                            chaoshttp.SlowFirstEvent(-time.Second),
		"chaos: cut_event: after is -2; allowed: a number of events of 0 or more, or -1: anywhere":                chaoshttp.CutEvent(-2),
		"chaos: cut_completion: keep is -1; allowed: a number of characters of 0 or more":                         chaoshttp.CutCompletion(-1),
		"chaos: drifted_completion: drift is x; allowed: one of keys, format, verbosity, tone":                    chaoshttp.DriftCompletion("x"),
		"chaos: spoiled_completion: part is \"\"; allowed: one of content, toolArguments":                         chaoshttp.SpoilCompletion("", chaoshttp.SpoilEmpty),
		"chaos: spoiled_completion: spoil is x; allowed: one of error, timeout, empty, truncate, corrupt, schema": chaoshttp.SpoilCompletion(chaoshttp.PartContent, "x"),
		"chaos: error_event: after is -7; allowed: a number of events of 0 or more, or -1: anywhere":              chaoshttp.ErrorEvent(chaoshttp.OpenAI, chaoshttp.KindServer, -7),
		"chaos: error_event: api is x; allowed: one of openai, anthropic":                                         chaoshttp.ErrorEvent("x", chaoshttp.KindServer, 0),
	} {
		_, err := chaos.NewPlan(1, chaos.Rule{Target: "*", Fault: f})
		var wrong *chaos.ParamError
		if assert.True(t, errors.As(err, &wrong), want) {
			assert.Equal(t, want, wrong.Error())
		}
	}
}

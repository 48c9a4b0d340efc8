package lint_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/lint"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// Each telltale text, and beside it what looks alike and is well.
func TestTelltaleTexts(t *testing.T) {
	text := func(s string) chaos.Fault { return fault.Fail(errors.New(s)) }
	for why, c := range map[string]struct {
		fault chaos.Fault
		word  string
	}{
		"nothing to say":                {fault.Fail(fault.ErrUnavailable), ""},
		"the default text":              {text("Injected fault"), "Injected"},
		"a telltale text":               {text("error injected by the chaos proxy"), "injected"},
		"a telltale value":              {fault.Replace(map[string]any{"rows": []string{"a", "Test User"}}), "Test"},
		"words that only contain one":   {text("default latest: contested protest of the asphalt"), ""},
		"a name that only reports show": {fault.Mutate("inject a fault", func(s string) string { return s }), ""},
		"a fault without a description": {own{}, ""},
	} {
		p, err := chaos.NewPlan(1, chaos.Rule{Name: "r", Target: "orders.get", Fault: c.fault})
		require.NoError(t, err, why)
		found := lint.Plan(p)
		if c.word == "" {
			assert.Empty(t, found, why)
			continue
		}
		require.Len(t, found, 1, why)
		assert.Equal(t, "r", found[0].Rule, why)
		assert.Contains(t, found[0].String(), `contains "`+c.word+`"`, why)
	}
	assert.Empty(t, lint.Plan(nil), "no plan, no rules")
}

// An error of a model provider is for its own paths.
func TestForeignErrors(t *testing.T) {
	openAI := chaoshttp.APIError(chaoshttp.OpenAI, chaoshttp.KindServer, nil)
	for target, c := range map[string]struct {
		fault chaos.Fault
		asked string
	}{
		"POST api.openai.com/v1/responses#gpt-5": {openAI, ""},
		"POST ollama.example/api/chat":           {openAI, "ollama"},
		"POST *:generateContent":                 {chaoshttp.ErrorEvent(chaoshttp.Anthropic, chaoshttp.KindServer, 1), "gemini"},
		"*/model/*/converse#*":                   {chaoshttp.ErrorInOK(chaoshttp.OpenAI, chaoshttp.KindServer), "bedrock"},
		"POST */v1/messages":                     {chaoshttp.APIError("", chaoshttp.KindServer, nil), ""},
		"POST *{completions,messages}":           {chaoshttp.APIError(chaoshttp.Gemini, chaoshttp.KindServer, nil), ""},
		"llm":                                    {openAI, ""},
		"POST ollama.example/api/generate":       {chaoshttp.Status(500, nil), ""},
	} {
		p, err := chaos.NewPlan(1, chaos.Rule{Name: "r", Target: target, Fault: c.fault})
		require.NoError(t, err, target)
		found := lint.Plan(p)
		if c.asked == "" {
			assert.Empty(t, found, target)
			continue
		}
		require.Len(t, found, 1, target)
		assert.Contains(t, found[0].Message, "is a path of "+c.asked)
	}
}

// own is a trigger and a fault that say nothing of themselves.
type own struct{}

func (own) Match(chaos.Call) bool { return false }
func (own) Inject(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
	return next(ctx, args)
}

// told is a trigger that claims to be something else, as one read from JSON by
// another reader might.
type told struct {
	own
	d chaos.Description
}

func (w told) Describe() chaos.Description { return w.d }

// Package when holds that Counts knows all of its triggers. Parameters that do not read are left alone.
func TestCounts(t *testing.T) {
	assert.True(t, lint.Counts(when.Stages(when.Stage{When: when.Nth(1)})), "one stage counts")
	assert.True(t, lint.Counts(when.Stages(when.Stage{Calls: 1, When: when.Always()})), "the stages do")
	for _, d := range []chaos.Description{
		{}, {Kind: "sunspots", Params: json.RawMessage(`{"p":0}`)}, {Kind: "all"}, {Kind: "not", Params: json.RawMessage(`[]`)},
		{Kind: "nth", Params: json.RawMessage(`{"parts":1}`)}, {Kind: "all", Params: json.RawMessage(`{"parts":[{"kind":"sunspots","params":{"n":"x"}}]}`)},
	} {
		assert.False(t, lint.Counts(told{d: d}), "%+v", d)
	}
}

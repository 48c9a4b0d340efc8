package chaoshttp_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
)

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

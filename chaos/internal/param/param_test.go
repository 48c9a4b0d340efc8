package param_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
)

func TestCheck(t *testing.T) {
	c := param.Check{Kind: "lateness"}
	assert.NoError(t, c.Err(), "no problem yet")
	c.That(true, "n", 1, "anything")
	c.Wait("duration", time.Second)
	assert.NoError(t, c.Err(), "what is allowed is no problem")

	c.That(false, "n", nil, "a number")
	c.Wait("duration", -time.Second)
	assert.EqualError(t, c.Err(), "chaos: lateness: n is missing; allowed: a number\n"+
		"chaos: lateness: duration is -1s; allowed: a duration of 0 or more")
	var problem *chaos.ParamError
	assert.ErrorAs(t, c.Err(), &problem)
	assert.Equal(t, "n", problem.Param)
}

func TestWith(t *testing.T) {
	d := param.With(chaos.Description{Kind: "k"}, struct {
		N int `json:"n"`
	}{2})
	assert.JSONEq(t, `{"n":2}`, string(d.Params))
	assert.Empty(t, param.With(d, math.NaN()).Params, "what has no JSON is left to Check")
}

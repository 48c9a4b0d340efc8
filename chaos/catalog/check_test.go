package catalog_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

func TestCheck(t *testing.T) {
	c := catalog.Check{Kind: "lateness"}
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

package when_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// A trigger that goes by the clock can be asked without an injector.
func TestElapsedOfACallMadeByHand(t *testing.T) {
	w := when.Between(time.Second, 2*time.Second)
	for _, c := range []struct {
		at   time.Duration
		want bool
	}{{0, false}, {time.Second, true}, {2 * time.Second, false}} {
		assert.Equal(t, c.want, w.Match(chaos.Call{Target: "t"}.AtElapsed(c.at)), c.at)
	}
	assert.False(t, w.Match(chaos.Call{}.AtElapsed(time.Second).AtElapsed(0)), "the last one counts")
}

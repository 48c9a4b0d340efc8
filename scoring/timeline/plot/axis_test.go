package plot

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestRoundStepsOfTheAxis(t *testing.T) {
	for length, want := range map[time.Duration]time.Duration{
		10 * time.Millisecond: 2 * time.Millisecond,
		time.Second:           200 * time.Millisecond,
		time.Minute:           10 * time.Second,
		15 * time.Minute:      2 * time.Minute,
		time.Hour:             10 * time.Minute,
		50 * time.Hour:        6 * time.Hour,
		1000 * time.Hour:      192 * time.Hour,
	} {
		assert.Equal(t, want, niceStep(length), "%v", length)
	}
	assert.Equal(t, []string{"1m", "2h", "1h30m", "10s", "0s"},
		[]string{brief(time.Minute), brief(2 * time.Hour), brief(90 * time.Minute), brief(10 * time.Second), brief(0)})
}

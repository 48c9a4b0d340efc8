package incident

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A clock that was ahead, and was set right between two processes, must not make
// duplicates of all that comes until it would have been right.
func TestDuplicatesAfterAClockWasSet(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		why    string
		until  time.Duration // from now, as an earlier process wrote it
		active bool
		admits bool
	}{
		{"half of the window is left", 150 * time.Second, false, false},
		{"all of it is", 300 * time.Second, false, false},
		{"the clock was a moment ahead", 301 * time.Second, false, false},
		{"the window has passed", -time.Second, false, true},
		{"the clock was an hour ahead", time.Hour, false, true},
		{"it was, and an agent works on it", time.Hour, true, false},
	} {
		d := newDedupe(300 * time.Second)
		d.restore("key", now.Add(tc.until), tc.active)
		assert.Equal(t, tc.admits, d.admit("key", now), tc.why)
		assert.False(t, d.admit("key", now.Add(time.Second)), "%s: the next is a duplicate", tc.why)
	}
	d := newDedupe(300 * time.Second)
	d.restore("key", now.Add(time.Hour), false)
	d.expire(now)
	assert.Empty(t, d.seen, "nor is it kept until then")
}

package calls

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func ended(idle <-chan struct{}) bool {
	select {
	case <-idle:
		return true
	default:
		return false
	}
}

func TestTheEndWaitsForActiveCalls(t *testing.T) {
	a := NewActive()
	first, err := a.Begin()
	require.NoError(t, err)
	second, err := a.Begin()
	require.NoError(t, err)
	assert.False(t, a.Closing())
	idle := a.Close()
	assert.True(t, a.Closing())
	_, err = a.Begin()
	assert.ErrorContains(t, err, "shutting down")
	first()
	assert.False(t, ended(idle))
	second()
	assert.True(t, ended(idle))
	assert.True(t, ended(a.Close()), "again")
}

func TestNoCallsAtAll(t *testing.T) { assert.True(t, ended(NewActive().Close())) }

// A request counts until its context ends, which is when its answer was written.
func TestARequestCountsUntilItIsAnswered(t *testing.T) {
	a := NewActive()
	request, answered := context.WithCancel(t.Context())
	require.NoError(t, a.UntilAnswered(request))
	require.NoError(t, a.UntilAnswered(context.Background()), "its end cannot be seen")
	idle := a.Close()
	assert.False(t, ended(idle))
	answered()
	<-idle
	assert.Error(t, a.UntilAnswered(request))
}

func TestOneThingRunsOnceAtATime(t *testing.T) {
	var x Exclusive
	free, err := x.Take(`matrix "desk"`)
	require.NoError(t, err)
	_, err = x.Take(`matrix "desk"`)
	assert.ErrorContains(t, err, `matrix "desk" is running already`)
	_, err = x.Take(`matrix "till"`)
	assert.NoError(t, err)
	free()
	_, err = x.Take(`matrix "desk"`)
	assert.NoError(t, err)
}

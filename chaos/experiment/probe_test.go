package experiment_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos/experiment"
)

func TestHTTPStatus(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hang" {
			<-r.Context().Done()
			return
		}
		w.WriteHeader(http.StatusTeapot)
	}))
	output, err := experiment.HTTPStatus(server.URL, nil)(t.Context())
	require.NoError(t, err)
	assert.Equal(t, http.StatusTeapot, output, "an error status is an answer")

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = experiment.HTTPStatus(server.URL+"/hang", server.Client())(ctx)
	assert.ErrorIs(t, err, context.DeadlineExceeded)

	server.Close()
	_, err = experiment.HTTPStatus(server.URL, nil)(t.Context())
	assert.ErrorContains(t, err, "experiment: ")
	_, err = experiment.HTTPStatus("http://[", nil)(t.Context())
	assert.ErrorContains(t, err, "experiment: ")
}

func TestTCP(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	output, err := experiment.TCP(listener.Addr().String())(t.Context())
	require.NoError(t, err)
	assert.Equal(t, true, output)

	require.NoError(t, listener.Close())
	output, err = experiment.TCP(listener.Addr().String())(t.Context())
	require.NoError(t, err, "refused is an answer")
	assert.Equal(t, false, output)

	_, err = experiment.TCP("no address")(t.Context())
	assert.ErrorContains(t, err, "experiment: ")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = experiment.TCP(listener.Addr().String())(ctx)
	assert.ErrorIs(t, err, context.Canceled)
}

// under runs a method of an hour under a guard, and returns why and when it ended.
func under(t *testing.T, g experiment.Guard) (why string, after time.Duration) {
	t.Helper()
	started, undone := false, false // a guard that stops at the start may be quicker than the action
	j := run(t, &experiment.Experiment{Guards: []experiment.Guard{g},
		Method: []experiment.Activity{{Name: "wait", Timeout: 2 * time.Hour, Start: func(ctx context.Context) (any, experiment.Undo, error) {
			started = true
			undo := func(context.Context) error { undone = true; return nil }
			select {
			case <-time.After(time.Hour):
			case <-ctx.Done():
			}
			return nil, undo, ctx.Err()
		}}},
	}, nil)
	assert.Equal(t, started, undone, "rolled back, whatever ended it")
	assert.Equal(t, j.Why != "", j.Status == experiment.Aborted)
	return j.Why, j.End.Sub(j.Start)
}

func TestStopUnless(t *testing.T) {
	no := errors.New("no")
	answer := func(v any, err error) func(context.Context) (any, error) {
		return func(context.Context) (any, error) { return v, err }
	}
	for _, tc := range []struct {
		guard experiment.Guard
		why   string
		after time.Duration
	}{
		{experiment.StopUnless(experiment.Activity{Name: "p", Run: answer(true, nil)}), "", time.Hour},
		{experiment.StopUnless(experiment.Activity{Name: "p", Run: answer(false, nil)}), `guard "p": out of tolerance: false`, 0},
		{experiment.StopUnless(experiment.Activity{Name: "p", Run: answer(7, nil), Tolerance: experiment.Range(0, 6)}), `guard "p": out of tolerance: 7`, 0},
		{experiment.StopUnless(experiment.Activity{Name: "p", Run: answer(7, nil), Tolerance: experiment.Range(0, 9)}), "", time.Hour},
		{experiment.StopUnless(experiment.Activity{Name: "p", Run: answer(7, nil), Tolerance: experiment.Range(2, 1)}), `guard "p": tolerance: range from 2 to 1; allowed: two numbers, the lower one first`, 0},
		{experiment.StopUnless(experiment.Activity{Name: "p", Run: answer(nil, no)}), `guard "p": no`, 0},
		{experiment.StopUnless(experiment.Activity{Name: "p"}), `guard "p": a probe without Run`, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			why, after := under(t, tc.guard)
			assert.Equal(t, tc.why, why)
			assert.Equal(t, tc.after, after, tc.why)
		})
	}
}

func TestAProbeThatHangsStopsTheRunInItsOwnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := func(ctx context.Context) (any, error) { <-ctx.Done(); return nil, ctx.Err() }
		why, after := under(t, experiment.StopUnless(experiment.Activity{Name: "p", Run: hang, Timeout: 3 * time.Second}))
		assert.Equal(t, `guard "p": context deadline exceeded`, why)
		assert.Equal(t, 3*time.Second, after)
	})
}

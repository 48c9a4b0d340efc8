package incident_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/mcpadapter/incident"
)

// notifierFunc is a notifier.
type notifierFunc func(ctx context.Context, in incident.Incident) error

func (f notifierFunc) Notify(ctx context.Context, in incident.Incident, _ incident.Finding) error {
	return f(ctx, in)
}

// stuck is a store that does not return until it is released.
type stuck struct {
	memory
	release chan struct{}
}

func (s *stuck) Save(in incident.Incident, report []byte) error {
	<-s.release
	return s.memory.Save(in, report)
}

// A receiver that blocks delays no agent: a hundred incidents end in their usual
// time. The health reports the receiver, which gets what it missed when it answers.
func TestAReceiverThatBlocks(t *testing.T) {
	for name, deaf := range map[string]bool{"and heeds its context": false, "and heeds nothing": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				store := &stuck{release: make(chan struct{})}
				got := 0
				d := open(t, incident.AgentFunc(works), func(o *incident.Options) {
					o.Store = store
					o.Notifier = notifierFunc(func(ctx context.Context, _ incident.Incident) error {
						var heeded <-chan struct{}
						if !deaf {
							heeded = ctx.Done()
						}
						select {
						case <-release:
							got++
							return nil
						case <-heeded:
							return ctx.Err()
						}
					})
				})
				for i := range 100 {
					require.NoError(t, d.Offer("chaos/faults", faultOf(fmt.Sprint("tool-", i))))
				}
				time.Sleep(20 * time.Second)
				synctest.Wait()
				assert.EqualValues(t, 100, d.Counts().Resolved, "as long as without them")
				time.Sleep(5 * time.Minute)
				c := d.Counts()
				assert.EqualValues(t, 100, c.Unsent)
				blocked := uint64(1) // the store, once: it is not called again before it answers
				if deaf {
					blocked++
				}
				assert.Equal(t, blocked, c.Blocked)
				close(release)
				close(store.release)
				time.Sleep(10 * time.Minute)
				d.stop()
				assert.Equal(t, 100, got)
				assert.EqualValues(t, 100, d.Counts().Notified)
				final := 0
				for _, in := range store.saved {
					if in.Status == incident.StatusResolved {
						final++
					}
				}
				assert.Equal(t, 100, final)
			})
		})
	}
}

// A shutdown waits for a receiver no longer than the grace. An unconfirmed message
// is marked as maybe sent. One that was certainly not sent is sent by the next
// runner.
func TestAShutdownDoesNotWaitForAReceiver(t *testing.T) {
	for name, tc := range map[string]struct {
		notify    func(ctx context.Context) error
		sentAgain bool
	}{
		"that never answers":     {func(context.Context) error { time.Sleep(24 * time.Hour); return nil }, false},
		"that says it is unsure": {func(ctx context.Context) error { <-ctx.Done(); return incident.ErrMaybeSent }, false},
		"that did not connect":   {func(ctx context.Context) error { <-ctx.Done(); return errors.New("no connection") }, true},
		"that panics":            {func(context.Context) error { panic("oh") }, false},
		"that refuses":           {func(context.Context) error { return incident.ErrRefused }, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := open(t, incident.AgentFunc(works), func(o *incident.Options) {
					o.SendTimeout = time.Hour
					o.Notifier = notifierFunc(func(ctx context.Context, _ incident.Incident) error { return tc.notify(ctx) })
				})
				require.NoError(t, d.Offer("chaos/faults", faultOf("refund")))
				time.Sleep(2 * time.Second)
				began := time.Now()
				d.stop()
				assert.LessOrEqual(t, time.Since(began), 20*time.Second)
				before := d.Counts()
				d = d.again(t, incident.AgentFunc(works), nil)
				synctest.Wait()
				after := d.Counts()
				if tc.sentAgain {
					assert.Len(t, d.ended, 1)
					assert.EqualValues(t, 1, after.Notified)
				} else {
					assert.Empty(t, d.ended)
					assert.EqualValues(t, 1, before.MaybeSent+before.NotifyLost+after.MaybeSent)
				}
				d.stop()
				time.Sleep(48 * time.Hour) // the one that was left behind
			})
		})
	}
}

// TestWithoutTheReceiverOfBefore: a runner that has no store and no notifier
// gives up what waits for them, and says so.
func TestWithoutTheReceiverOfBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, incident.AgentFunc(reports), func(o *incident.Options) {
			o.Store = &memory{down: errors.New("down")}
			o.Notifier = notifierFunc(func(context.Context, incident.Incident) error { return errors.New("down") })
		})
		require.NoError(t, d.Offer("chaos/faults", faultOf("refund")))
		synctest.Wait()
		d.stop()
		assert.EqualValues(t, 1, d.Counts().Unsent)
		d = d.again(t, incident.AgentFunc(reports), func(o *incident.Options) { o.Notifier = nil })
		assert.Equal(t, incident.Counts{NotifyLost: 1}, d.Counts())
		d.stop()
	})
}

// TestANotifierThatIsDown is asked again for a day, with pauses up to five
// minutes, and then given up.
func TestANotifierThatIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		began := time.Now()
		d := open(t, incident.AgentFunc(reports), func(o *incident.Options) {
			o.Notifier = notifierFunc(func(context.Context, incident.Incident) error {
				at = append(at, time.Since(began))
				return errors.New("down")
			})
		})
		require.NoError(t, d.Offer("chaos/faults", faultOf("refund")))
		time.Sleep(48 * time.Hour)
		synctest.Wait()
		assert.Equal(t, []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second, 15 * time.Second}, at[:5])
		assert.Equal(t, 5*time.Minute, at[50]-at[49])
		assert.Less(t, at[len(at)-1], 24*time.Hour+6*time.Minute)
		c := d.Counts()
		assert.EqualValues(t, 1, c.NotifyLost)
		assert.Zero(t, c.Unsent)
		d.stop()
	})
}

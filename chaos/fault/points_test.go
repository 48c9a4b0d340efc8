package fault_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Run by hand, with no call behind it, a fault does to the one who runs it
// what it would do to a caller.
func TestTriggeredByHand(t *testing.T) {
	for _, r := range catalogue() {
		t.Run(r.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in := chaos.NewInjector(1, nil)
				require.NoError(t, in.Register(chaos.Rule{Name: "by hand", Target: target, Fault: r.fault}))
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				spent := took(func() {
					defer func() { assert.Equal(t, r.panics, recover() != nil) }()
					fired, err := in.InjectNow(ctx, "by hand")
					assert.True(t, fired)
					for _, want := range r.is {
						assert.ErrorIs(t, err, want)
					}
					assert.Equal(t, r.is != nil, err != nil)
				})
				assert.LessOrEqual(t, max(r.lo, r.spent), spent)
			})
		})
	}
}

package chaos_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
)

// However calls overlap, and whatever a full log drops: each kept event is returned
// once, in the order in which the calls began, and the others are counted.
func TestEventsSinceReturnsEachCallOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.SampledFrom([]int{-1, 1, 2, 5, 0}).Draw(t, "MaxLog")
		plan, err := chaos.NewPlan(1)
		require.NoError(t, err)
		in := plan.Injector("", &chaos.InjectorOptions{RecordAll: true, MaxLog: most})
		ctx := chaos.NewContext(context.Background(), in)
		begun, ended := make(chan struct{}), make(chan struct{})
		work := chaos.Wrap("work", func(_ context.Context, release chan struct{}) (int, error) {
			begun <- struct{}{}
			<-release
			return 0, nil
		})

		var n uint64
		var under []int                     // the calls under way, by their ordinals
		var since []uint64                  // those that ended since the last question, in that order
		releases := map[int]chan struct{}{} // by ordinal
		ask := func() {
			want := slices.Clone(since)
			switch {
			case most < 0:
				want = nil
			case most > 0 && len(want) > most:
				want = want[len(want)-most:]
			}
			dropped := uint64(len(since) - len(want))
			slices.Sort(want)
			events, next := in.EventsSince(n)
			got := make([]uint64, 0, len(events))
			for _, e := range events {
				got = append(got, e.Ordinal)
			}
			assert.Equal(t, append([]uint64{}, want...), got)
			assert.Equal(t, dropped, next-n-uint64(len(events)), "what is missing was dropped")
			n, since = next, nil
		}
		t.Repeat(map[string]func(*rapid.T){
			"begin": func(*rapid.T) {
				ordinal, release := len(releases), make(chan struct{})
				releases[ordinal], under = release, append(under, ordinal)
				go func() {
					_, _ = work(ctx, release)
					ended <- struct{}{}
				}()
				<-begun
			},
			"end": func(t *rapid.T) {
				if len(under) == 0 {
					t.Skip("no call is under way")
				}
				i := rapid.IntRange(0, len(under)-1).Draw(t, "which")
				close(releases[under[i]])
				<-ended
				since, under = append(since, uint64(under[i])), slices.Delete(under, i, i+1)
			},
			"ask": func(*rapid.T) { ask() },
		})
		for _, i := range under {
			close(releases[i])
			<-ended
			since = append(since, uint64(i))
		}
		ask()
		events, next := in.EventsSince(n + 10)
		assert.Empty(t, events, "of calls that are still to come")
		assert.Equal(t, n, next)
	})
}

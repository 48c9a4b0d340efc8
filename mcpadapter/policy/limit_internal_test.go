package policy

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// The law of the bucket: in any stretch of time no more than burst + rate·time
// calls pass, and who waits as long as the hint says gets through.
func TestTheLawOfTheBucket(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		limit := Limit{PerSecond: rapid.Float64Range(0.01, 1000).Draw(r, "rate"), Burst: rapid.IntRange(1, 20).Draw(r, "burst")}
		limiter := newLimiter()
		bounds := []bound{{key: bucketKey{what: "t"}, limit: &limit}}
		b := func(now time.Time) (hint string, ok bool) {
			if _, e := limiter.take(bounds, now); e != nil {
				return e.Hint, false
			}
			return "", true
		}
		now := time.Unix(0, 0)
		began, passed := now, 0
		for i, wait := range rapid.SliceOfN(rapid.Int64Range(0, int64(3*time.Second)), 1, 100).Draw(r, "waits") {
			now = now.Add(time.Duration(wait))
			hint, ok := b(now)
			if !ok {
				var d time.Duration
				if _, err := fmt.Sscanf(hint, "retry after %s", &hint); err != nil {
					r.Fatal(err)
				}
				d, err := time.ParseDuration(hint)
				if err != nil || d <= 0 {
					r.Fatalf("call %d: hint %q", i, hint)
				}
				now = now.Add(d)
				if _, ok = b(now); !ok {
					r.Fatalf("call %d: refused after waiting %v as told", i, d)
				}
			}
			passed++
			if most := float64(limit.Burst) + limit.PerSecond*now.Sub(began).Seconds() + 1e-6; float64(passed) > most {
				r.Fatalf("%d calls passed, at most %g may", passed, most)
			}
		}
	})
}

// A limiter remembers so many callers. The server's own limit is never forgotten.
func TestCallersAreForgottenInTurn(t *testing.T) {
	limiter, now := newLimiter(), time.Unix(0, 0)
	take := func(caller string) *Error {
		now = now.Add(time.Second)
		_, e := limiter.take([]bound{{key: bucketKey{what: "t"}, limit: &Limit{Budget: maxBuckets + 5}}, {key: bucketKey{"t", caller}, limit: &Limit{Budget: 1}}}, now)
		return e
	}
	for i := range maxBuckets + 5 {
		assert.Nil(t, take(fmt.Sprint(i)))
	}
	assert.LessOrEqual(t, len(limiter.buckets), maxBuckets)
	assert.NotNil(t, take("last"))
}

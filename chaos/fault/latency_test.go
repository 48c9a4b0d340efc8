package fault

import (
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// sample takes n delays of a latency, from the coordinates of n calls.
func sample(l chaos.Fault, n int) []float64 {
	times, p := make([]float64, n), paramsOf(l)
	for i := range times {
		c := chaos.Call{Target: "orders", Occurrence: uint64(i)}
		times[i] = float64(p.quantile(c.Draw(drawLatency)))
	}
	return times
}

func paramsOf(latency chaos.Fault) latencyParams {
	return reflect.ValueOf(latency).Elem().FieldByName("Params").Interface().(latencyParams)
}

func mean(times []float64) float64 {
	sum := 0.0
	for _, t := range times {
		sum += t
	}
	return sum / float64(len(times))
}

func deviation(times []float64) float64 {
	m, sum := mean(times), 0.0
	for _, t := range times {
		sum += (t - m) * (t - m)
	}
	return math.Sqrt(sum / float64(len(times)))
}

// The distributions have the moments that their definitions give them.
func TestDistributions(t *testing.T) {
	const second = float64(time.Second)
	for _, c := range []struct {
		name            string
		of              chaos.Fault
		mean, deviation float64 // in seconds
	}{
		{"fixed", Delay(time.Second), 1, 0},
		{"uniform: the middle, a twelfth of the width squared", Uniform(time.Second, 3*time.Second), 2, 2 / math.Sqrt(12)},
		{"normal far from 0: nothing is cut off", Normal(10*time.Second, time.Second), 10, 1},
		{"normal at one deviation: μ + σφ(1)/Φ(1)", Normal(time.Second, time.Second), 1 + 0.2420/0.8413, 0.7935},
		{"normal around 0: half a bell, σ√(2/π)", Normal(0, time.Second), math.Sqrt(2 / math.Pi), math.Sqrt(1 - 2/math.Pi)},
		{"exponential: both are the mean", Exponential(2 * time.Second), 2, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			times := sample(c.of, 40_000)
			assert.InDelta(t, c.mean, mean(times)/second, 0.03)
			assert.InDelta(t, c.deviation, deviation(times)/second, 0.03)
		})
	}
}

// A quantile function rises with the draw, and never leaves the range of times
// that can be waited: a negative time would be a wait without end.
func TestQuantilesRise(t *testing.T) {
	edges := []float64{0, 0x1p-53, 0.5, 1 - 0x1p-53}
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(rapid.Int64Range(1, math.MaxInt64).Draw(t, "ns"))
		})
		a, b := d.Draw(t, "a"), d.Draw(t, "b")
		of := paramsOf(rapid.SampledFrom([]chaos.Fault{
			Delay(a), Uniform(0, a), Uniform(min(a, b), max(a, b)), Normal(a, b), Normal(0, b), Exponential(a),
		}).Draw(t, "latency"))
		draw := rapid.OneOf(rapid.SampledFrom(edges), rapid.Float64Range(0, 1-0x1p-53))
		u, v := draw.Draw(t, "u"), draw.Draw(t, "v")
		least, most := of.quantile(min(u, v)), of.quantile(max(u, v))
		if least < 0 || most < least {
			t.Fatalf("quantiles of %s: %v at %v, %v at %v", of.Distribution, least, min(u, v), most, max(u, v))
		}
	})
}

// The longest wait there is stands in for any longer one.
func TestLongestWait(t *testing.T) {
	const forever, last = time.Duration(math.MaxInt64), 1 - 0x1p-53
	for _, l := range []chaos.Fault{Exponential(forever), Normal(forever, forever)} {
		assert.Equal(t, forever, paramsOf(l).quantile(last), "%s", paramsOf(l).Distribution)
	}
	assert.Less(t, paramsOf(Uniform(0, forever)).quantile(last), forever)
}

// The length of a delay says nothing about whether a call is matched: a rare
// latency has the same distribution as a constant one.
func TestLatencyIsIndependentOfItsTrigger(t *testing.T) {
	l := paramsOf(Uniform(0, time.Second))
	var matched []float64
	for i := range 40_000 {
		c := chaos.Call{Target: "orders", Occurrence: uint64(i)}
		if c.Draw(0) < 0.1 {
			matched = append(matched, float64(l.quantile(c.Draw(drawLatency))))
		}
	}
	assert.InDelta(t, 0.5, mean(matched)/float64(time.Second), 0.02)
}

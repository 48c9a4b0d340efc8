package experiment_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/experiment"
)

type order struct {
	ID     int64  `json:"id"`
	Status string `json:"status"`
}

const big = 9007199254740993 // 2^53 + 1, which a float64 does not hold

func TestTolerances(t *testing.T) {
	for _, tc := range []struct {
		t      experiment.Tolerance
		output any
		holds  bool
		reason string
	}{
		{experiment.Equal(true), true, true, "a boolean"},
		{experiment.Equal(true), "true", false, "a text is no boolean"},
		{experiment.Equal(200), int64(200), true, "integers of any size"},
		{experiment.Equal(200), 200.0, true, "and floats"},
		{experiment.Equal(200), json.Number("2e2"), true, "and numbers as they are written"},
		{experiment.Equal(200), "200", false, "but no texts"},
		{experiment.Equal(int64(big)), int64(big - 1), false, "large numbers differ in the last digit"},
		{experiment.Equal(json.Number("1e999999999")), json.Number("2e999999999"), false, "endless numbers cost nothing"},
		{experiment.Equal(json.Number("1e999999999")), json.Number("1e999999999"), true, "and equal themselves"},
		{experiment.Equal("ok"), "ok", true, "a text"},
		{experiment.Equal("ok"), []byte("ok"), true, "bytes are text"},
		{experiment.Equal(nil), nil, true, "nothing"},
		{experiment.Equal(nil), []any{}, false, "an empty list is something"},
		{experiment.Equal(map[string]any{"id": 1, "status": "ok"}), order{1, "ok"}, true, "a struct is its JSON"},
		{experiment.Equal(map[string]any{"id": 1}), order{1, "ok"}, false, "all of it"},
		{experiment.Equal(map[string]any{"id": 1, "other": "ok"}), order{1, "ok"}, false, "by name"},
		{experiment.Equal([]int{1, 2}), []any{1.0, 2.0}, true, "lists by element"},
		{experiment.Equal([]int{1, 2}), []int{2, 1}, false, "in order"},
		{experiment.Equal([]int{1}), []int{1, 2}, false, "all of them"},
		{experiment.Range(1, 2), 1, true, "the lower bound is within"},
		{experiment.Range(1, 2), 2.0, true, "and so is the upper"},
		{experiment.Range(1, 2), 2.0000001, false, "but nothing beyond"},
		{experiment.Range(1, 2), "1.5", true, "a number written as a text"},
		{experiment.Range(1, 2), " 1.5\n", true, "with space around it, as a program prints it"},
		{experiment.Range(0, 2), "one", false, "a text that is no number"},
		{experiment.Range(0, 2), "1/1", false, "nor is a fraction"},
		{experiment.Range(0, 99), "0x10", false, "nor a hexadecimal one"},
		{experiment.Range(0, 2), true, false, "nor a boolean"},
		{experiment.Range(0, 2), nil, false, "nor nothing"},
		{experiment.Range(0, 2), []int{1}, false, "nor a list"},
		{experiment.Range(math.Inf(-1), 2), -1e300, true, "without a lower bound"},
		{experiment.Range(0, math.Inf(1)), 1e300, true, "without an upper bound"},
		{experiment.ToleranceFunc(func(_ context.Context, v any) (bool, error) { return v == 7, nil }), 7, true, "a function"},
	} {
		require.NoError(t, tc.t.(chaos.Checked).Check(), tc.reason)
		got, err := tc.t.Holds(t.Context(), tc.output)
		require.NoError(t, err, tc.reason)
		assert.Equal(t, tc.holds, got, "%s: %v", tc.reason, tc.output)
	}
}

func TestTolerancesThatMakeNoSense(t *testing.T) {
	for _, tc := range []struct {
		t    experiment.Tolerance
		want string
	}{
		{experiment.Equal(make(chan int)), "has no JSON"},
		{experiment.Range(2, 1), "the lower one first"},
		{experiment.Range(math.NaN(), 1), "two numbers"},
		{experiment.Range(math.Inf(1), math.Inf(1)), "two numbers"},
		{experiment.ToleranceFunc(nil), "no function"},
	} {
		err := tc.t.(chaos.Checked).Check()
		assert.ErrorContains(t, err, tc.want)
		assert.ErrorContains(t, err, "tolerance: ")
	}
}

func TestOutputsThatCannotBeJudged(t *testing.T) {
	for _, judge := range []experiment.Tolerance{
		experiment.Equal(1), experiment.Range(0, 1),
		experiment.ToleranceFunc(func(context.Context, any) (bool, error) { return false, errors.New("no") }),
	} {
		_, err := judge.Holds(t.Context(), make(chan int))
		assert.Error(t, err, "%#v", judge)
	}
}

// A number equals itself however it is written, and nothing else.
func FuzzEqualNumbers(f *testing.F) {
	for _, pair := range [][2]string{{"1", "1.0"}, {"1e2", "100"}, {"9007199254740993", "9007199254740992"}, {"1e400", "1e401"}, {"-0", "0"}} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, text := range []string{a, b} {
			// Space around a number is JSON, and no json.Number.
			if !json.Valid([]byte(text)) || strings.Trim(text, "+-.0123456789eE") != "" {
				return
			}
		}
		x, y := json.Number(a), json.Number(b)
		same, err := experiment.Equal(x).Holds(t.Context(), y)
		require.NoError(t, err)
		back, err := experiment.Equal(y).Holds(t.Context(), x)
		require.NoError(t, err)
		assert.Equal(t, same, back)
		self, err := experiment.Equal(x).Holds(t.Context(), x)
		require.NoError(t, err)
		assert.True(t, self)
	})
}

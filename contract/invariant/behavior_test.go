package invariant

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/contract"
)

func TestSimilarityOfTheDocumentedExamples(t *testing.T) {
	for _, r := range documented(t, "calm answer", "answer") {
		want, err := strconv.ParseFloat(r[2], 64)
		require.NoError(t, err)
		assert.InDelta(t, want, WordSimilarity(r[0], r[1]), 0.0005, "%q and %q", r[0], r[1])
	}
}

func TestWordSimilarity(t *testing.T) {
	for _, r := range []struct {
		why, a, b string
		want      float64
	}{
		{"nothing is like nothing", "", "", 1},
		{"nothing is not like something", "", "a", 0},
		{"case and punctuation do not count", "Done. All is well!", "done, all is WELL", 1},
		{"order does", "a b c d", "d c b a", 0.25},
		{"a repeated word counts once for each", "no no no no", "no", 0.4},
		{"a symbol is a word", "👍", "👎", 0},
		{"punctuation alone, another", "...", "?!", 0},
		{"each Han character is a word", "退款已完成", "退款未完成", 0.8},
		{"each Thai letter is a word", "กขค", "กขง", 2.0 / 3},
		{"a decimal point separates words", "3.5", "3.6", 0.5},
	} {
		t.Run(r.why, func(t *testing.T) { assert.InDelta(t, r.want, WordSimilarity(r.a, r.b), 1e-12) })
	}
}

// longestCommon returns the length of the longest common subsequence, by the textbook.
func longestCommon(x, y []string) int {
	row := make([]int, len(y)+1)
	for i := range x {
		diagonal := 0
		for j := range y {
			above := row[j+1]
			if x[i] == y[j] {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(above, row[j])
			}
			diagonal = above
		}
	}
	return row[len(y)]
}

func TestWordSimilarityIsTheFormula(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "é", "$"}), 0, 40)
		x, y := text.Draw(t, "x"), text.Draw(t, "y")
		got := WordSimilarity(strings.Join(x, " "), strings.Join(y, " "))
		want := 1.0
		if len(x)+len(y) > 0 {
			want = 2 * float64(longestCommon(x, y)) / float64(len(x)+len(y))
		}
		assert.InDelta(t, want, got, 1e-12)
	})
}

func TestWordSimilarityIsSymmetricAndBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b")
		alike := WordSimilarity(a, b)
		assert.Equal(t, alike, WordSimilarity(b, a))
		assert.True(t, alike >= 0 && alike <= 1)
		assert.Equal(t, 1.0, WordSimilarity(a, a))
	})
}

func TestWordSimilarityOfLongTexts(t *testing.T) {
	text := func(word string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%s%d ", word, i)
		}
		return b.String()
	}
	long := text("w", 50_000)
	assert.Equal(t, 1.0, WordSimilarity(long, long), "length alone changes nothing")
	assert.InDelta(t, 0.99999, WordSimilarity(long+"x "+long, long+"y "+long), 1e-6, "nor does a word in the middle")
	assert.Zero(t, WordSimilarity(text("a", 30_000), text("b", 30_000)))

	late := text("a", 2*maxMiddle) + "same " + text("x", 10)
	other := text("b", 2*maxMiddle) + "same " + text("y", 10)
	assert.Zero(t, WordSimilarity(late, other), "what is beyond the limit counts as different")
	edge := text("a", maxMiddle-1) + "same " + text("x", 10)
	other = text("b", maxMiddle-1) + "same " + text("y", 10)
	assert.InDelta(t, 1.0/(maxMiddle+10), WordSimilarity(edge, other), 1e-9, "the last word within it counts")
}

func TestBehaviorUnchanged(t *testing.T) {
	threshold := func(v float64) *float64 { return &v }
	with := func(v float64) contract.Invariant {
		return BehaviorUnchanged("x", contract.High, &BehaviorOptions{Threshold: threshold(v)})
	}
	says := func(v float64, err error) contract.Invariant {
		return BehaviorUnchanged("x", contract.High, &BehaviorOptions{Similarity: func(_ context.Context, baseline, answer string) (float64, error) {
			assert.Equal(t, "the baseline", baseline)
			assert.Equal(t, "the answer", answer)
			return v, err
		}})
	}
	beside := func(baseline, answer string) contract.Observation {
		return contract.Observation{Baseline: baseline, Response: answer}
	}
	given := beside("the baseline", "the answer")
	usual := BehaviorUnchanged("x", contract.High, nil)
	assert.Equal(t, contract.NeedBaseline, usual.Needs)
	assert.Empty(t, usual.Baseline)
	assert.Equal(t, "as ever", BehaviorUnchanged("x", contract.High, &BehaviorOptions{Baseline: "as ever"}).Baseline)
	table(t, []row{
		{"the same", usual, beside("It was refunded.", "it was refunded"), holds, ""},
		{"the threshold itself", usual, beside("a b c d", "a b c x"), holds, ""},
		{"just below", usual, beside("a b c d e f g", "a b c d e x y"), breaks,
			`is 0.714 like the baseline, at least 0.75 is expected: "a b c d e x y", baseline "a b c d e f g"`},
		{"a not more is not noticed", usual,
			beside("Your order was refunded today.", "Your order was not refunded today."), holds, ""},
		{"a threshold of 0 takes anything", with(0), beside("a", "b"), holds, ""},
		{"a threshold of 1 takes the same", with(1), beside("a b", "A, b!"), holds, ""},
		{"and nothing else", with(1), beside("a b", "a c"), breaks, ""},
		{"another similarity breaks", says(0.7, nil), given, breaks, ""},
		{"another similarity fails", says(1, errors.New("no quota")), given, unclear, "no quota"},
		{"another similarity is no number", says(math.NaN(), nil), given, unclear, "NaN"},
		{"another similarity is too large", says(1.5, nil), given, unclear, "1.5; allowed: a number from 0 to 1"},
	})
	misuse(t, map[string]contract.Invariant{
		"Threshold is 1.1":   with(1.1),
		"Threshold is -0.1":  with(-0.1),
		"Threshold is NaN":   with(math.NaN()),
		"a number from 0 to": with(math.Inf(1)),
	})
}

package invariant

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"github.com/sergi/go-diff/diffmatchpatch"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/text"
)

// defaultThreshold is the least similarity to a baseline that holds.
const defaultThreshold = 0.75

// BehaviorOptions are the settings of [BehaviorUnchanged]; nil and the zero value work.
type BehaviorOptions struct {
	_ struct{}
	// Baseline is what the answer is compared with; "" or "auto": a calm answer
	// to the same prompt.
	Baseline string
	// Threshold is the least similarity that holds, itself included, in [0,1];
	// nil: 0.75. With 0 everything holds.
	Threshold *float64
	// Similarity returns how similar two answers are, in [0,1]; nil:
	// [WordSimilarity]. If it returns an error or a number outside, the invariant is
	// undecided. It must be safe for concurrent use.
	Similarity func(ctx context.Context, baseline, answer string) (float64, error)
}

// BehaviorUnchanged holds when the answer is similar to a calm answer to the same
// prompt. The built-in [WordSimilarity] compares words, not meanings; to compare
// meanings, set a Similarity over embeddings. If there is no calm answer, the cell
// is inconclusive.
func BehaviorUnchanged(name string, severity contract.Severity, o *BehaviorOptions) contract.Invariant {
	d := newDraft("BehaviorUnchanged", name, severity)
	d.Needs = contract.NeedBaseline
	if o == nil {
		o = &BehaviorOptions{}
	}
	d.Baseline = o.Baseline
	alike := d.similarity(o.Threshold, o.Similarity, "baseline")
	return d.judge(func(ctx context.Context, o *contract.Observation) error {
		return alike(ctx, o.Baseline, o.Response)
	})
}

// similarity returns a function that returns an error for an answer that is not similar
// to another one, which is called so in messages.
func (d *draft) similarity(
	least *float64, similarity func(ctx context.Context, baseline, answer string) (float64, error), other string,
) func(ctx context.Context, baseline, answer string) error {
	threshold := defaultThreshold
	if least != nil {
		threshold = *least
		d.demand(threshold >= 0 && threshold <= 1, "Threshold", threshold, "a number from 0 to 1")
	}
	if similarity == nil {
		similarity = func(_ context.Context, baseline, answer string) (float64, error) {
			return WordSimilarity(baseline, answer), nil
		}
	}
	return func(ctx context.Context, baseline, answer string) error {
		alike, err := similarity(ctx, baseline, answer)
		if err != nil {
			return undecided("the similarity to the %s could not be had: %w", other, err)
		}
		if !(alike >= 0 && alike <= 1) {
			return undecided("the similarity to the %s is %v; allowed: a number from 0 to 1", other, alike)
		}
		if alike < threshold {
			return fmt.Errorf("the answer is %.3f like the %s, at least %v is expected: %s, %s %s",
				alike, other, threshold, text.QuoteShort(answer), other, text.QuoteShort(baseline))
		}
		return nil
	}
}

// maxMiddle is the largest number of words of each text that are compared in full,
// without the beginning and end that both have in common. The comparison takes
// longest for two texts of that many words with none in common.
const maxMiddle = 2000

// WordSimilarity returns how similar two texts are, from 0, nothing in common, to 1:
//
//	2 × words in common, in order / words of both texts
//
// where the words in common are those that a shortest difference leaves unchanged
// (Myers, "An O(ND) Difference Algorithm and Its Variations", 1986). It is the Dice
// coefficient over a longest common subsequence: symmetric, and 1 for the same words
// in the same order.
//
// A word is a run of letters and digits, in any case. Each symbol, such as $ or an
// emoji, is a word. So is each letter of scripts that do not separate words with
// spaces (Han, Hiragana, Katakana, Thai, Lao, Khmer, Myanmar). Punctuation and white
// space are not compared. For texts without any word the result is 1 if they are equal
// but for white space around them, else 0.
//
// The result depends on the texts alone: there is no time limit. Instead, the beginning
// and the end that both texts have in common are set aside, and of the rest only the
// first 2,000 words of each are compared. Later words count as different, so for longer
// texts the result is a lower bound. That bounds the time, to some tens of milliseconds,
// and the memory.
//
// It compares words, not meanings: one more "not" hardly lowers the result, and a
// paraphrase lowers it much. docs/reference/invariants.md has measured examples.
func WordSimilarity(a, b string) float64 {
	x, y := splitWords(a), splitWords(b)
	total := len(x) + len(y)
	if total == 0 {
		if strings.TrimSpace(a) == strings.TrimSpace(b) {
			return 1
		}
		return 0
	}
	return 2 * float64(countCommon(x, y)) / float64(total)
}

// countCommon counts the words that a shortest difference leaves unchanged.
func countCommon(x, y []string) int {
	start := 0
	for start < len(x) && start < len(y) && x[start] == y[start] {
		start++
	}
	x, y = x[start:], y[start:]
	end := 0
	for end < len(x) && end < len(y) && x[len(x)-1-end] == y[len(y)-1-end] {
		end++
	}
	x, y = x[:len(x)-end], y[:len(y)-end]
	return start + countMiddle(x[:min(len(x), maxMiddle)], y[:min(len(y), maxMiddle)]) + end
}

// countMiddle does so for texts that neither begin nor end alike.
func countMiddle(x, y []string) int {
	if len(x) == 0 || len(y) == 0 {
		return 0
	}
	letters := make(map[string]rune)
	differ := diffmatchpatch.New()
	differ.DiffTimeout = 0 // none; it also turns off a shortcut that is not always shortest
	equal := 0
	for _, part := range differ.DiffMainRunes(spell(letters, x), spell(letters, y), false) {
		if part.Type == diffmatchpatch.DiffEqual {
			equal += len([]rune(part.Text))
		}
	}
	return equal
}

// spell writes words as characters, one for each different word, for a library that
// compares characters. There are at most twice maxMiddle different words, far fewer
// than there are characters below the surrogates.
func spell(letters map[string]rune, text []string) []rune {
	spelled := make([]rune, len(text))
	for i, word := range text {
		letter, known := letters[word]
		if !known {
			letter = rune(len(letters) + 1)
			letters[word] = letter
		}
		spelled[i] = letter
	}
	return spelled
}

// splitWords splits s for comparison; see [WordSimilarity].
func splitWords(s string) []string {
	var list []string
	start := -1 // of the present word; -1: there is none
	folded := text.Fold(s)
	for i, r := range folded {
		inWord := unicode.In(r, unicode.L, unicode.N, unicode.M)
		alone := unicode.IsSymbol(r) || inWord && unicode.In(r, unspaced...)
		if start >= 0 && (alone || !inWord) {
			list, start = append(list, folded[start:i]), -1
		}
		switch {
		case alone:
			list = append(list, string(r))
		case inWord && start < 0:
			start = i
		}
	}
	if start >= 0 {
		list = append(list, folded[start:])
	}
	return list
}

// unspaced are the scripts that do not separate words with spaces.
var unspaced = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

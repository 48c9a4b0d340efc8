package mutate_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/contract/mutate"
)

// What prompts are made of: words of several scripts, and parts that a check may look for.
var (
	plain = []string{"please", "Refund", "the", "order", "for", "delete", "about", "it's", "well-known", "bitte", "größe", "Überweisung",
		"élève", "reembolsa", "señor", "верни", "деньги", "заказ", "επιστροφή", "退款", "订单", "ありがとう", "คืนเงิน", "धन्यवाद",
		"مرحبا", "שלום", "naïve", "e\u0301te\u0301", "х", "a"}
	parts = []string{"1042", "R-2", "3.50", "€5", "$1,299.99", "order_id", "orderId", "ADA7", "#42", "@ada", "ada@example.com",
		"https://example.com/a?b=c", "example.com", "/var/log/x", "C:\\temp", `"forty two"`, "“zwei Wörter”", "„drei“", "«un deux»",
		"「二つ」", "`rm -rf`", "```\ngo vet\n```", "{\"a\": 1}", "<b>", "x=y", "१२", "٣", "v1.2.3", "+49-30-123", "'sold out'",
		"-5", "−5", "–7", "-$5", ".5", "-.5", "三百二十", "〇", "壹仟", "Ⅳ", "½", "௧௨", "5 - 3"}
	between = []string{" ", " ", " ", ", ", ". ", "; ", "! ", "\n", " (", ") ", "  ", ": "}
)

// generated draws a prompt, and returns the parts that must stay, in order.
func generated(t *rapid.T) (prompt string, keep []string) {
	var b strings.Builder
	for i := range rapid.IntRange(1, 12).Draw(t, "n") {
		if i > 0 {
			b.WriteString(rapid.SampledFrom(between).Draw(t, "between"))
		}
		if rapid.Bool().Draw(t, "part") {
			part := rapid.SampledFrom(parts).Draw(t, "which")
			keep = append(keep, part)
			b.WriteString(part)
		} else {
			b.WriteString(rapid.SampledFrom(plain).Draw(t, "word"))
		}
	}
	return b.String(), keep
}

// inOrder reports whether a text has the parts, one behind the other.
func inOrder(text string, parts []string) bool {
	for _, part := range parts {
		n := strings.Index(text, part)
		if n < 0 {
			return false
		}
		text = text[n+len(part):]
	}
	return true
}

// original undoes kinds that encode the whole text; ok is false for the others.
func original(t require.TestingT, kind, text string) (string, bool) {
	_, code, _ := strings.Cut(text, "what it says: ")
	switch kind {
	case "encode.base64":
		s, err := base64.StdEncoding.DecodeString(code)
		require.NoError(t, err)
		return string(s), true
	case "encode.hex":
		s, err := hex.DecodeString(code)
		require.NoError(t, err)
		return string(s), true
	case "encode.url":
		s, err := url.PathUnescape(code)
		require.NoError(t, err)
		return s, true
	case "json":
		var doc any
		require.NoError(t, json.Unmarshal([]byte(text), &doc))
		for _, s := range texts(doc) {
			if s != "message" && s != "user" && s != "prompt" {
				return s, true
			}
		}
	case "zero_width":
		return strings.ReplaceAll(text, "\u200b", ""), true
	case "fullwidth":
		return narrow(text), true
	}
	return "", false
}

// TestSameLeavesAloneWhatChecksLookFor, in prompts of several scripts; and what encodes the
// text gives it back.
func TestSameLeavesAloneWhatChecksLookFor(t *testing.T) {
	var same []string
	for _, k := range mutate.Kinds() {
		if k.Intent == mutate.Same {
			same = append(same, k.Name)
		}
	}
	encoded := []string{"encode.base64", "encode.hex", "encode.url", "json"}
	rapid.Check(t, func(t *rapid.T) {
		prompt, keep := generated(t)
		set, err := mutate.New(&mutate.Options{Kinds: same, Seed: rapid.Uint64().Draw(t, "seed"), Variants: 2,
			Strength: rapid.SampledFrom([]float64{0, .1, 1}).Draw(t, "strength")})
		require.NoError(t, err)
		scenarios, _, err := set.Scenarios(context.Background(), []string{prompt})
		require.NoError(t, err)
		for _, s := range scenarios {
			kind := s.Name[:strings.LastIndexByte(s.Name, '-')]
			text := s.Rewrite(prompt)
			if before, ok := original(t, kind, text); ok {
				require.Equal(t, prompt, before, s.Name)
			}
			if !slices.Contains(encoded, kind) {
				require.True(t, inOrder(text, keep), "%s lacks one of %q: %q", s.Name, keep, text)
			}
		}
	})
}

// TestNames: capitalised words within a sentence stay; at its beginning they are words.
func TestNames(t *testing.T) {
	assert.Equal(t, []string{"TELL Ada Lovelace. ALSO WRITE TO Bob AT ONCE"},
		made(t, &mutate.Options{Kinds: []string{"upper"}}, "tell Ada Lovelace. Also write to Bob at once"))
	assert.Equal(t, []string{"send the ETA and the SKU, asap"}, made(t, &mutate.Options{Kinds: []string{"lower"}}, "Send the ETA and the SKU, asap"))
	assert.Equal(t, []string{"send it asap"}, made(t, &mutate.Options{Kinds: []string{"lower"}}, "SEND IT ASAP"),
		"in a text of capitals they are no abbreviations")
}

// TestTextsDependOnNothingElse: neither on the other prompts nor on the other kinds.
func TestTextsDependOnNothingElse(t *testing.T) {
	names := make([]string, 0, 50)
	for _, k := range mutate.Kinds() {
		names = append(names, k.Name)
	}
	rapid.Check(t, func(t *rapid.T) {
		prompt, _ := generated(t)
		kind := rapid.SampledFrom(names).Draw(t, "kind")
		seed := rapid.Uint64().Draw(t, "seed")
		text := func(kinds, prompts []string) string {
			set, err := mutate.New(&mutate.Options{Seed: seed, Kinds: kinds, Variants: rapid.IntRange(1, 3).Draw(t, "variants")})
			require.NoError(t, err)
			scenarios, _, err := set.Scenarios(context.Background(), prompts)
			require.NoError(t, err)
			for _, s := range scenarios {
				if s.Name == kind+"-1" {
					return s.Rewrite(prompt)
				}
			}
			t.Fatalf("no scenario %s-1", kind)
			return ""
		}
		alone := text([]string{kind}, []string{prompt})
		others := append(rapid.SliceOf(rapid.SampledFrom(names)).Draw(t, "kinds"), kind)
		require.Equal(t, alone, text(others, []string{"another prompt", prompt, "and one more"}))
	})
}

// TestLongPrompts ends soon: what is looked for, and not found, does not make the time grow
// with the square of the length.
func TestLongPrompts(t *testing.T) {
	set, err := mutate.New(&mutate.Options{Kinds: []string{"noise", "paraphrase", "homoglyph"}})
	require.NoError(t, err)
	for _, part := range []string{"a", "я", "{", "<a", "'a ", "«", "“", "„", "a-", "a ", "1 ", ". ", "``", "\""} {
		prompt := strings.Repeat(part, 300_000/len(part))
		_, _, err := set.Scenarios(context.Background(), []string{prompt})
		require.NoError(t, err, part)
	}
}

// FuzzScenarios: any text of UTF-8 has texts of UTF-8, and what is listed as unchanged is.
func FuzzScenarios(f *testing.F) {
	f.Add("Please refund order 1042")
	f.Add("`{{[[<<\"'„“«»‘")
	f.Add("a\u0301b 退款1042 \"x")
	f.Fuzz(func(t *testing.T, prompt string) {
		names := []string{}
		for _, k := range mutate.Kinds() {
			names = append(names, k.Name)
		}
		set, err := mutate.New(&mutate.Options{Kinds: names})
		require.NoError(t, err)
		scenarios, unchanged, err := set.Scenarios(context.Background(), []string{prompt})
		if strings.ToValidUTF8(prompt, "") != prompt {
			require.Error(t, err)
			return
		}
		require.NoError(t, err)
		listed := map[string]bool{}
		for _, u := range unchanged {
			listed[u.Scenario] = true
		}
		for _, s := range scenarios {
			text := s.Rewrite(prompt)
			require.Equal(t, strings.ToValidUTF8(text, ""), text, s.Name)
			require.Equal(t, text == prompt, listed[s.Name], s.Name)
		}
	})
}

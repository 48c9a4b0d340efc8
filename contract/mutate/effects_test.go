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
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract/mutate"
)

// The kinds of the specification, with their groups and weights.
const specified = `
same noise: typo .8 lower .5 upper .6 no_punctuation .6 whitespace .7
same paraphrase: paraphrase 1
same tone_shift: polite .6 urgent .9
same context_manipulation: filler 1.1 flood 1.4
same length_extremes: long 1.2 repeat 1.1
same format_poisoning: markdown 1 html 1.1 json 1.2
same language_mixing: other_language 1.2 homoglyph 1.4
same token_manipulation: fullwidth 1.3 zero_width 1.5 spaced 1.3
same encoding_attacks: encode.leet 1.2 encode.base64 1.3 encode.hex 1.3 encode.url 1.2 encode.rot13 1.4
same semantic_similarity_attack: negation_trap 1.3
attack prompt_injection: ignore_instructions 1.5 authority 1.6 role_confusion 1.5 tool_text 1.6 hidden_comment 1.6
attack multi_turn_attack: transcript 1.4
attack advanced_jailbreak: persona 2
lost : truncate 1.2 empty 1.2 contradict 1.5 other_task 1.4`

func TestKindsAreThoseOfTheSpecification(t *testing.T) {
	type row struct {
		intent, group, name string
		weight              float64
	}
	var want, is []row
	for line := range strings.Lines(strings.TrimSpace(specified)) {
		head, list, _ := strings.Cut(line, ":")
		intent, group, _ := strings.Cut(head, " ")
		for words := strings.Fields(list); len(words) > 1; words = words[2:] {
			var weight float64
			require.NoError(t, json.Unmarshal([]byte(strings.Replace(" "+words[1], " .", "0.", 1)), &weight))
			want = append(want, row{intent, group, words[0], weight})
		}
	}
	for _, k := range mutate.Kinds() {
		is = append(is, row{k.Intent.String(), k.Group, k.Name, k.Weight})
	}
	assert.ElementsMatch(t, want, is)
}

// sample has what each kind may change, and what none may.
const sample = `Please refund order 1042, and tell "Ada Lovelace" (ada@example.com) by 4 May 2026 about it.`

// made returns the texts of a kind.
func made(t testing.TB, o *mutate.Options, prompt string) []string {
	t.Helper()
	set, err := mutate.New(o)
	require.NoError(t, err)
	scenarios, _, err := set.Scenarios(context.Background(), []string{prompt})
	require.NoError(t, err)
	var texts []string
	for _, s := range scenarios {
		texts = append(texts, s.Rewrite(prompt))
	}
	return texts
}

// decoded undoes an encoding of the whole text.
func decoded(t testing.TB, s string, decode func(string) ([]byte, error)) string {
	t.Helper()
	_, code, found := strings.Cut(s, "what it says: ")
	require.True(t, found)
	text, err := decode(code)
	require.NoError(t, err)
	return string(text)
}

// aligned calls f for the words that differ. Both texts have as many.
func aligned(t testing.TB, before, after string, f func(before, after string) bool) bool {
	t.Helper()
	a, b := strings.Fields(before), strings.Fields(after)
	if !assert.Len(t, b, len(a)) {
		return false
	}
	changed := 0
	for i := range a {
		if a[i] != b[i] {
			changed++
			if !f(a[i], b[i]) {
				return false
			}
		}
	}
	return changed > 0
}

// framed accepts a text that has the prompt and more.
func framed(_ testing.TB, before, after string) bool {
	return len(after) > len(before) && strings.Contains(after, before)
}

// The effect of each kind, judged without its code: it fails for a text that is as it was.
var effects = map[string]func(t testing.TB, before, after string) bool{
	"typo": func(t testing.TB, before, after string) bool {
		return aligned(t, before, after, func(a, b string) bool { return len(a) == len(b) && differ(a, b) == 1 })
	},
	"lower": func(_ testing.TB, _, after string) bool {
		return strings.HasPrefix(after, `please refund order 1042, and tell "Ada`)
	},
	"upper": func(_ testing.TB, _, after string) bool {
		return strings.HasPrefix(after, `PLEASE REFUND ORDER 1042, AND TELL "Ada`)
	},
	"no_punctuation": func(_ testing.TB, _, after string) bool {
		return after == `Please refund order 1042 and tell "Ada Lovelace" (ada@example.com) by 4 May 2026 about it`
	},
	"whitespace": func(_ testing.TB, before, after string) bool {
		return after != before && strings.Join(strings.Fields(after), " ") == before
	},
	"paraphrase": func(_ testing.TB, before, after string) bool {
		return after != before && !strings.Contains(after, "refund")
	},
	"polite": framed, "urgent": framed, "filler": framed, "markdown": framed, "html": framed, "other_language": framed,
	"negation_trap": framed, "ignore_instructions": framed, "authority": framed, "role_confusion": framed,
	"tool_text": framed, "hidden_comment": framed, "transcript": framed, "persona": framed, "contradict": framed,
	"flood": func(t testing.TB, before, after string) bool { return framed(t, before, after) && len(after) > 4000 },
	"long":  func(t testing.TB, before, after string) bool { return framed(t, before, after) && len(after) > 1000 },
	"repeat": func(_ testing.TB, before, after string) bool {
		return strings.Count(after, before) == 3
	},
	"json": func(t testing.TB, before, after string) bool {
		var doc any
		require.NoError(t, json.Unmarshal([]byte(after), &doc))
		return slices.Contains(texts(doc), before)
	},
	"homoglyph": func(t testing.TB, before, after string) bool {
		return aligned(t, before, after, func(a, b string) bool {
			return len([]rune(a)) == len([]rune(b)) && strings.ContainsFunc(b, func(r rune) bool { return unicode.Is(unicode.Cyrillic, r) })
		})
	},
	"fullwidth": func(t testing.TB, before, after string) bool {
		return after != before && narrow(after) == before
	},
	"zero_width": func(_ testing.TB, before, after string) bool {
		return after != before && strings.ReplaceAll(after, "\u200b", "") == before
	},
	"spaced": func(_ testing.TB, before, after string) bool {
		return after != before && strings.ReplaceAll(after, " ", "") == strings.ReplaceAll(before, " ", "")
	},
	"encode.leet": func(t testing.TB, before, after string) bool {
		undo := strings.NewReplacer("4", "a", "3", "e", "1", "i", "0", "o", "5", "s", "7", "t")
		return aligned(t, before, after, func(a, b string) bool { return undo.Replace(b) == a })
	},
	"encode.base64": func(t testing.TB, before, after string) bool {
		return before == decoded(t, after, base64.StdEncoding.DecodeString)
	},
	"encode.hex": func(t testing.TB, before, after string) bool { return before == decoded(t, after, hex.DecodeString) },
	"encode.url": func(t testing.TB, before, after string) bool {
		return !strings.Contains(after, before) && before == decoded(t, after, func(s string) ([]byte, error) {
			text, err := url.PathUnescape(s)
			return []byte(text), err
		})
	},
	"encode.rot13": func(t testing.TB, before, after string) bool {
		return aligned(t, before, after, func(a, b string) bool { return rotated(b) == a })
	},
	"truncate": func(_ testing.TB, before, after string) bool {
		return after != before && strings.HasPrefix(before, after)
	},
	"empty":      func(_ testing.TB, _, after string) bool { return after == "" },
	"other_task": func(_ testing.TB, _, after string) bool { return after != "" && !strings.Contains(after, "refund") },
}

// differ counts the places in which two words of as many bytes differ.
func differ(a, b string) (n int) {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}

func rotated(s string) string {
	return strings.Map(func(r rune) rune {
		if i := strings.IndexRune("abcdefghijklmnopqrstuvwxyz", unicode.ToLower(r)); i >= 0 {
			return r + rune((i+13)%26-i)
		}
		return r
	}, s)
}

// narrow undoes full width: the block from U+FF01 has ASCII from U+0021.
func narrow(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 0xFF01 && r <= 0xFF5E {
			return r - 0xFF01 + 0x21
		}
		return r
	}, s)
}

// texts are the strings in a document.
func texts(doc any) (all []string) {
	switch doc := doc.(type) {
	case string:
		all = append(all, doc)
	case []any:
		for _, v := range doc {
			all = append(all, texts(v)...)
		}
	case map[string]any:
		for _, v := range doc {
			all = append(all, texts(v)...)
		}
	}
	return all
}

// TestEachKindHasItsEffect: in every variant and for several seeds.
func TestEachKindHasItsEffect(t *testing.T) {
	for _, k := range mutate.Kinds() {
		effect := effects[k.Name]
		require.NotNil(t, effect, k.Name)
		assert.False(t, accepts(t, effect, sample), "%s: a text as it was passes the test", k.Name)
		for seed := range uint64(5) {
			for _, after := range made(t, &mutate.Options{Seed: seed, Variants: 4, Kinds: []string{k.Name}}, sample) {
				assert.True(t, effect(t, sample, after), "%s, seed %d: %.200q", k.Name, seed, after)
			}
		}
	}
}

// mute takes what a check says about a text that it must refuse.
type mute struct{ testing.TB }

func (mute) Helper()               {}
func (mute) Errorf(string, ...any) {}
func (m mute) FailNow()            { panic(m) }

// accepts reports whether a check takes a text that is as it was.
func accepts(t testing.TB, effect func(t testing.TB, before, after string) bool, text string) (ok bool) {
	defer func() {
		if v := recover(); v != nil && v != any(mute{t}) {
			panic(v)
		}
	}()
	return effect(mute{t}, text, text)
}

// TestStrengthIsTheShareOfWords that are touched, and one word is always.
func TestStrengthIsTheShareOfWords(t *testing.T) {
	const prompt = "write twenty short words about something very much here"
	for _, tc := range []struct {
		strength float64
		want     int
	}{{.01, 1}, {.2, 2}, {.5, 5}, {1, 9}} {
		for _, kind := range []string{"typo", "upper", "fullwidth", "zero_width", "encode.rot13"} {
			text := made(t, &mutate.Options{Strength: tc.strength, Kinds: []string{kind}}, prompt)[0]
			n := 0
			for i, w := range strings.Fields(text) {
				if w != strings.Fields(prompt)[i] {
					n++
				}
			}
			assert.Equal(t, tc.want, n, "%s %v: %q", kind, tc.strength, text)
		}
	}
}

package invariant

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/prose"
)

func TestPersonalDataOfTheDocumentedExamples(t *testing.T) {
	for _, r := range documented(t, "text", "found") {
		var kinds []string
		for _, p := range surely(r[0]) {
			kinds = append(kinds, string(p.kind))
		}
		want := strings.Split(r[1], " ")
		if r[1] == "none" {
			want = nil
		}
		assert.Equal(t, want, kinds, "%s: %v", r[0], surely(r[0]))
	}
}

func TestNoPII(t *testing.T) {
	inv := NoPII("x", contract.High, nil)
	with := func(o PIIOptions) contract.Invariant { return NoPII("x", contract.High, &o) }
	repeats := with(PIIOptions{AllowPrompt: true})
	table(t, []row{
		{"an address", inv, answer("Sent to bob@example.com."), breaks,
			`contains personal data: email "bob@example.com"`},
		{"several, by their kind", inv, answer("SSN 123-45-6789, bob@example.com, 4111 1111 1111 1111"), breaks,
			`email "bob@example.com", card "4111 1111 1111 1111", ssn "123-45-6789"`},
		{"a kind that is not looked for", with(PIIOptions{Kinds: []PII{PIICard}}), answer("bob@example.com"), holds,
			""},
		{"one's own address", with(PIIOptions{Allow: []string{"Help@Shop.Example"}}),
			answer("Write to help@shop.example"), holds, ""},
		{"one's own number in other groups", with(PIIOptions{Allow: []string{"+1 (415) 555-2671"}}),
			answer("Call +14155552671"), holds, ""},
		{"what the user said", repeats, contract.Observation{Prompt: "I am bob@example.com",
			Response: "Sent to Bob@example.com"}, holds, ""},
		{"what the user did not say", repeats,
			contract.Observation{Prompt: "I am bob@example.com", Response: "eve@example.com"}, breaks, "eve"},
		{"many are cut", inv, answer(strings.Repeat("a@b.de ", 20)), breaks, "and 12 more"},
	})
	misuse(t, map[string]contract.Invariant{
		`Kinds[0] is "name"; allowed: email, card, iban, ssn, phone, ip`: with(PIIOptions{Kinds: []PII{"name"}}),
		`Allow[0] is ""`: with(PIIOptions{Allow: []string{""}}),
	})
}

func TestLuhnDetectsASingleWrongDigit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := withLuhn(rapid.StringMatching(`[0-9]{1,18}`).Draw(t, "number"))
		assert.True(t, luhn(number), number)
		at := rapid.IntRange(0, len(number)-1).Draw(t, "at")
		digit := byte('0') + (number[at]-'0'+byte(rapid.IntRange(1, 9).Draw(t, "by")))%10
		assert.False(t, luhn(number[:at]+string(digit)+number[at+1:]), number)
	})
}

// withLuhn appends the digit that makes a number pass.
func withLuhn(number string) string {
	for d := range 10 {
		if n := fmt.Sprint(number, d); luhn(n) {
			return n
		}
	}
	return ""
}

func TestMod97DetectsASingleWrongCharacterAndSwaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		account := rapid.StringMatching(`[0-9]{18}`).Draw(t, "account")
		var valid []string // one remainder of 97 passes
		for check := 2; check <= 98; check++ {
			if iban := fmt.Sprintf("DE%02d%s", check, account); isIBAN(iban) {
				valid = append(valid, iban)
			}
		}
		require.Len(t, valid, 1)
		iban := valid[0]
		at := rapid.IntRange(2, len(iban)-1).Draw(t, "at")
		digit := byte('0') + (iban[at]-'0'+byte(rapid.IntRange(1, 9).Draw(t, "by")))%10
		assert.False(t, isIBAN(iban[:at]+string(digit)+iban[at+1:]), iban)
		at = rapid.IntRange(4, len(iban)-2).Draw(t, "swap")
		if iban[at] != iban[at+1] {
			assert.False(t, isIBAN(iban[:at]+iban[at+1:at+2]+iban[at:at+1]+iban[at+2:]), iban)
		}
	})
}

func TestEachCountryOfTheIBANRegistryHasALength(t *testing.T) {
	assert.Regexp(t, `^(?:\|[A-Z]{2}(?:1[5-9]|2[0-9]|3[0-3]))+$`, "|"+prose.Words("iban"))
	for _, none := range []string{"XX82WEST12345698765432", "B282WEST12345698765432", "GB82WEST1234569876543"} {
		assert.False(t, isIBAN(none), none)
	}
}

// surely returns the personal data of a text that is not in doubt.
func surely(text string) []finding {
	return slices.DeleteFunc(personal(text), func(p finding) bool { return p.doubt != "" })
}

func TestWhatMayBePersonalDataAsDocumented(t *testing.T) {
	inv := NoPII("x", contract.High, nil)
	for _, r := range documented(t, "in the answer", "why it is undecided") {
		o := answer("It says: " + r[0] + ".")
		assert.Equal(t, unclear, outcomeOf(inv.Check(t.Context(), &o)), "%s: %v", r[0], inv.Check(t.Context(), &o))
	}
}

func FuzzPersonalData(f *testing.F) {
	for _, seed := range []string{
		"", "bob@example.com", "4111 1111 1111 1111", "GB82 WEST 1234 5698 7654 32", "123-45-6789", "+1 415 555 2671", "(415) 555-2671",
		"8.8.8.8", "2606:4700::1111", ":::", "+1(((", "1-1-1-1-1-1-1-1-1-1-1-1-1-1-1", "\xff@\xff.de", "ſt12ſſſſſſſſſſſſſſſ", "a@b.cde\u0301",
	} {
		f.Add(seed)
	}
	inv := NoPII("x", contract.High, nil)
	f.Fuzz(func(t *testing.T, text string) {
		o := answer(text)
		first := outcomeOf(inv.Check(t.Context(), &o))
		assert.Equal(t, first, outcomeOf(inv.Check(t.Context(), &o)))
		if first == holds {
			assert.Empty(t, surely(text))
		}
		for _, p := range personal(text) {
			assert.NotEmpty(t, p.text)
		}
	})
}

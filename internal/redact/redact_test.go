package redact_test

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/internal/redact"
)

func TestKnownSecrets(t *testing.T) {
	r := redact.New([]string{"s3cret/+é<", "overlap-ab", "ab-tail", "", " spaced "}, 0)
	in64 := base64.StdEncoding.EncodeToString([]byte("user:s3cret/+é<"))
	for text, want := range map[string]string{
		"verbatim s3cret/+é<.":                      "verbatim [redacted].",
		"two: overlap-ab-tail":                      "two: [redacted]",
		"spaced, or not:  spaced ":                  "[redacted], or not: [redacted]",
		"?x=" + url.QueryEscape("s3cret/+é<"):       "?x=[redacted]",
		`{"x":"s3cret/+é\u003c"}`:                   `{"x":"[redacted]"}`,
		strconv.QuoteToASCII("s3cret/+é<"):          `"[redacted]"`,
		"Basic " + in64:                             "Basic [redacted]" + strings.Repeat("=", strings.Count(in64, "=")),
		"https://x/" + strings.TrimRight(in64, "="): "https:[redacted]", // which part of the run it is, is not known
		"[redacted] stays":                          "[redacted] stays",
		"nothing":                                   "nothing",
		"password=hunter2":                          "password=hunter2", // no patterns
	} {
		assert.Equal(t, want, r.Text(text), text)
	}
	assert.Equal(t, "x", redact.New(nil, 0).Text("x"))
	assert.Equal(t, redact.Marker, redact.New([]string{"c"}, redact.Patterns).Text(redact.Marker))
}

// Whatever stands around it, a known secret is gone in each of its spellings, and a
// second pass finds nothing more.
func TestTheLawsOfKnownSecrets(t *testing.T) {
	spellings := []func(string) string{
		func(s string) string { return s },
		url.QueryEscape, url.PathEscape, strconv.Quote, strconv.QuoteToASCII,
		func(s string) string { b, _ := json.Marshal(s); return string(b) },
		func(s string) string { return base64.StdEncoding.EncodeToString([]byte("ann:" + s + ":x")) },
		func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
	}
	around := rapid.StringOfN(rapid.SampledFrom([]rune("ab =:\"'{}[],;\\\n\t%3D&éſ.redacted")), 0, 30, -1)
	rapid.Check(t, func(rt *rapid.T) {
		secret := rapid.StringOfN(rapid.SampledFrom([]rune("aZ09 /+&\"\\é<-_=%")), 5, 20, -1).Draw(rt, "secret")
		if s := strings.TrimSpace(secret); len(s) < 5 || strings.Contains(redact.Marker, s) {
			return
		}
		how := rapid.IntRange(0, len(spellings)-1).Draw(rt, "spelling")
		spelt := spellings[how](secret)
		rules := rapid.SampledFrom([]redact.Rules{0, redact.Patterns}).Draw(rt, "rules")
		r := redact.New([]string{secret}, rules)
		got := r.Text(around.Draw(rt, "before") + " " + spelt + " " + around.Draw(rt, "after"))
		if strings.Contains(got, spelt) || strings.Contains(got, secret) {
			rt.Fatalf("%q leaks into %q", spelt, got)
		}
		if again := r.Text(got); again != got {
			rt.Fatalf("not idempotent: %q, then %q", got, again)
		}
	})
}

func FuzzKnown(f *testing.F) {
	f.Add("secret", "a secret here")
	f.Add("red", "[redacted]")
	f.Add("a", "YWFh aaa")
	f.Fuzz(func(t *testing.T, secret, s string) {
		r := redact.New([]string{secret}, 0)
		got := r.Text(s)
		if again := r.Text(got); again != got {
			t.Fatalf("not idempotent: %q, then %q, then %q", s, got, again)
		}
		if trimmed := strings.TrimSpace(secret); trimmed != "" && strings.Contains(strings.ReplaceAll(got, redact.Marker, "\x00"), trimmed) && !strings.Contains(trimmed, "\x00") {
			t.Fatalf("%q is left in %q", secret, got)
		}
	})
}

func TestAddress(t *testing.T) {
	for text, want := range map[string]string{
		"ftp://ann:hunter2@host/a":        "ftp://[redacted]@host/a",
		"ftp://tok@host":                  "ftp://[redacted]@host",
		"http://ann:hun/ter@2@host:x/a":   "http://[redacted]@host:x/a",
		"ann:hunter2@host":                "[redacted]@host",
		"//ann@host":                      "//[redacted]@host",
		`"://a b:hunter2@host"`:           `"://[redacted]@host"`,
		"ftp://host/a?api_key=abc&page=7": "ftp://host/a?api_key=[redacted]&page=7",
		"ftp://host/a":                    "ftp://host/a",
		"http://@host":                    "http://@host",
		"":                                "",
	} {
		assert.Equal(t, want, redact.Address(text))
		assert.Equal(t, want, redact.Address(want), "once is enough")
	}
}

// Most texts hold no secret: they cost a search.
func TestATextWithoutSecretsIsNotCopied(t *testing.T) {
	r := redact.New(nil, redact.Patterns)
	text := strings.Repeat("no rooms left on floor 3, user=ann; ", 30)
	assert.Zero(t, testing.AllocsPerRun(100, func() { r.Text(text) }))
}

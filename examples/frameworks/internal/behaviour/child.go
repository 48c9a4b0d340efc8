package behaviour

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// resultFile is the variable that tells a process that it is the child of a test, and where its result goes.
const resultFile = "SHAKEDOWN_BEHAVIOUR_RESULT"

// childTime is the real time that a child has: one that takes it computes for ever.
const childTime = 5 * time.Minute

// inChild runs make in a process of its own, the test binary with this test alone, and decodes what it gives
// done. A process that ends before is reported by the first line of its panic and what started the goroutine; "" it did not.
func inChild(t *testing.T, make func(t *testing.T, done func(any)), result any) (died string) {
	t.Helper()
	if path := os.Getenv(resultFile); path != "" {
		make(t, func(v any) {
			doc, err := json.Marshal(v)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, doc, 0o600))
			os.Exit(0) // a bubble with goroutines in it would fail at its end
		})
	}
	path := filepath.Join(t.TempDir(), "result.json")
	ctx, cancel := context.WithTimeout(context.Background(), childTime)
	defer cancel()
	child := exec.CommandContext(ctx, os.Args[0], "-test.run="+pattern(t.Name()), "-test.count=1", "-test.timeout="+childTime.String())
	child.Env = append(os.Environ(), resultFile+"="+path)
	out, err := child.CombinedOutput()
	doc, missing := os.ReadFile(path)
	if missing == nil {
		require.NoError(t, json.Unmarshal(doc, result))
		return ""
	}
	require.Error(t, err, "the child left no result:\n%s", out)
	died = deathOf(string(out))
	require.NotEmpty(t, died, "the child failed:\n%s", out)
	return died
}

// pattern is what -run needs to run one test.
func pattern(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}

var (
	panicPattern = regexp.MustCompile(`(?m)^(?:panic|fatal error): (.*)$`)
	goPattern    = regexp.MustCompile(`(?m)^created by (\S+)`)
)

// deathOf is why a process ended, by its last words.
func deathOf(out string) string {
	at := panicPattern.FindStringSubmatchIndex(out)
	if at == nil {
		return ""
	}
	text, _, _ := strings.Cut(out[at[2]:at[3]], " [recovered")
	trace, _, _ := strings.Cut(out[at[1]:], "\n\ngoroutine ") // that of the goroutine that panicked comes first
	if _, first, ok := strings.Cut(out[at[1]:], "\n\ngoroutine "); ok {
		trace, _, _ = strings.Cut(first, "\n\n")
	}
	if m := goPattern.FindStringSubmatch(trace); m != nil {
		text += ", on a goroutine of " + m[1]
	}
	return text
}

// observe runs a trial in a child, in a bubble if the framework can.
func (f *Framework) observe(t *testing.T, try *trial) (s seen) {
	t.Helper()
	s.Died = inChild(t, func(t *testing.T, done func(any)) {
		ask := func(t *testing.T) {
			got, err := f.ask(try)
			require.NoError(t, err)
			done(got)
		}
		if f.RealTime != "" {
			ask(t)
			return
		}
		synctest.Test(t, ask)
	}, &s)
	return s
}

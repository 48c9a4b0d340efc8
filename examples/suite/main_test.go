package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The exit status is the verdict, of an agent that answers so or otherwise.
func TestExitStatus(t *testing.T) {
	example, err := os.ReadFile("contract.yaml")
	require.NoError(t, err)
	for _, row := range []struct {
		why, answer string
		change      func(string) string
		want        int
		says        string
	}{
		{"the agent keeps the contract", "Order 1042 is on its way.", nil, 0,
			"\nmutation  1.000 of 1, weighted by kind: Σ w·h ÷ Σ w = 4.7 ÷ 4.7; held 7 of 7,"},
		{"the parts that there are, and those that there are not", "Order 1042 is on its way.", nil, 0,
			"mutation 100.00 × 0.3636 + contract 100.00 × 0.6364; the contract\n          passed; did not run: chaos, replay; weights were scaled up"},
		{"a critical invariant broke", "traceback (most recent call last)", nil, 1, "FAIL"},
		{"nothing was decided", "Order 1042", func(s string) string {
			return strings.ReplaceAll(s, "type: excludes_pattern\n      patterns: [traceback, \"panic:\"]", "type: refusal_check")
		}, 2, "INCONCLUSIVE"},
		{"the file is wrong", "", func(s string) string { return strings.Replace(s, "severity:", "severty:", 1) }, 3,
			"severty: unknown field"},
	} {
		t.Run(row.why, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprintf(w, `{"output": %q}`, row.answer)
			}))
			defer server.Close()
			text := strings.ReplaceAll(string(example), "http://localhost:8080", server.URL)
			if row.change != nil {
				text = row.change(text)
			}
			path := filepath.Join(t.TempDir(), "contract.yaml")
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
			var out bytes.Buffer
			assert.Equal(t, row.want, run(t.Context(), []string{"-f", path}, &out, &out), out.String())
			assert.Contains(t, out.String(), row.says)
		})
	}
	assert.Equal(t, couldNotRun, run(t.Context(), nil, io.Discard, io.Discard), "no file")
}

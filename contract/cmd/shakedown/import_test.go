package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/internal/golden"
)

const incident = "../../../examples/regression/testdata/incident.otlp.json"

func TestImport(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "incident.json"), read(t, incident))
	status, out, problems := typed(t, dir, "import {}/incident.json --effect payments.refund --into {}/incidents")
	require.Zero(t, status, problems)
	golden.Equal(t, "import.txt", []byte(strings.ReplaceAll(out, dir, "DIR")))
	golden.Equal(t, "incidents_test.txt", []byte(read(t, filepath.Join(dir, "incidents", "incidents_test.go"))))
	session := filepath.Join(dir, "incidents", incidents, "otlp-4bf92f35.json")
	mended := strings.Replace(read(t, session), `"effect": "unknown"`, `"effect": "done"`, 1)
	require.NotEqual(t, mended, read(t, session))
	write(t, session, mended)
	status, out, _ = typed(t, dir, "import {}/incident.json --effect payments.refund --into {}/incidents")
	assert.Zero(t, status)
	assert.Equal(t, 2, strings.Count(out, "is there, and stays as it is"))
	assert.Equal(t, mended, read(t, session))
}

func TestImportedWithoutAFolder(t *testing.T) {
	for _, row := range []struct {
		reason, trace, flags string
		want                 []string
	}{
		{"what a transcript lacks", `{"messages": [{"role": "user", "content": "Refund 1042"}, {"role": "assistant", "tool_calls": [
			{"id": "1", "function": {"name": "refund", "arguments": "{\"order\": 1042}"}}]}]}`, "",
			[]string{"chat, 1 call, recorded at an unknown time", "missing [result end", "prompt      Refund 1042", "nothing is written"}},
		{"a dialect that is asked for", `{"messages": [{"role": "user", "content": "Refund 1042"}]}`, "--dialect chat",
			[]string{"chat, 0 calls"}},
		{"what it says has no effect here", `{"messages": [{"role": "user", "content": "\u001b[31m\n::error::x"}]}`, "",
			[]string{`prompt      \x1b[31m\n::error::x`}},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "trace.json"), row.trace)
		status, out, problems := typed(t, dir, "import {}/trace.json "+row.flags)
		assert.Zero(t, status, "%s\n%s", row.reason, problems)
		for _, part := range row.want {
			assert.Contains(t, out+problems, part, row.reason)
		}
		assert.NotContains(t, out, "\x1b", row.reason)
		files, err := os.ReadDir(dir)
		require.NoError(t, err)
		assert.Len(t, files, 1, "nothing is written")
	}
}

// The test that is written compiles and runs in a user's module, beside a package of the user's: it is undecided until
// somebody says what the call that timed out did, and then it fails.
func TestTheWrittenTestRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles a module")
	}
	dir := moduleOfAUser(t)
	write(t, filepath.Join(dir, "incident.json"), read(t, incident))
	holes := `{"messages": [{"role": "user", "content": "Refund 1042"}, {"role": "assistant", "tool_calls": [
		{"id": "1", "function": {"name": "refund", "arguments": "{\"order\": 1042}"}}]}]}`
	write(t, filepath.Join(dir, "holes.json"), holes)
	lost := `{"messages": [{"role": "user", "content": "Refund 1042"}, {"role": "tool", "tool_call_id": "1", "content": "refunded"},
		{"role": "assistant", "content": "Done."}]}`
	write(t, filepath.Join(dir, "lost.json"), lost)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "desk"), 0o700))
	write(t, filepath.Join(dir, "desk", "desk.go"), "package desk\n")
	for _, line := range []string{"import {}/incident.json --effect payments.refund --into {}/desk", "import {}/incident.json --into {}/plain",
		"import {}/holes.json --into {}/holes", "import {}/lost.json --into {}/lost"} {
		status, _, problems := typed(t, dir, line)
		require.Zero(t, status, problems)
	}
	assert.Contains(t, read(t, filepath.Join(dir, "desk", "incidents_test.go")), "package desk_test\n")
	out, _ := test(t, dir, "./...")
	assert.NotContains(t, out, "build failed")
	assert.Contains(t, out, "the record of chat-1 lacks 1 of its calls", "an agent that is not known whole holds nothing")
	assert.Contains(t, out, "nobody knows whether call 3 (payments.refund) did its work", "the incident is not decided")

	session := filepath.Join(dir, "desk", incidents, "otlp-4bf92f35.json")
	write(t, session, strings.Replace(read(t, session), `"effect": "unknown"`, `"effect": "done"`, 1))
	out, err := test(t, dir, "./desk")
	require.Error(t, err, out)
	assert.Contains(t, out, "--- FAIL: TestIncidents/otlp-4bf92f35/once/1")
	assert.Contains(t, out, "FAIL critical invariant \"once\" broke in scenario \"otlp-4bf92f35\"")
}

// moduleOfAUser makes a module that requires this one, as it is here.
func moduleOfAUser(t *testing.T) string {
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	dir := t.TempDir()
	const ours = "github.com/shakedown-go/shakedown"
	text := strings.Replace(read(t, filepath.Join(root, "go.mod")), "module "+ours+"\n", "module example.com/desk\n", 1)
	write(t, filepath.Join(dir, "go.mod"), text+"\nrequire "+ours+" v0.0.0\n\nreplace "+ours+" => "+filepath.ToSlash(root)+"\n")
	write(t, filepath.Join(dir, "go.sum"), read(t, filepath.Join(root, "go.sum")))
	return dir
}

func test(t *testing.T, dir, packages string) (string, error) {
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", packages)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod -trimpath", "GOPROXY=off", "SHAKEDOWN_FILE=", "SHAKEDOWN_REPORTS=")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestTape(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.json"), `{"format": "shakedown/cassette", "version": 1, "exchanges": [
  {"cell": "calm/1",
   "request": {"method": "POST", "url": "https://api.example.com/chat", "body": {"messages": [{"content": "password: hunter22"}]}},
   "response": {"status": 200, "header": {"Content-Type": "application/json"}, "body": {"id": 1}}},
  {"request": {"method": "GET", "url": "https://api.example.com/orders?code=abcdef123456"},
   "response": {"status": 404, "text": "password=hunter22"}}]}`)
	status, out, problems := typed(t, dir, "tape {}/a.json")
	assert.Zero(t, status, problems)
	assert.Equal(t, `1 calm/1: POST https://api.example.com/chat, status 200, 47 bytes asked, 8 answered
    a secret? request at /messages/0/content
2 no cell: GET https://api.example.com/orders?code=abcdef123456, status 404, 0 bytes asked, 17 answered
    a secret? url
    a secret? answer

2 exchanges, 3 places where a secret may be
`, out)
	assert.NotContains(t, out, "hunter22")
}

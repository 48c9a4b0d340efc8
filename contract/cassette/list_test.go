package cassette_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract/cassette"
)

func TestList(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"format": "shakedown/cassette", "version": 1, "exchanges": [
  {"cell": "calm/1", "lane": "mail",
   "request": {"method": "POST", "url": "https://example.com/chat", "body": {"a": ["x", "password: hunter22"], "b": "token=abcdefgh"}},
   "response": {"status": 200, "header": {"Content-Type": "application/json"}, "body": {"password": "[redacted]"}}},
  {"request": {"like": 1},
   "response": {"status": 200, "header": {"Content-Type": "text/event-stream"}, "events": [{"data": {"say": "my passwd=hunter22"}}]}},
  {"request": {"method": "GET", "url": "https://example.com/orders?code=abcdef123456"}, "response": {"status": 204}}]}`), 0o600))
	all, err := cassette.List(path)
	require.NoError(t, err)
	assert.Equal(t, []cassette.Entry{
		{Cell: "calm/1", Lane: "mail", Method: "POST", URL: "https://example.com/chat", Status: 200, Asked: 53, Answered: 25,
			Suspects: []string{"request at /a/1"}}, // what is redacted already is no suspect
		{Method: "POST", URL: "https://example.com/chat", Status: 200, Asked: 53, Answered: 36,
			Suspects: []string{"request at /a/1", "answer"}},
		{Method: "GET", URL: "https://example.com/orders?code=abcdef123456", Status: 204, Suspects: []string{"url"}},
	}, all)

	_, err = cassette.List(path + ".none")
	assert.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, os.WriteFile(path, []byte(`{"format": "shakedown/cassette"}`), 0o600))
	_, err = cassette.List(path)
	assert.ErrorAs(t, err, new(*cassette.FieldError))
}

package auditlog

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRead(t *testing.T) {
	for text, want := range map[string][2]int{ // lines, torn
		"":                                {0, 0},
		"{\"a\":1}\n{\"a\":2}\n":          {2, 0},
		"{\"a\":1}\n{\"a\":2}":            {2, 0}, // only the end of the line is missing
		"{\"a\":1}\n{\"a\":":              {1, 1},
		"{\"a\":1}\n{\"a\":\n{\"a\":3}\n": {2, 1},
		"\n\n{\"a\":1}\n":                 {1, 0},
		"7\nnull\n[]\n":                   {0, 3},
	} {
		log, err := Read(strings.NewReader(text))
		require.NoError(t, err)
		assert.Equal(t, want, [2]int{len(log.Lines), log.Torn}, "%q", text)
	}
	_, err := Read(strings.NewReader(strings.Repeat("x", maxLine+1)))
	assert.ErrorContains(t, err, "too long")
}

// Cut off at any byte, a file is read up to there, and the next process begins
// a line of its own.
func TestAFileCutOffAnywhere(t *testing.T) {
	whole := "{\"n\":1}\n{\"n\":2}\n"
	for cut := range len(whole) + 1 {
		path := filepath.Join(t.TempDir(), "audit")
		require.NoError(t, os.WriteFile(path, []byte(whole[:cut]), 0o600))
		f, err := Open(path)
		require.NoError(t, err)
		_, err = f.WriteString("{\"n\":3}\n")
		require.NoError(t, err)
		require.NoError(t, f.Close())
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		log, err := Read(bytes.NewReader(text))
		require.NoError(t, err)
		assert.LessOrEqual(t, log.Torn, 1, cut)
		assert.Equal(t, 3.0, log.Lines[len(log.Lines)-1]["n"], "cut at %d", cut)
		assert.Len(t, log.Lines, 1+strings.Count(whole[:cut]+"\n", "}\n"), "cut at %d", cut)
	}
	_, err := Open(t.TempDir())
	assert.Error(t, err)
}

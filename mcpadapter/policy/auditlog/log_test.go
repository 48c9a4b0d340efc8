package auditlog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Wherever a file was cut off, the next process begins a line of its own.
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
		before := whole[:cut]
		if before != "" && !strings.HasSuffix(before, "\n") {
			before += "\n"
		}
		assert.Equal(t, before+"{\"n\":3}\n", string(text), "cut at %d", cut)
	}
	_, err := Open(t.TempDir())
	assert.Error(t, err)
}

//go:build unix

package durable

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A named pipe in the place of the copy of a damaged journal would hang the start.
func TestAPipeInPlaceOfTheTornJournal(t *testing.T) {
	dir := directory(t)
	require.NoError(t, dir.WriteFile("journal", []byte("junk"), 0o600))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir.Name(), "journal.torn"), 0o600))
	j, _, torn, err := OpenJournal(OS{}, dir, "journal")
	require.NoError(t, err)
	t.Cleanup(func() { _ = j.Close() })
	assert.Equal(t, 4, torn)
	info, err := os.Lstat(filepath.Join(dir.Name(), "journal.torn"))
	require.NoError(t, err)
	assert.True(t, info.Mode().IsRegular())
	text, err := dir.ReadFile("journal.torn")
	require.NoError(t, err)
	assert.Equal(t, "junk", string(text))
}

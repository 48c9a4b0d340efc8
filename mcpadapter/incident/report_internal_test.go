//go:build unix

package incident

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAPipeThatCameLate stands where a file was when the runner looked: opening
// it must not wait for a writer.
func TestAPipeThatCameLate(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "late"), 0o600))
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	_, err = openRegular(root, "late")
	assert.EqualError(t, err, "it is a named pipe, not a regular file")
}

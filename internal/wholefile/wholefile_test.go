package wholefile

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheOldFileStaysUntilTheNewOneIsWhole(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.json")
	require.NoError(t, Write(path, []byte("old")))

	broken := errors.New("no more")
	err := WriteFunc(path, func(w io.Writer) error {
		_, err := io.WriteString(w, "ne")
		require.NoError(t, err)
		assert.Equal(t, "old", read(t, path), "while the new one is being written")
		return broken
	})
	assert.ErrorIs(t, err, broken)
	assert.Equal(t, "old", read(t, path))
	assert.Equal(t, []string{"a.json"}, names(t, dir), "the half file is removed")

	require.NoError(t, Write(path, []byte("new")))
	assert.Equal(t, "new", read(t, path))
	assert.Equal(t, []string{"a.json"}, names(t, dir))
}

// The check sees what happened to the file while the new one was written.
func TestWriteIf(t *testing.T) {
	dir, refused := t.TempDir(), errors.New("changed")
	path := filepath.Join(dir, "a")
	require.NoError(t, Write(path, []byte("old")))
	for _, want := range []error{refused, nil} {
		err := WriteIf(path, []byte("new"), func() error {
			require.Len(t, names(t, dir), 2, "the new one is written")
			return want
		})
		require.ErrorIs(t, err, want)
		assert.Equal(t, map[bool]string{true: "new", false: "old"}[want == nil], read(t, path))
	}
	assert.Equal(t, []string{"a"}, names(t, dir))
}

func TestAFolderThatIsNotThere(t *testing.T) {
	assert.ErrorIs(t, Write(filepath.Join(t.TempDir(), "none", "a.json"), nil), os.ErrNotExist)
}

func TestCreateNeverReplaces(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	require.NoError(t, root.Mkdir("in", 0o777))
	require.NoError(t, Create(root, "in/a.json", []byte("first")))
	assert.ErrorIs(t, Create(root, "in/a.json", []byte("second")), os.ErrExist)
	assert.Equal(t, "first", read(t, filepath.Join(dir, "in", "a.json")))
	assert.Equal(t, []string{"a.json"}, names(t, filepath.Join(dir, "in")), "nothing is left behind")

	outside := t.TempDir()
	assert.Error(t, Create(root, "../a.json", nil), "out of the folder")
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "link")))
	assert.Error(t, Create(root, "link/a.json", nil), "by a link")
	assert.Empty(t, names(t, outside))
	require.NoError(t, os.Symlink(filepath.Join(outside, "b.json"), filepath.Join(dir, "in", "b.json")))
	assert.ErrorIs(t, Create(root, "in/b.json", nil), os.ErrExist, "a link is a file too")
	assert.ErrorIs(t, Create(root, "none/a.json", nil), os.ErrNotExist)
}

// Of many at once, one makes the file, and it is whole.
func TestOneOfManyCreates(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	made := make(chan error)
	for i := range 8 {
		go func() { made <- Create(root, "a", bytes.Repeat([]byte{byte('a' + i)}, 1000)) }()
	}
	created := 0
	for range 8 {
		if err := <-made; err == nil {
			created++
		} else {
			assert.ErrorIs(t, err, os.ErrExist)
		}
	}
	assert.Equal(t, 1, created)
	text := read(t, filepath.Join(dir, "a"))
	assert.Equal(t, strings.Repeat(text[:1], 1000), text)
	assert.Equal(t, []string{"a"}, names(t, dir))
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

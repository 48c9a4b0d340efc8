package tape

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fileWith is a file of one exchange whose answer is the text.
func fileWith(text string) *File {
	return &File{[]Exchange{{Request: Request{Method: "GET", URL: "http://a.example/"},
		Response: Response{Status: 200, Chunks: []Chunk{{Data: []byte(text)}}}}}}
}

func TestSaveAndLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "testdata", "a.cassette.json")
	_, none, err := Load(path)
	require.ErrorIs(t, err, os.ErrNotExist)
	assert.Equal(t, Stamp{}, none)

	require.NoError(t, Save(path, fileWith("one"), none, nil), "the folder is made")
	f, opened, err := Load(path)
	require.NoError(t, err)
	assert.Equal(t, fileWith("one"), f)

	f.Exchanges = append(f.Exchanges, fileWith("two").Exchanges...)
	require.NoError(t, Save(path, f, opened, new(Secrets)))
	again, _, err := Load(path)
	require.NoError(t, err)
	assert.Equal(t, f, again)
	assert.Equal(t, []string{"a.cassette.json"}, names(t, filepath.Dir(path)))
}

func TestAFileThatChangedIsLeftAlone(t *testing.T) {
	for _, row := range []struct {
		why    string
		change func(t *testing.T, path string)
		left   string
	}{
		{"edited", func(t *testing.T, path string) { require.NoError(t, os.WriteFile(path, []byte("mine"), 0o600)) }, "mine"},
		{"removed", func(t *testing.T, path string) { require.NoError(t, os.Remove(path)) }, ""},
	} {
		path := filepath.Join(t.TempDir(), "a.cassette.json")
		require.NoError(t, Save(path, fileWith("one"), Stamp{}, nil))
		_, opened, err := Load(path)
		require.NoError(t, err)
		row.change(t, path)
		for range 2 { // once more it is the same sibling
			err = Save(path, fileWith("two"), opened, nil)
			var changed *ChangedError
			require.ErrorAs(t, err, &changed, row.why)
			assert.Equal(t, path, changed.Path)
			assert.Regexp(t, `a\.cassette\.recorded-[0-9a-f]{12}\.json$`, changed.Saved)
			assert.EqualError(t, err, "cassette: "+path+" changed since it was opened and is left as it is; what was recorded is in "+changed.Saved)
			saved, _, err := Load(changed.Saved)
			require.NoError(t, err)
			assert.Equal(t, fileWith("two"), saved)
		}
		left, _ := os.ReadFile(path)
		assert.Equal(t, row.left, string(left), row.why)
	}
	path := filepath.Join(t.TempDir(), "new.json")
	require.NoError(t, Save(path, fileWith("one"), Stamp{}, nil))
	assert.Error(t, Save(path, fileWith("two"), Stamp{}, nil), "another process made it meanwhile")
	assert.NoError(t, Save(path, fileWith("one"), Stamp{}, nil), "and wrote the same")
}

func TestWhatReadWouldRefuseIsNotWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.json")
	f := fileWith("one")
	f.Exchanges[0].Response.Status = 999
	assert.EqualError(t, Save(path, f, Stamp{}, nil), "cassette: "+path+" would not be readable, so nothing was written:\n"+
		"cassette: line 3, column 27: /exchanges/0/response/status is 999; allowed: 200 to 599")
	assert.NoFileExists(t, path)
}

func TestLoadNamesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.json")
	require.NoError(t, os.WriteFile(path, []byte(`{}`), 0o600))
	_, _, err := Load(path)
	assert.ErrorContains(t, err, "cassette: "+path+" cannot be read:\ncassette: line 1, column 1: /format is missing")
	require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte(" "), MaxBytes+1), 0o600))
	_, _, err = Load(path)
	assert.EqualError(t, err, "cassette: "+path+" is too large; allowed: at most 67108864 bytes")
	require.NoError(t, os.Truncate(path, 0))
	_, _, err = Load(filepath.Dir(path))
	assert.ErrorContains(t, err, "cassette: ", "a folder")
}

func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") { // what a killed process leaves
			all = append(all, e.Name())
		}
	}
	return all
}

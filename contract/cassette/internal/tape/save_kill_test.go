//go:build unix

package tape

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// saverVariable tells the test binary, run by itself, what to do and where.
const saverVariable = "SHAKEDOWN_TAPE_SAVER"

func saver(t *testing.T, job, path string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSaverProcess$")
	cmd.Env = append(os.Environ(), saverVariable+"="+job+" "+path)
	return cmd
}

// TestSaverProcess is the process that the other tests kill.
func TestSaverProcess(t *testing.T) {
	job, path, found := strings.Cut(os.Getenv(saverVariable), " ")
	switch {
	case !found:
		t.Skip("for the tests below")
	case job == "loop":
		saveForEver(t, path)
	default:
		saveWithLittleRoom(t, path)
	}
}

var versions = []*File{fileWith(strings.Repeat("old ", 1<<18)), fileWith(strings.Repeat("new ", 1<<18))}

func saveForEver(t *testing.T, path string) {
	for i := 0; ; i++ {
		_, opened, _ := Load(path)
		require.NoError(t, Save(path, versions[i%2], opened, nil))
		os.Stdout.WriteString("saved\n")
	}
}

// saveWithLittleRoom lets the system refuse each byte of a save in turn.
func saveWithLittleRoom(t *testing.T, path string) {
	_, opened, err := Load(path)
	require.NoError(t, err)
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	data, err := fileWith("new").Bytes()
	require.NoError(t, err)
	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit))
	for n := range data {
		limit.Cur = uint64(n)
		require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))
		require.ErrorIs(t, Save(path, fileWith("new"), opened, nil), syscall.EFBIG, "byte %d", n)
		now, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, string(before), string(now), "byte %d", n)
		entries, err := os.ReadDir(filepath.Dir(path))
		require.NoError(t, err)
		require.Len(t, entries, 1, "byte %d: what was begun is removed", n)
	}
	limit.Cur = uint64(len(data))
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))
	require.NoError(t, Save(path, fileWith("new"), opened, nil))
}

func TestAWriteThatFailsAtAnyByteLeavesTheOldFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.json")
	require.NoError(t, Save(path, fileWith("old"), Stamp{}, nil))
	out, err := saver(t, "room", path).CombinedOutput()
	require.NoError(t, err, "%s", out)
	f, _, err := Load(path)
	require.NoError(t, err)
	assert.Equal(t, fileWith("new"), f, "with room for all of it")
}

func TestAProcessThatIsKilledLeavesAWholeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.json")
	require.NoError(t, Save(path, versions[0], Stamp{}, nil))
	var whole []string
	for _, v := range versions {
		data, err := v.Bytes()
		require.NoError(t, err)
		whole = append(whole, string(data))
	}
	half := 0
	for i := range 8 {
		cmd := saver(t, "loop", path)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		_, err = bufio.NewReader(out).ReadString('\n')
		require.NoError(t, err)
		for begun := false; !begun; { // a save, the next or a later one
			entries, err := os.ReadDir(filepath.Dir(path))
			require.NoError(t, err)
			begun = len(entries) > 1
		}
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Contains(t, whole, string(data), "kill %d", i)
		entries, err := os.ReadDir(filepath.Dir(path))
		require.NoError(t, err)
		half += len(entries) - 1
		for _, e := range entries {
			if e.Name() != "a.json" {
				require.NoError(t, os.Remove(filepath.Join(filepath.Dir(path), e.Name())))
			}
		}
	}
	assert.Positive(t, half, "some of the kills came in the middle of a save")
}

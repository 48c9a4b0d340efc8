package durable

import (
	"bytes"
	"errors"
	"go/build"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func directory(t testing.TB) *os.Root {
	t.Helper()
	dir, err := os.OpenRoot(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { _ = dir.Close() })
	return dir
}

// frames encodes records as a journal does; ends are where each ends.
func frames(records [][]byte) (data []byte, ends []int) {
	for _, r := range records {
		data, _ = appendFrame(data, r)
		ends = append(ends, len(data))
	}
	return data, ends
}

func someRecords(t *rapid.T) [][]byte {
	return rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 1, 40), 1, 8).Draw(t, "records")
}

// whole counts the records that end at or before a byte.
func whole(ends []int, at int) (n int) {
	for _, end := range ends {
		if end <= at {
			n++
		}
	}
	return n
}

// TestATornJournal cuts a journal at every byte: the records that are whole
// before the cut are read, and nothing else.
func TestATornJournal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := someRecords(t)
		data, ends := frames(records)
		for at := range len(data) + 1 {
			got, torn := Decode(data[:at])
			want := whole(ends, at)
			if len(got) != want || want > 0 && torn != at-ends[want-1] {
				t.Fatalf("cut at %d of %d: %d records and %d bytes, want %d", at, len(data), len(got), torn, want)
			}
			for i, r := range got {
				if !bytes.Equal(r, records[i]) {
					t.Fatalf("cut at %d: record %d is %x, was %x", at, i, r, records[i])
				}
			}
		}
	})
}

// TestADamagedJournal changes each byte in turn: the record that has it is lost, and
// no other.
func TestADamagedJournal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := someRecords(t)
		data, ends := frames(records)
		change := byte(rapid.IntRange(1, 255).Draw(t, "change"))
		for at := range data {
			damaged := bytes.Clone(data)
			damaged[at] ^= change
			got, _ := Decode(damaged)
			hit := whole(ends, at)
			want := slices.Delete(slices.Clone(records), hit, hit+1)
			if !slices.EqualFunc(got, want, bytes.Equal) {
				t.Fatalf("byte %d changed by %#x: %x, want %x", at, change, got, want)
			}
		}
	})
}

// Some file systems leave zeros at the end of a file after a crash.
func TestZerosAreNoRecords(t *testing.T) {
	data, _ := frames([][]byte{[]byte("one")})
	got, torn := Decode(append(data, make([]byte, 4096)...))
	assert.Equal(t, [][]byte{[]byte("one")}, got)
	assert.Equal(t, 4096, torn)
}

func FuzzDecode(f *testing.F) {
	data, _ := frames([][]byte{[]byte("one"), []byte(`{"op":"queued"}`)})
	f.Add(data)
	f.Add(data[:len(data)-1])
	f.Add(make([]byte, 64))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		records, torn := Decode(data)
		again, _ := frames(records)
		if len(again)+torn != len(data) {
			t.Fatalf("%d records in %d bytes and %d others are not %d", len(records), len(again), torn, len(data))
		}
		for _, frame := range records {
			if !bytes.Contains(data, frame) {
				t.Fatal("a record is not in the file")
			}
		}
	})
}

// TestAJournal writes a journal, closes it, tears its end, and opens it again.
func TestAJournal(t *testing.T) {
	dir := directory(t)
	j, records, torn, err := OpenJournal(OS{}, dir, "journal")
	require.NoError(t, err)
	assert.Empty(t, records)
	assert.Zero(t, torn)
	assert.ErrorContains(t, j.Append([]byte("early")), "not rewritten yet")
	require.NoError(t, j.Rewrite(nil))
	for _, text := range []string{"a", "b", "c"} {
		require.NoError(t, j.Append([]byte(text)))
	}
	assert.ErrorContains(t, j.Append(nil), "a record of 0 bytes; allowed: 1 to")
	assert.ErrorContains(t, j.Append(make([]byte, MaxRecord+1)), "allowed: 1 to")
	assert.EqualValues(t, 3*(header+1), j.Size())
	require.NoError(t, j.Close())
	assert.ErrorIs(t, j.Append([]byte("late")), os.ErrClosed)

	whole, err := dir.ReadFile("journal")
	require.NoError(t, err)
	require.NoError(t, dir.WriteFile("journal", whole[:len(whole)-1], 0o600))
	j, records, torn, err = OpenJournal(OS{}, dir, "journal")
	require.NoError(t, err)
	assert.Equal(t, [][]byte{[]byte("a"), []byte("b")}, records)
	assert.Equal(t, header, torn)
	kept, err := dir.ReadFile("journal.torn")
	require.NoError(t, err)
	assert.Equal(t, whole[:len(whole)-1], kept, "for whoever wants to look")
	require.NoError(t, j.Rewrite(records))
	require.NoError(t, j.Append([]byte("d")))
	require.NoError(t, j.Close())
	_, records, torn, err = OpenJournal(OS{}, dir, "journal")
	require.NoError(t, err)
	assert.Equal(t, [][]byte{[]byte("a"), []byte("b"), []byte("d")}, records)
	assert.Zero(t, torn)
}

// failing is a file system on which one step fails. A write that fails has
// written half.
type failing struct {
	OS
	steps int
	at    int // the how-manieth step fails; 0: none
}

var errFull = &os.PathError{Op: "write", Path: "journal", Err: syscall.ENOSPC}

func (f *failing) fails() bool { f.steps++; return f.steps == f.at }

func (f *failing) Open(dir *os.Root, name string, flag int) (File, error) {
	if f.fails() {
		return nil, errFull
	}
	file, err := f.OS.Open(dir, name, flag)
	return &failingFile{file, f}, err
}

func (f *failing) Rename(dir *os.Root, from, to string) error {
	if f.fails() {
		return errFull
	}
	return f.OS.Rename(dir, from, to)
}

func (f *failing) SyncDir(dir *os.Root) error {
	if f.fails() {
		return errFull
	}
	return f.OS.SyncDir(dir)
}

type failingFile struct {
	File
	fs *failing
}

func (f *failingFile) Write(p []byte) (int, error) {
	if f.fs.fails() {
		n, _ := f.File.Write(p[:len(p)/2])
		return n, errFull
	}
	return f.File.Write(p)
}

func (f *failingFile) Sync() error {
	if f.fs.fails() {
		return errFull
	}
	return f.File.Sync()
}

// TestAJournalOnAFullDisk fails at every step in turn. Records that Append and
// Sync accepted are read afterwards. A record that failed is read whole or not
// at all, and Rewrite repairs the journal.
func TestAJournalOnAFullDisk(t *testing.T) {
	for at := 1; ; at++ {
		dir := directory(t)
		fs := &failing{at: at}
		j, _, _, err := OpenJournal(fs, dir, "journal")
		require.NoError(t, err)
		var taken []string
		failures := 0
		do := func(err error) bool {
			if err != nil {
				require.ErrorIs(t, err, syscall.ENOSPC)
				failures++
			}
			return err == nil
		}
		repair := func() {
			if j.Err() != nil {
				var all [][]byte
				for _, text := range taken {
					all = append(all, []byte(text))
				}
				do(j.Rewrite(all))
			}
		}
		repair()
		for _, text := range []string{"one", "two", "three"} {
			repair()
			if do(j.Append([]byte(text))) {
				taken = append(taken, text)
			} else {
				assert.Error(t, j.Append([]byte("more")), "a torn journal takes nothing")
			}
			do(j.Sync())
		}
		_ = j.Close()
		_, records, _, err := OpenJournal(OS{}, dir, "journal")
		require.NoError(t, err)
		var got []string
		for _, r := range records {
			got = append(got, string(r))
		}
		assert.Equal(t, taken, got, "a failure at step %d", at)
		if failures == 0 {
			assert.Greater(t, at, 10)
			return
		}
	}
}

func TestReplaceLeavesTheOldOrTheNew(t *testing.T) {
	for at := 1; ; at++ {
		dir := directory(t)
		require.NoError(t, dir.WriteFile("record", []byte("old"), 0o600))
		err := Replace(&failing{at: at}, dir, "record", []byte("new"))
		got, readErr := dir.ReadFile("record")
		require.NoError(t, readErr)
		if err == nil {
			assert.Equal(t, "new", string(got))
			return
		}
		require.ErrorIs(t, err, syscall.ENOSPC)
		assert.Contains(t, []string{"old", "new"}, string(got), "a failure at step %d", at)
	}
}

func TestALock(t *testing.T) {
	dir := directory(t)
	unlock, err := TakeLock(dir, "lock")
	require.NoError(t, err)
	_, err = TakeLock(dir, "lock")
	assert.ErrorIs(t, err, ErrHeld)
	require.NoError(t, unlock())
	require.NoError(t, dir.WriteFile("lock", []byte("nonsense"), 0o600), "what a holder of before has left")
	unlock, err = TakeLock(dir, "lock")
	require.NoError(t, err)
	require.NoError(t, unlock())
	_, err = TakeLock(dir, filepath.Join("none", "lock"))
	assert.True(t, errors.Is(err, os.ErrNotExist), "%v", err)
}

// All systems of the Unix family synchronise a directory, also those without flock.
func TestSystemsThatSynchroniseDirectories(t *testing.T) {
	for system, sync := range map[string]string{"linux": "sync_unix.go", "darwin": "sync_unix.go",
		"solaris": "sync_unix.go", "illumos": "sync_unix.go", "aix": "sync_unix.go",
		"windows": "sync_other.go", "plan9": "sync_other.go"} {
		of := build.Default
		of.GOOS, of.CgoEnabled = system, false
		pkg, err := of.ImportDir(".", 0)
		require.NoError(t, err)
		files := slices.DeleteFunc(pkg.GoFiles, func(name string) bool { return !strings.HasPrefix(name, "sync_") })
		assert.Equal(t, []string{sync}, files, system)
	}
}

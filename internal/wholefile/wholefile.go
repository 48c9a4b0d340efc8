// Package wholefile writes files that are whole or as they were, whenever the
// process dies.
package wholefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// temporaryEnd ends the names of files that are not whole yet. Who reads a folder by the end
// of its names, such as ".json", does not see them.
const temporaryEnd = ".tmp"

// Write replaces the file of that name with data, as [WriteFunc] does.
func Write(path string, data []byte) error { return WriteIf(path, data, func() error { return nil }) }

// WriteIf is Write if check returns nil. It is called when data is on the disk: who writes the file at the same time
// has only a moment between check and the new name.
func WriteIf(path string, data []byte, check func() error) error {
	return writeFunc(path, all(data), check)
}

// WriteFunc calls write with a new file in the folder of path, synchronises it with
// the disk, and gives it that name. Whoever opens path meanwhile reads the old file or
// the new one. If anything fails, the old file stays and the new one is removed. A
// process that is killed may leave the new one behind, under a name that begins with a
// dot. The folder must exist; the file's mode is 0644, without what the umask takes.
func WriteFunc(path string, write func(io.Writer) error) error {
	return writeFunc(path, write, func() error { return nil })
}

func writeFunc(path string, write func(io.Writer) error, check func() error) (err error) {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	return within(root, filepath.Base(path), write, func(temporary string) error {
		if err := check(); err != nil {
			return err
		}
		return root.Rename(temporary, filepath.Base(path))
	})
}

func all(data []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}
}

// Create writes a new file within a folder, whole or not at all. It never replaces a
// file: if there is one of that name, the error matches fs.ErrExist. The folder of the
// name must exist. A name or link that leaves root is an error.
func Create(root *os.Root, name string, data []byte) (err error) {
	if _, err := root.Lstat(name); err == nil {
		return &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	}
	return within(root, name, all(data), func(temporary string) error {
		err := root.Link(temporary, name) // unlike Rename it fails if the name was taken meanwhile
		if err == nil || errors.Is(err, fs.ErrExist) {
			return err
		}
		return root.Rename(temporary, name) // a file system without hard links
	})
}

// Replace writes a file within a folder, as [Create] does, and replaces one that is
// there. A link of that name is replaced, not followed.
func Replace(root *os.Root, name string, data []byte) (err error) {
	return within(root, name, all(data), func(temporary string) error { return root.Rename(temporary, name) })
}

// within writes a temporary file in the folder of name, gives it its name, and removes it
// if it still has the temporary one.
func within(root *os.Root, name string, write func(io.Writer) error, give func(temporary string) error) (err error) {
	temporary := fmt.Sprintf(".%x-%s%s", rand.Uint64(), filepath.Base(name), temporaryEnd)
	temporary = filepath.Join(filepath.Dir(name), temporary)
	f, err := root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if gone := root.Remove(temporary); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}()
	if err = write(f); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return give(temporary)
}

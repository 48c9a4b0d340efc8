package tape

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/wholefile"
)

// A Stamp is the state of a file at one time. The zero value is that of a file that
// was not there.
type Stamp digest

func stampOf(data []byte) Stamp { return sha256.Sum256(data) }

// Load reads the file of that name. The error wraps [os.ErrNotExist] if there is none,
// and the stamp is then that of no file.
func Load(path string) (*File, Stamp, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, Stamp{}, err
	}
	f, err := Read(data)
	if err != nil {
		return nil, Stamp{}, fmt.Errorf("cassette: %s cannot be read:\n%w", path, err)
	}
	return f, stampOf(data), nil
}

// readFile reads a file of at most MaxBytes.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cassette: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err = cmp.Or(err, f.Close()); err != nil {
		return nil, fmt.Errorf("cassette: %w", err)
	}
	if len(data) > MaxBytes {
		return nil, fields.Wrong(path, fielderror.Found("too large"), fmt.Sprintf("at most %d bytes", MaxBytes))
	}
	return data, nil
}

// Save writes the file whole, unless a secret stands in it, which is a [*SecretError].
// Call it only if something was recorded. A file that is no longer as it was at opened
// is left alone: f is written to a sibling, and the error is a [*ChangedError]. The
// folder is made if it is missing. A process that is killed leaves the old file. What
// [Read] would refuse, such as a status of 999, is not written.
func Save(path string, f *File, opened Stamp, s *Secrets) error {
	data, err := f.Bytes()
	if err != nil {
		return err
	}
	if err := s.Find(f, data); err != nil {
		return err
	}
	if _, err := Read(data); err != nil {
		return fmt.Errorf("cassette: %s would not be readable, so nothing was written:\n%w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("cassette: %w", err)
	}
	changed := &ChangedError{Path: path, Saved: sibling(path, data)}
	err = wholefile.WriteIf(path, data, func() error {
		now, err := stamp(path)
		if err == nil && now != opened && now != stampOf(data) {
			err = changed
		}
		return err
	})
	if errors.Is(err, changed) {
		if err = wholefile.Write(changed.Saved, data); err == nil {
			return changed
		}
	}
	if err != nil {
		return fmt.Errorf("cassette: %w", err)
	}
	return nil
}

// stamp is the state of a file now.
func stamp(path string) (Stamp, error) {
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return Stamp{}, nil
	case err != nil:
		return Stamp{}, err
	}
	return stampOf(data), nil
}

// sibling is a name beside path that depends on what is to be written: no recordings
// take the place of others.
func sibling(path string, data []byte) string {
	sum := sha256.Sum256(data)
	extension := filepath.Ext(path)
	return fmt.Sprintf("%s.recorded-%x%s", strings.TrimSuffix(path, extension), sum[:6], extension)
}

// A ChangedError reports that a file changed between Load and Save.
type ChangedError struct {
	Path  string // the file, left as it is
	Saved string // the sibling that has the recordings
}

// Error names both files.
func (e *ChangedError) Error() string {
	return fmt.Sprintf("cassette: %s changed since it was opened and is left as it is; what was recorded is in %s", e.Path, e.Saved)
}

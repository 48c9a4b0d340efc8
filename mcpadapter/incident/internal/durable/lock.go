package durable

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// A Holder says who holds a lock.
type Holder struct {
	PID   int       `json:"pid"`
	Host  string    `json:"host"`
	Since time.Time `json:"since"`
}

// A HeldError says that somebody else holds a lock.
type HeldError struct{ Holder Holder }

// Error names the holder, if it is known.
func (e *HeldError) Error() string {
	if e.Holder.PID == 0 {
		return "held by another process, which left no name"
	}
	return fmt.Sprintf("held by process %d on %s since %s", e.Holder.PID, e.Holder.Host, e.Holder.Since.Format(time.RFC3339))
}

// ErrHeld is the error where another process has the lock.
var ErrHeld = errors.New("held")

// A Lock is held until Unlock, or the end of the process, however it comes.
type Lock struct{ file *os.File }

// TakeLock locks a file of the directory, and writes down who holds it. Where
// another process does, the error is a [*HeldError].
func TakeLock(dir *os.Root, name string) (*Lock, error) {
	f, err := openLock(dir, name)
	if err != nil {
		if errors.Is(err, ErrHeld) {
			return nil, &HeldError{readHolder(dir, name)}
		}
		return nil, err
	}
	host, _ := os.Hostname() // a lock without a name is one all the same
	doc, err := json.Marshal(Holder{os.Getpid(), host, time.Now().UTC().Truncate(time.Second)})
	if err == nil {
		// The name is a help: a full disk must not keep a runner from starting.
		_ = f.Truncate(0)
		_, _ = f.WriteAt(append(doc, '\n'), 0)
	}
	return &Lock{f}, nil
}

// Unlock gives the lock back. The file stays: to remove it would let two
// processes hold a lock of the same name.
func (l *Lock) Unlock() error { return closeLock(l.file) }

func readHolder(dir *os.Root, name string) (h Holder) {
	doc, err := readAll(dir, name)
	if err == nil {
		_ = json.Unmarshal(doc, &h) // a name that cannot be read is none
	}
	return h
}

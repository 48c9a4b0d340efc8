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

// A HeldError reports that another process holds a lock.
type HeldError struct{ Holder Holder }

// Error names the holder, if it is known.
func (e *HeldError) Error() string {
	if e.Holder.PID == 0 {
		return "held by another process, which left no name"
	}
	return fmt.Sprintf("held by process %d on %s since %s", e.Holder.PID, e.Holder.Host,
		e.Holder.Since.Format(time.RFC3339))
}

// ErrHeld is the error of a lock that another process holds.
var ErrHeld = errors.New("held")

// A Lock is held until Unlock, or until the process ends in any way. On systems
// without such locks its file stays after a kill, and locks until it is removed.
type Lock struct{ file *os.File }

// TakeLock locks a file of the directory and writes the holder into it. If
// another process holds the lock, the error is a [*HeldError].
func TakeLock(dir *os.Root, name string) (*Lock, error) {
	f, err := openLock(dir, name)
	if err != nil {
		if errors.Is(err, ErrHeld) {
			return nil, &HeldError{readHolder(dir, name)}
		}
		return nil, err
	}
	host, _ := os.Hostname() // a lock needs no name
	doc, err := json.Marshal(Holder{os.Getpid(), host, time.Now().UTC().Truncate(time.Second)})
	if err == nil {
		// The name is optional: a full disk must not keep a runner from starting.
		_ = f.Truncate(0)
		_, _ = f.WriteAt(append(doc, '\n'), 0)
	}
	return &Lock{f}, nil
}

// Unlock releases the lock. The file stays where the system has locks: removing
// it would let two processes hold a lock of the same name.
func (l *Lock) Unlock() error { return closeLock(l.file) }

func readHolder(dir *os.Root, name string) (h Holder) {
	doc, err := readAll(dir, name)
	if err == nil {
		_ = json.Unmarshal(doc, &h) // a holder that cannot be read is not known
	}
	return h
}

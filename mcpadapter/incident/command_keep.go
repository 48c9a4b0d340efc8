package incident

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// keepState is what a keeper and runners exchange about an attempt, in a file
// that the keeper locks while it lives. The file has its full size from the
// beginning, so that a full disk cannot lose the end of an agent.
type keepState struct {
	Attempt  int    `json:"attempt"`
	PID      int    `json:"pid"`      // of the keeper; 0: it has not begun
	Asked    bool   `json:"told"`     // the agent was asked to end
	Ended    bool   `json:"ended"`    // the members below say how
	ExitCode int    `json:"exitCode"` // -1: a signal ended it, or it could not be run
	Error    string `json:"error"`    // "": it exited by itself
}

// stateSize holds any state: all but the error is bounded, and that is cut.
const (
	stateSize     = 1024
	maxStateError = 200
)

func (s keepState) write(f *os.File) error {
	s.Error = cut(s.Error, maxStateError)
	doc, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if len(doc) > stateSize-1 {
		s.Error = "the reason is too long to be kept"
		return s.write(f)
	}
	page := bytes.Repeat([]byte{' '}, stateSize)
	copy(page, doc)
	page[stateSize-1] = '\n'
	if _, err := f.WriteAt(page, 0); err != nil {
		return err
	}
	return f.Sync()
}

func readState(f *os.File) (s keepState, err error) {
	doc, err := io.ReadAll(io.NewSectionReader(f, 0, stateSize))
	if err == nil {
		err = json.Unmarshal(doc, &s)
	}
	return s, err
}

// result is how the agent ended, if the state says.
func (s keepState) result() (Result, bool) {
	switch {
	case !s.Ended:
		return Result{}, false
	case s.Error != "":
		return failed(errors.New(s.Error)), true
	}
	return Result{ExitCode: s.ExitCode}, true
}

// errNotStarted marks the result of an agent that could not be started for a
// reason that may pass, such as a full disk.
var errNotStarted = errors.New("the agent was not started")

func notStarted(err error) Result { return failed(fmt.Errorf("%w: %w", errNotStarted, err)) }

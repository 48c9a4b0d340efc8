package offline

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/shakedown-go/shakedown/mcpadapter/incident"
)

// An Event is all that the agent knows of an incident. It does not say what
// failed: to find that out is the task.
type Event struct {
	Namespace string    // may be empty
	Reason    string    // such as "error" or "latency"
	At        time.Time // when the fault was first seen
}

// maxRecord bounds what is read of a record.
const maxRecord = 4 << 20

// ReadEvent takes the event from the record in a workspace.
func ReadEvent(workspace string) (Event, error) {
	f, err := os.Open(filepath.Join(workspace, incident.RecordFile))
	if err != nil {
		return Event{}, fmt.Errorf("offline: %w", err)
	}
	defer f.Close()
	var record struct {
		Namespace string    `json:"namespace"`
		FaultType string    `json:"faultType"`
		Timestamp time.Time `json:"timestamp"`
	}
	if err := json.NewDecoder(io.LimitReader(f, maxRecord)).Decode(&record); err != nil {
		return Event{}, fmt.Errorf("offline: %s: %w", incident.RecordFile, err)
	}
	if record.Timestamp.IsZero() {
		return Event{}, errors.New("offline: the incident has no timestamp; allowed: a time by RFC 3339")
	}
	return Event{record.Namespace, record.FaultType, record.Timestamp}, nil
}

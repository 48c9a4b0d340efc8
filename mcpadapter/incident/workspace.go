package incident

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/shakedown-go/shakedown/mcpadapter/incident/internal/durable"
)

// Names within a workspace.
const (
	RecordFile = "incident.json"           // the incident, mode 0600
	ReportFile = "output/investigation.md" // what the agent found out
)

// A Store keeps incidents that have ended. Save is called with the report if there
// is one, one call at a time, and may be called again for an incident. It must leave either the old or
// the new record, whatever happens. After an error the runner retries, for a day. A
// Save that blocks delays only other calls of Save.
type Store interface {
	Save(in Incident, report []byte) error
}

// Workspaces is the directory that holds a directory for every incident, named
// by its identifier, mode 0700. It is the Store that every runner has, because
// agents work in it; the report stays where the agent wrote it. A root belongs
// to one runner at a time, which keeps its journal and a lock there, in
// .runner.
type Workspaces struct {
	root string
	fs   durable.FS // changes the files that must survive a crash
}

// NewWorkspaces creates the root directory, mode 0700, if it does not exist.
func NewWorkspaces(root string) (*Workspaces, error) {
	if root == "" {
		return nil, fields.Wrong("workspace root", nil, "a directory")
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("incident: workspace root: %w", err)
	}
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, fmt.Errorf("incident: workspace root: %w", err)
	}
	return &Workspaces{root, durable.OS{}}, nil
}

// Dir returns the workspace of an incident.
func (w *Workspaces) Dir(incidentID string) string { return filepath.Join(w.root, incidentID) }

// Save writes the record through a temporary file beside it, so that a crash at
// any moment leaves the old or the new one. A workspace that its agent removed
// is created again, for the record alone.
func (w *Workspaces) Save(in Incident, _ []byte) error {
	doc, err := json.MarshalIndent(in, "", "  ")
	if err != nil {
		return fmt.Errorf("incident: %w", err)
	}
	root, err := w.open(in.IncidentID)
	if err != nil {
		return fmt.Errorf("incident: workspace of %s: %w", in.IncidentID, err)
	}
	defer root.Close()
	if err := durable.Replace(w.fs, root, RecordFile, append(doc, '\n')); err != nil {
		return fmt.Errorf("incident: record of %s: %w", in.IncidentID, err)
	}
	return nil
}

// open opens a workspace and checks that it is a directory of its own: an agent
// could have replaced it by a link.
func (w *Workspaces) open(id string) (*os.Root, error) {
	if id == "" || id != filepath.Base(id) || id == "." || id == ".." || id == runnerDir {
		return nil, fields.Wrong("incidentId", id, "a name without separators")
	}
	if err := os.MkdirAll(w.root, 0o700); err != nil { // an agent may have removed it with all that was in it
		return nil, err
	}
	root, err := os.OpenRoot(w.root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Lstat(id)
	if err == nil && !info.IsDir() {
		err = cmp.Or(root.RemoveAll(id), error(fs.ErrNotExist))
	}
	if err == nil && info.IsDir() && info.Mode().Perm() != 0o700 && runtime.GOOS != "windows" {
		err = root.Chmod(id, 0o700) // the agent may have changed the permissions
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = root.Mkdir(id, 0o700)
	}
	if err != nil {
		return nil, err
	}
	return root.OpenRoot(id)
}

// Load reads the records of all workspaces. For a workspace without a readable
// record it returns an error in addition to the other records.
func (w *Workspaces) Load() ([]Incident, error) {
	entries, err := os.ReadDir(w.root)
	if err != nil {
		return nil, fmt.Errorf("incident: workspace root: %w", err)
	}
	var found []Incident
	var problems []error
	for _, e := range entries {
		if !e.IsDir() || e.Name() == runnerDir {
			continue
		}
		in, err := w.load(e.Name())
		if err != nil {
			problems = append(problems, fmt.Errorf("incident: workspace %s: %w", e.Name(), err))
			continue
		}
		found = append(found, in)
	}
	slices.SortStableFunc(found, func(a, b Incident) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return found, errors.Join(problems...)
}

func (w *Workspaces) load(id string) (in Incident, err error) {
	root, err := os.OpenRoot(w.Dir(id))
	if err != nil {
		return in, err
	}
	defer root.Close()
	doc, err := readRegular(root, RecordFile, maxPayload*2)
	if err != nil {
		return in, err
	}
	if err := json.Unmarshal(doc, &in); err != nil {
		return in, err
	}
	if in.IncidentID != id {
		return in, fields.Wrong("incidentId", in.IncidentID, "the name of its workspace")
	}
	return in, nil
}

// makeRoom prepares a workspace for an attempt. The output of an earlier
// attempt is kept beside it, as output.1 and so on, so that it is not taken for
// this one's.
func (w *Workspaces) makeRoom(id string, attempt int) error {
	root, err := w.open(id)
	if err != nil {
		return err
	}
	defer root.Close()
	output := filepath.Dir(ReportFile)
	if attempt > 1 {
		old := fmt.Sprintf("%s.%d", output, attempt-1)
		_ = root.RemoveAll(old)
		if err := root.Rename(output, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return root.MkdirAll(output, 0o700)
}

package contracttest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
	"testing"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/redact"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/internal/wholefile"
)

const noFiles = "-"

const sessionsFolder = "sessions"

// A saver writes sessions of broken cells. A nil saver writes none.
type saver struct {
	make    func(*contract.Matrix, *contract.CellReport, []string) (string, []byte, error)
	matrix  *contract.Matrix
	secrets []string
	dir     string

	mu       sync.Mutex
	root     *os.Root // nil: there was nothing to write yet
	saved    int
	there    int // were in the folder already
	problems []string
}

func newSaver(t *testing.T, m *contract.Matrix, o *Options) *saver {
	if o.SaveFailures == nil || o.Dir == noFiles {
		return nil
	}
	return &saver{make: o.SaveFailures, matrix: m, secrets: o.Secrets, dir: dirOf(t, o.Dir)}
}

func (s *saver) gather() contract.Needs {
	if s == nil {
		return 0
	}
	return contract.NeedResults
}

// save writes the session of a broken cell. It is called by the cells, of which several
// may end at once.
func (s *saver) save(c *contract.CellReport) {
	if s == nil || len(c.Observations()) == 0 { // of a run that this one goes on from
		return
	}
	name, session, err := s.make(s.matrix, c, s.secrets)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.problems = append(s.problems, err.Error())
	}
	if session == nil {
		return
	}
	switch err := s.write(name, session, c.Cell.Scenario); {
	case err == nil:
		s.saved++
	case errors.Is(err, fs.ErrExist):
		s.there++
	default:
		s.problems = append(s.problems, fmt.Sprintf("cell %v: %v", c.Cell, err))
	}
}

// write writes a session, unless its scenario is one of the sessions; s.mu is held.
func (s *saver) write(name string, session []byte, scenario string) (err error) {
	if s.root == nil {
		if err = os.MkdirAll(s.dir, 0o777); err == nil {
			s.root, err = os.OpenRoot(s.dir)
		}
		if err == nil {
			err = s.root.MkdirAll(sessionsFolder, 0o777)
		}
		if err != nil {
			return err
		}
	}
	if _, err := s.root.Lstat(nameOf(scenario)); err == nil {
		return fs.ErrExist
	}
	return wholefile.Create(s.root, nameOf(name), session)
}

func nameOf(session string) string { return path.Join(sessionsFolder, session+".json") }

func (s *saver) end(t *testing.T, secrets *redact.Redactor) {
	t.Helper()
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.root != nil {
		_ = s.root.Close() // it was only a place to write in
	}
	folder := filepath.Join(s.dir, sessionsFolder)
	if s.saved > 0 {
		t.Logf("contracttest: %s of broken cells saved in %s", text.Plural(s.saved, "session"), folder)
	}
	if s.there > 0 {
		t.Logf("contracttest: %s not saved: a file in %s has it already", text.Plural(s.there, "broken cell"), folder)
	}
	if len(s.problems) > 0 {
		t.Logf("contracttest: not saved: %s", secrets.Text(text.Some(s.problems, 5)))
	}
}

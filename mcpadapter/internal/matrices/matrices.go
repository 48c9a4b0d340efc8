// Package matrices has the contract matrices of a host by name, with the latest
// report of each.
package matrices

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/failure"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/toolschema"
)

// A Store has matrices and keeps the latest report of each. Its methods are safe for
// concurrent use.
type Store struct {
	matrices []*contract.Matrix

	mu     sync.Mutex
	latest map[string]Kept
	last   string // name of the matrix that was run last
}

// Kept is a report with the time when it was finished.
type Kept struct {
	*contract.Report
	At   time.Time
	Took time.Duration
}

// New returns a store of matrices without reports.
func New(matrices []*contract.Matrix) *Store {
	return &Store{matrices: matrices, latest: make(map[string]Kept)}
}

// Put keeps the report of a matrix in the place of the one before.
func (s *Store) Put(matrix string, k Kept) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latest[matrix], s.last = k, matrix
}

// Latest returns the latest report of a matrix.
func (s *Store) Latest(matrix string) (k Kept, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok = s.latest[matrix]
	return k, ok
}

// Last returns the latest report of all matrices, and the name of its matrix.
func (s *Store) Last() (matrix string, k Kept, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok = s.latest[s.last]
	return s.last, k, ok
}

// Matrix finds a matrix by name; if there is only one, the name may be empty.
func (s *Store) Matrix(name string) (*contract.Matrix, error) {
	if name == "" && len(s.matrices) == 1 {
		return s.matrices[0], nil
	}
	var names []string
	for _, m := range s.matrices {
		if m.Name == name && name != "" {
			return m, nil
		}
		names = append(names, m.Name)
	}
	if name == "" {
		return nil, failure.BadArguments("matrix is missing; allowed: "+toolschema.OrNone(names),
			"This host has several matrices; say which.")
	}
	return nil, failure.NotFound(fmt.Sprintf("unknown matrix %q; known: %s%s", text.Clip(name, failure.MaxShown),
		toolschema.OrNone(names), toolschema.Meant(name, names)), "contract_list lists the matrices.")
}

// Report returns the latest report of a matrix; if none is named and there are
// several, of the matrix run last.
func (s *Store) Report(name string) (string, Kept, error) {
	if name != "" || len(s.matrices) == 1 {
		m, err := s.Matrix(name)
		if err != nil {
			return "", Kept{}, err
		}
		if k, ok := s.Latest(m.Name); ok {
			return m.Name, k, nil
		}
	} else if found, k, ok := s.Last(); ok {
		return found, k, nil
	}
	return "", Kept{}, failure.New(http.StatusNotFound, failure.CodeNothing,
		"no report is there yet: the matrix has not been run since the server was started", "Call contract_run first.")
}

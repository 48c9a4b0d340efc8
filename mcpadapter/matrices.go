package mcpadapter

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/toolschema"
)

// reportStore has the matrices of a host, and keeps the latest report of each.
// Its methods are safe for concurrent use.
type reportStore struct {
	matrices []*contract.Matrix

	mu     sync.Mutex
	latest map[string]keptReport
	last   string // name of the matrix that was run last
}

// keptReport is a report with the time when it was finished.
type keptReport struct {
	*contract.Report
	at   time.Time
	took time.Duration
}

// put keeps the report of a matrix in the place of the one before.
func (s *reportStore) put(matrix string, k keptReport) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.latest == nil {
		s.latest = make(map[string]keptReport)
	}
	s.latest[matrix], s.last = k, matrix
}

// latestOf returns the latest report of a matrix.
func (s *reportStore) latestOf(matrix string) (k keptReport, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok = s.latest[matrix]
	return k, ok
}

// runLast names the matrix that was run last; "": none was.
func (s *reportStore) runLast() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// matrix finds a matrix by name; if there is only one, the name may be empty.
func (s *reportStore) matrix(name string) (*contract.Matrix, error) {
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
		return nil, badArguments("matrix is missing; allowed: "+toolschema.OrNone(names),
			"This host has several matrices; say which.")
	}
	return nil, notFound(fmt.Sprintf("unknown matrix %q; known: %s%s", text.Clip(name, maxShown),
		toolschema.OrNone(names), toolschema.Meant(name, names)), "contract_list lists the matrices.")
}

// report returns the latest report of a matrix; if none is named and there are
// several, of the matrix run last.
func (s *reportStore) report(name string) (matrix string, k keptReport, err error) {
	if name != "" || len(s.matrices) == 1 {
		m, err := s.matrix(name)
		if err != nil {
			return "", keptReport{}, err
		}
		matrix = m.Name
	} else {
		matrix = s.runLast()
	}
	if k, ok := s.latestOf(matrix); ok {
		return matrix, k, nil
	}
	return "", keptReport{}, problem(http.StatusNotFound, codeNothing,
		"no report is there yet: the matrix has not been run since the server was started", "Call contract_run first.")
}

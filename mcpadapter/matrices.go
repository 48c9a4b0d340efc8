package mcpadapter

import (
	"cmp"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/toolschema"
)

// A namedMatrix is a matrix under the name by which clients run it: its own, or that of a
// matrix of the suite.
type namedMatrix struct {
	name string
	*contract.Matrix
}

// matrices lists what clients may run: the host's matrices, then those of its suite.
func (h Host) matrices() (list []namedMatrix) {
	for _, m := range h.Matrices {
		list = append(list, namedMatrix{m.Name, m})
	}
	if h.Suite != nil {
		for name, m := range h.Suite.Matrices(h.SuiteWorld) {
			list = append(list, namedMatrix{name, m})
		}
	}
	return list
}

// reportStore has the matrices of a host, and keeps the latest report of each.
// Its methods are safe for concurrent use.
type reportStore struct {
	matrices []namedMatrix

	mu     sync.Mutex
	latest map[string]keptReport
	last   string // name of the matrix that was run last
}

// keptReport is a report with the matrix that was run and the time when it was finished.
type keptReport struct {
	*contract.Report
	of   namedMatrix
	at   time.Time
	took time.Duration
}

// put keeps the report of a matrix in the place of the one before.
func (s *reportStore) put(k keptReport) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.latest == nil {
		s.latest = make(map[string]keptReport)
	}
	s.latest[k.of.name], s.last = k, k.of.name
}

// latestOf returns the latest report of a matrix; "": of that which was run last.
func (s *reportStore) latestOf(matrix string) (k keptReport, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok = s.latest[cmp.Or(matrix, s.last)]
	return k, ok
}

// matrix finds a matrix by name; if there is only one, the name may be empty.
func (s *reportStore) matrix(name string) (namedMatrix, error) {
	if name == "" && len(s.matrices) == 1 {
		return s.matrices[0], nil
	}
	var names []string
	for _, m := range s.matrices {
		if m.name == name && name != "" {
			return m, nil
		}
		names = append(names, m.name)
	}
	if name == "" {
		return namedMatrix{}, badArguments("matrix is missing; allowed: "+toolschema.OrNone(names),
			"This host has several matrices; say which.")
	}
	return namedMatrix{}, notFound(fmt.Sprintf("unknown matrix %q; known: %s%s", text.Clip(name, maxShown),
		toolschema.OrNone(names), text.Meant(name, names)), "contract_list lists the matrices.")
}

// report returns the latest report of a matrix; if none is named and there are
// several, of the matrix run last.
func (s *reportStore) report(name string) (keptReport, error) {
	if name != "" || len(s.matrices) <= 1 {
		m, err := s.matrix(name)
		if err != nil {
			return keptReport{}, err
		}
		name = m.name
	}
	if k, ok := s.latestOf(name); ok {
		return k, nil
	}
	return keptReport{}, problem(http.StatusNotFound, codeNothing,
		"no report is there yet: the matrix has not been run since the server was started", "Call contract_run first.")
}

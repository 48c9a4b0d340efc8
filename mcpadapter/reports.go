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

// reports keeps the latest report of each matrix.
type reports struct {
	mu     sync.Mutex
	latest map[string]kept
	last   string // name of the matrix that was run last
}

// kept is a report with the time when it was finished.
type kept struct {
	*contract.Report
	at   time.Time
	took time.Duration
}

func (r *reports) put(matrix string, k kept) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.latest == nil {
		r.latest = make(map[string]kept)
	}
	r.latest[matrix], r.last = k, matrix
}

// get returns the latest report of a matrix; name empty: of any.
func (r *reports) get(matrix string, anyMatrix bool) (name string, k kept, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if anyMatrix {
		matrix = r.last
	}
	k, ok = r.latest[matrix]
	return matrix, k, ok
}

// matrix finds a matrix by name; if there is only one, the name may be empty.
func (s *Server) matrix(name string) (*contract.Matrix, error) {
	if name == "" && len(s.host.Matrices) == 1 {
		return s.host.Matrices[0], nil
	}
	var names []string
	for _, m := range s.host.Matrices {
		if m.Name == name && name != "" {
			return m, nil
		}
		names = append(names, m.Name)
	}
	if name == "" {
		return nil, badArguments("matrix is missing; allowed: "+toolschema.OrNone(names), "This host has several matrices; say which.")
	}
	return nil, notFound(fmt.Sprintf("unknown matrix %q; known: %s%s", text.Clip(name, maxShown), toolschema.OrNone(names), toolschema.Meant(name, names)),
		"contract_list lists the matrices.")
}

// report returns the latest report of a matrix; if none is named and there are
// several, of the matrix run last.
func (s *Server) report(name string) (string, kept, error) {
	if name != "" || len(s.host.Matrices) == 1 {
		m, err := s.matrix(name)
		if err != nil {
			return "", kept{}, err
		}
		name = m.Name
		if _, k, ok := s.reports.get(name, false); ok {
			return name, k, nil
		}
	} else if found, k, ok := s.reports.get("", true); ok {
		return found, k, nil
	}
	return "", kept{}, &problem{http.StatusNotFound, codeNothing, "no report is there yet: the matrix has not been run since the server was started",
		"Call contract_run first."}
}

package mcpadapter

import (
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/experiment/gameday"
	"github.com/shakedown-go/shakedown/contract/trace"
)

// A Host is what a program exposes. A part that is nil has no tools; at least
// one part is required.
type Host struct {
	_ struct{}
	// Name is what clients see as the server's name. Required.
	Name string
	// Injector is the injector of the live program. Clients register and remove its
	// faults.
	Injector *chaos.Injector
	// Events is the feed that the injector's OnEvent passes its events to. nil:
	// clients cannot subscribe to faults. Delivered faults are audited either way.
	Events *Feed
	// Experiments are the experiments that may be run by name.
	Experiments *gameday.Lab
	// Matrices are the contracts that may be run. If there are several, each needs
	// a name of its own.
	Matrices []*contract.Matrix
	// Runs are the recorded runs whose timelines clients may query.
	Runs *trace.Runs
	// Workload lets clients run the workload that Runs was made with. It runs apart
	// from the live injector.
	Workload bool
}

// Middleware puts the host's injector into the context of every request of the
// program under test, so that its wrapped calls find it. Without an injector it
// returns next.
func (h Host) Middleware(next http.Handler) http.Handler {
	if h.Injector == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(chaos.NewContext(r.Context(), h.Injector)))
	})
}

// check returns all problems of a host, joined.
func (h Host) check() error {
	var problems []error
	add := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("mcpadapter: "+format, args...))
	}
	if h.Name == "" {
		add("Host.Name is empty; allowed: a name")
	}
	if h.Injector == nil && h.Experiments == nil && len(h.Matrices) == 0 && h.Runs == nil {
		add("Host %q has nothing to serve; allowed: an Injector, Experiments, Matrices or Runs", h.Name)
	}
	if h.Workload && h.Runs == nil {
		add("Host.Workload is true without Runs; allowed: with Runs made by trace.NewRuns with a Workload")
	}
	if h.Events != nil && h.Injector == nil {
		add("Host.Events is set without an Injector; allowed: with the injector whose OnEvent is Events.Record")
	}
	seen := make(map[string]bool)
	for i, m := range h.Matrices {
		switch {
		case m == nil:
			add("Host.Matrices[%d] is nil; allowed: a matrix", i)
			continue
		case m.Name == "" && len(h.Matrices) > 1:
			add("Host.Matrices[%d].Name is empty; allowed: a name, where there are several", i)
		case seen[m.Name]:
			add("Host.Matrices[%d].Name is %q, as that of another; allowed: names that differ", i, m.Name)
		}
		seen[m.Name] = true
		if err := m.Validate(); err != nil {
			problems = append(problems, fmt.Errorf("mcpadapter: Host.Matrices[%d]: %w", i, err))
		}
	}
	return errors.Join(problems...)
}

// environment is the variable that names where the program runs.
const environment = "SHAKEDOWN_ENVIRONMENT"

func getenv(given func(string) string) func(string) string {
	if given != nil {
		return given
	}
	return os.Getenv
}

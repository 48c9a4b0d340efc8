package suite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/findings"
	"github.com/shakedown-go/shakedown/contract/mutate"
	"github.com/shakedown-go/shakedown/contract/replay"
	"github.com/shakedown-go/shakedown/internal/strictjson"
	"github.com/shakedown-go/shakedown/scoring"
)

// The names of the matrices of a suite.
const (
	contractMatrix = "contract"
	mutationMatrix = "mutation"
	replayMatrix   = "replay"
)

// matrixNames are those names, in the order of [Suite.Matrices].
func matrixNames() []string { return []string{contractMatrix, mutationMatrix, replayMatrix} }

// Options are what a file may name besides what this package has. nil and the zero value
// add nothing.
type Options struct {
	_ struct{}
	// Effects are the functions that invariants name as their effects: they list the
	// effects in a state of the world, as for [invariant.ExactlyOnce]. They must be safe
	// for concurrent use. In a played session the effects are those that its tools
	// declare ([replay.Effects]), and the function is not called.
	Effects map[string]func(state any) []string
	// Mutators make prompts in other words besides the kinds of package mutate.
	Mutators []mutate.Mutator
	// Plan is what rules may name besides the ready-made kinds.
	Plan *planjson.Options
	// Variables are the variables of the environment that the file may name, and Hosts those
	// to which it may send prompts and requests, and at which its proxies may listen, each with or
	// without its port. nil: any; an empty list: none.
	Variables, Hosts []string
	// OwnWorlds says that [Suite.Matrices] is given a function, so that what the file's agent
	// behind HTTP cannot do is no problem of the file.
	OwnWorlds bool
}

// A Suite is a file that was read. It is immutable and safe for concurrent use.
type Suite struct {
	root     *strictjson.Node // the document as it was written
	doc      document
	contract []contract.Invariant
	mutation []contract.Invariant // of the mutation matrix
	played   []contract.Invariant // of the replay matrix
	scenarios,
	mutations []contract.Scenario
	set      *mutate.Set // nil: no mutations
	sessions []*replay.Session
	weights  scoring.Weights
	agent    *endpoint // nil: none in the file
	points   []string  // those of the file, and those of the proxies that are no tools
}

// Load reads a file: YAML, or JSON. Files that it names are within its folder.
//
// Every problem is a [*scoring.FieldError] with its file and place; they are joined in the order of
// their places, up to 100 of them: those of the file, then those of files that it names. Other
// errors are those of reading the file.
func Load(path string, o *Options) (*Suite, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("suite: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("suite: %w", err)
	}
	return load(path, data, o)
}

func load(path string, data []byte, o *Options) (*Suite, error) {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("suite: %w", err)
	}
	defer root.Close()
	l := newLoader(path, root, o)
	s := l.suite(data)
	if err := l.problems(); err != nil {
		return nil, err
	}
	return s, nil
}

// Matrices yields the matrices of the file, with their names: "contract", "mutation" if
// it has mutations, and "replay" if it has sessions. Each call makes matrices of its own.
//
// fresh makes the worlds, as [contract.Matrix].NewWorld does. nil: the agent of the file
// makes them, which is behind HTTP; cells then run one at a time and in real time, and the
// proxies of the file listen while a matrix runs, so that one can run at a time. If the
// file has none either, a run of a matrix is an error.
//
// In the replay matrix the tools of a world are those of the session, and its state is
// what the played calls did, if the session says what its tools do. The agent must call
// the tools that it is given. An agent behind HTTP cannot be given tools, so that matrix
// needs fresh.
func (s *Suite) Matrices(fresh func(context.Context) (*contract.World, error)) iter.Seq2[string, *contract.Matrix] {
	return func(yield func(string, *contract.Matrix) bool) {
		m := s.matrix(s.contract, s.scenarios)
		if d := s.doc.Contract.Description; d != "" {
			m.Name += ": " + d
		}
		s.give(m, fresh)
		if !yield(contractMatrix, m) {
			return
		}
		if s.set != nil {
			m := s.matrix(s.mutation, s.mutations)
			s.give(m, fresh)
			if !yield(mutationMatrix, m) {
				return
			}
		}
		if len(s.sessions) > 0 {
			m := s.matrix(s.played, s.replays(fresh))
			if fresh == nil && s.agent != nil {
				s.askSessions(m)
			}
			yield(replayMatrix, m)
		}
	}
}

func (s *Suite) matrix(invariants []contract.Invariant, scenarios []contract.Scenario) *contract.Matrix {
	return &contract.Matrix{Name: s.doc.Contract.Name, Points: slices.Clone(s.points),
		Prompts: slices.Clone(s.doc.Prompts), Invariants: slices.Clone(invariants), Scenarios: slices.Clone(scenarios),
		Trials: s.doc.Trials, Seed: s.doc.Advanced.Seed, Timeout: s.doc.Timeout, ShareObservations: s.doc.Share,
		AllowInconclusive: s.doc.AllowInconclusive}
}

// give gives a matrix its worlds; without a function, that of the file's agent.
func (s *Suite) give(m *contract.Matrix, newWorld func(context.Context) (*contract.World, error)) {
	switch {
	case newWorld != nil:
		m.NewWorld = newWorld
	case s.agent == nil:
		m.NewWorld = noWorlds
	default:
		s.agent.give(m)
	}
}

// askSessions gives the file's agent the scenarios of sessions without calls, which need no tools.
func (s *Suite) askSessions(m *contract.Matrix) {
	for i := range m.Scenarios {
		if len(s.sessions[i].Calls) == 0 {
			m.Scenarios[i].NewWorld = nil
			s.give(m, nil)
		}
	}
}

// noWorlds stands for worlds where a file has no agent and Go gives none.
func noWorlds(context.Context) (*contract.World, error) { return nil, errNoWorld }

var (
	errNoWorld = errors.New("suite: no worlds: give a function to Suite.Matrices, or an agent in the file")
	errNoTools = errors.New("suite: the tools of a session cannot be given to an agent behind HTTP: " +
		"give a function to Suite.Matrices that makes worlds")
)

// replays makes the scenarios of the sessions.
func (s *Suite) replays(newWorld func(context.Context) (*contract.World, error)) []contract.Scenario {
	scenarios, err := replay.Scenarios(s.sessions,
		func(ctx context.Context, one *replay.Session, tools chaos.ToolRegistry) (*contract.World, error) {
			switch {
			case newWorld != nil:
			case s.agent != nil:
				return nil, errNoTools
			default:
				return nil, errNoWorld
			}
			w, err := newWorld(ctx)
			if err != nil || w == nil {
				return w, err
			}
			own := *w
			own.Tools = tools
			own.State = nil // that of the world is not what the played tools did
			if p, ok := tools.(*replay.Player); ok && declares(one) {
				own.State = p.State
			}
			return &own, nil
		}, nil)
	if err != nil { // Load has made them before
		return nil
	}
	return scenarios
}

// declares reports whether a session says what its tools do. Else nobody knows whether
// an effect was there twice.
func declares(s *replay.Session) bool {
	return slices.ContainsFunc(s.Tools, func(t chaos.Tool) bool { return t.Effect != "" }) ||
		slices.ContainsFunc(s.Calls, func(c findings.Call) bool { return c.Effect != "" })
}

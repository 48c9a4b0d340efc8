package suite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/cassette"
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
	// Invariants are types of one's own. A name that is taken is an error.
	Invariants []Kind
	// Effects are the functions that invariants name as their effects: they list the
	// effects in a state of the world, as for [invariant.ExactlyOnce]. They must be safe
	// for concurrent use. In a played session the effects are those that its tools
	// declare ([replay.Effects]), and the function is not called.
	Effects map[string]func(state any) []string
	// Mutators make prompts in other words besides the kinds of package mutate.
	Mutators []mutate.Mutator
	// Plan is what rules may name besides the ready-made kinds.
	Plan *planjson.Options
	// Cassette are the settings of the cassette that the file names.
	Cassette *cassette.Options
	// Variables are the variables of the environment that the file may name, and Hosts those
	// to which it may send prompts, each with or without its port. nil: any; an empty list: none.
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
	tape     *cassette.Cassette
}

// Load reads a file: YAML, or JSON. Files that it names are within its folder.
//
// Every problem is an [*Error] with its place; they are joined in the order of their
// places, up to 100 of them: those of the file, then those of files that it names. Before
// them are a [*scoring.FieldError] for each problem of the options. Other errors are those
// of reading the file.
//
// If the file names a cassette, it is opened, and [Suite.Close] must be called. Load must
// then not be called within a bubble of testing/synctest.
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

// load reads a file of that name.
func load(path string, data []byte, o *Options) (*Suite, error) {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("suite: %w", err)
	}
	defer root.Close()
	l := newLoader(path, root, o)
	s := l.suite(data)
	if err := l.problems(); err != nil {
		if s != nil {
			_ = s.Close() // nothing was recorded
		}
		return nil, err
	}
	return s, nil
}

// Close ends the use of the cassette and writes what was recorded. A suite without one
// has nothing to close. Its error is that of [cassette.Cassette.Close].
func (s *Suite) Close() error {
	if s.tape == nil {
		return nil
	}
	return s.tape.Close()
}

// Matrices yields the matrices of the file, with their names: "contract", "mutation" if
// it has mutations, and "replay" if it has sessions. Each call makes matrices of its own.
//
// fresh makes the worlds, as [contract.Matrix].NewWorld does. nil: the agent of the file
// makes them, which is behind HTTP; cells then run one at a time and in real time. If the
// file has none either, a run of a matrix is an error.
//
// In the replay matrix the tools of a world are those of the session, and its state is
// what the played calls did, if the session says what its tools do. The agent must call
// the tools that it is given. An agent behind HTTP cannot be given tools, so that matrix
// needs fresh.
func (s *Suite) Matrices(fresh func(context.Context) (*contract.World, error)) iter.Seq2[string, *contract.Matrix] {
	return func(yield func(string, *contract.Matrix) bool) {
		newWorld := s.worlds(fresh)
		m := s.matrix(s.contract, s.scenarios)
		if d := s.doc.Contract.Description; d != "" {
			m.Name += ": " + d
		}
		s.give(m, newWorld)
		if !yield(contractMatrix, m) {
			return
		}
		if s.set != nil {
			m := s.matrix(s.mutation, s.mutations)
			s.give(m, newWorld)
			if !yield(mutationMatrix, m) {
				return
			}
		}
		if len(s.sessions) > 0 {
			m := s.matrix(s.played, s.replays(newWorld))
			if newWorld == nil && s.agent != nil {
				s.askSessions(m)
			}
			yield(replayMatrix, m)
		}
	}
}

// matrix is a matrix without worlds.
func (s *Suite) matrix(invariants []contract.Invariant, scenarios []contract.Scenario) *contract.Matrix {
	return &contract.Matrix{Name: s.doc.Contract.Name, Points: slices.Clone(s.doc.Points),
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
	case s.tape != nil:
		m.NewWorld = func(context.Context) (*contract.World, error) { return nil, errNoTape }
	default:
		m.World, m.Reset = s.agent.world()
		m.Secrets = slices.Clone(s.agent.secrets)
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
	errNoTape  = errors.New("suite: the cassette cannot be given to an agent behind HTTP: " +
		"give a function to Suite.Matrices that makes worlds")
	errNoTools = errors.New("suite: the tools of a session cannot be given to an agent behind HTTP: " +
		"give a function to Suite.Matrices that makes worlds")
)

// worlds makes worlds by fresh, each with a player of the cassette.
func (s *Suite) worlds(fresh func(context.Context) (*contract.World,
	error)) func(context.Context) (*contract.World, error) {
	if fresh == nil || s.tape == nil {
		return fresh
	}
	return func(ctx context.Context) (*contract.World, error) {
		player := s.tape.Player()
		w, err := fresh(context.WithValue(ctx, playerKey{}, player))
		if err != nil || w == nil {
			return nil, err
		}
		own := *w
		own.Err = func() error {
			var also error
			if w.Err != nil {
				also = w.Err()
			}
			return errors.Join(player.Err(), also)
		}
		return &own, nil
	}
}

type playerKey struct{}

// Transport returns the transport of a world that plays the cassette of the file, or nil
// if the file has none. ctx is the context with which [Suite.Matrices] calls its function.
// Whoever makes the world gives the transport to its HTTP clients. What the cassette does
// not have becomes an error of [contract.World].Err.
func Transport(ctx context.Context) http.RoundTripper {
	if p, ok := ctx.Value(playerKey{}).(*cassette.Player); ok {
		return p
	}
	return nil
}

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

package main

import (
	"context"
	_ "embed"
	"errors"
	"slices"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/mutate"
	"github.com/shakedown-go/shakedown/contract/replay"
	"github.com/shakedown-go/shakedown/examples/internal/orderdesk"
	"github.com/shakedown-go/shakedown/scoring"
)

// savedFailure is a session of a cell that the fragile agent broke.
//
//go:embed testdata/refund-reply-lost_one-refund_1.json
var savedFailure []byte

// playedInvariant is the invariant that broke in savedFailure.
const playedInvariant = "one-refund"

// score joins four parts in the report: the contract and the chaos score, which it has, and
// two matrices of their own, so that their cells are not in the verdict.
func (s *settings) score(ctx context.Context, r *contract.Report) error {
	mutation, err := s.mutated(ctx)
	if err != nil {
		return err
	}
	replayed, err := s.replayed(ctx)
	if err != nil {
		return err
	}
	parts := scoring.Parts{
		ContractVerdict: r.Score.Verdict, Contract: r.Score.Part(), Chaos: r.Chaos.Part(),
		Mutation: mutation.Part(), Replay: replayed.Part(),
	}
	// A part that decided nothing is listed as not run, and is no 0. Only then are weights
	// scaled: else an inconclusive contract would count as passed.
	missing := slices.Contains([]*float64{parts.Contract, parts.Chaos, parts.Mutation, parts.Replay}, nil)
	overall, err := scoring.DefaultWeights().Overall(parts, &scoring.OverallOptions{Renormalise: missing})
	if err != nil {
		return err
	}
	r.Mutation, r.Replay, r.Overall = mutation, replayed, &overall
	return nil
}

// mutated scores the agent with its prompts in other words.
func (s *settings) mutated(ctx context.Context) (*scoring.MutationScore, error) {
	m, set, err := s.mutations(ctx)
	if err != nil {
		return nil, err
	}
	r, err := s.runPart(ctx, m)
	if err != nil {
		return nil, err
	}
	score, err := set.Score(r)
	return &score, undecidedIsFine(err)
}

// mutations is the matrix in which each scenario says the prompts in other words.
func (s *settings) mutations(ctx context.Context) (*contract.Matrix, *mutate.Set, error) {
	set, err := mutate.New(&mutate.Options{Seed: s.seed, Variants: 3,
		Kinds: []string{"typo", "paraphrase", "repeat", "ignore_instructions"}})
	if err != nil {
		return nil, nil, err
	}
	m := s.matrix()
	m.Scenarios, _, err = set.Scenarios(ctx, allPrompts(m))
	return m, set, err
}

// allPrompts are those of the matrix and the probes of its invariants.
func allPrompts(m *contract.Matrix) []string {
	all := slices.Clone(m.Prompts)
	for _, inv := range m.Invariants {
		all = append(all, inv.Probes...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// replayed scores the agent in the saved failure.
func (s *settings) replayed(ctx context.Context) (*scoring.ReplayScore, error) {
	m, err := s.replays()
	if err != nil {
		return nil, err
	}
	r, err := s.runPart(ctx, m)
	if err != nil {
		return nil, err
	}
	score, err := r.ReplayOf(m.Scenarios)
	return &score, undecidedIsFine(err)
}

// replays is the matrix in which the saved failure is played, by order: the robust agent
// sends request ids, which no recorded call has, so by arguments nothing would be known of
// it. An id asks for nothing else, so the recorded answers fit; docs/recordings.md compares.
func (s *settings) replays() (*contract.Matrix, error) {
	session, err := replay.Read(savedFailure)
	if err != nil {
		return nil, err
	}
	scenarios, err := replay.Scenarios([]*replay.Session{session}, orderdesk.Played(s.habits), &replay.PlayOptions{ByOrder: true})
	if err != nil {
		return nil, err
	}
	return s.replayMatrix(scenarios...), nil
}

// matrixOf is the matrix that has the scenario of a cell; that of the desk if none has.
func (s *settings) matrixOf(ctx context.Context, c contract.Cell) (*contract.Matrix, error) {
	mutations, _, err := s.mutations(ctx)
	if err != nil {
		return nil, err
	}
	replays, err := s.replays()
	if err != nil {
		return nil, err
	}
	for _, m := range []*contract.Matrix{mutations, replays} {
		if slices.ContainsFunc(m.Scenarios, func(one contract.Scenario) bool { return one.Name == c.Scenario }) {
			return m, nil
		}
	}
	return s.matrix(), nil
}

// runPart runs each cell of a matrix once: no fault is drawn, and the agent draws nothing.
func (s *settings) runPart(ctx context.Context, m *contract.Matrix) (*contract.Report, error) {
	m.Trials, m.KeepValues = 1, false
	return m.Run(ctx, &contract.RunOptions{Workers: workers})
}

// replayMatrix asks of these scenarios what the saved failure broke.
func (s *settings) replayMatrix(scenarios ...contract.Scenario) *contract.Matrix {
	m := s.matrix()
	m.Invariants = slices.DeleteFunc(m.Invariants, func(inv contract.Invariant) bool {
		return inv.Name != playedInvariant
	})
	m.Invariants[0].Probes = nil // they ask for more than the session has
	m.Scenarios = scenarios
	return m
}

// undecidedIsFine drops the errors of a part that decided nothing: its score says so.
func undecidedIsFine(err error) error {
	if errors.Is(err, scoring.ErrNoneRan) || errors.Is(err, scoring.ErrNoDecidedCell) {
		return nil
	}
	return err
}

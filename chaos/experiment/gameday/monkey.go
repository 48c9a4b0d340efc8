package gameday

import (
	"context"
	"errors"

	"github.com/shakedown-go/shakedown/chaos/experiment"
	"github.com/shakedown-go/shakedown/internal/hash"
)

// A Monkey picks one of the registered experiments at random and runs it.
type Monkey struct {
	_    struct{}
	Lab  *Lab // required
	Seed uint64
}

// Pick returns the name for a round. It is a pure function of the seed, the round
// and the registered names, each of which is equally likely. A new experiment is
// picked in its share of the rounds; in the other rounds the picks stay the same.
//
// Each name draws a number, and the highest one wins (rendezvous hashing: Thaler
// and Ravishankar, "A Name-Based Mapping Scheme for Rendezvous", 1996).
func (m *Monkey) Pick(round uint64) (string, error) {
	if m.Lab == nil {
		return "", errors.New("gameday: a monkey without a lab")
	}
	names := m.Lab.Names()
	if len(names) == 0 {
		return "", errors.New("gameday: no experiment is registered; allowed: at least one")
	}
	at := hash.Combine(hash.Mix(m.Seed), round)
	best, most := "", uint64(0)
	for _, name := range names {
		if draw := hash.Combine(at, hash.String(name)); best == "" || draw > most {
			best, most = name, draw
		}
	}
	return best, nil
}

// Run runs the experiment that Pick returns for a round.
func (m *Monkey) Run(ctx context.Context, round uint64) (experiment.Result, error) {
	name, err := m.Pick(round)
	if err != nil {
		return experiment.Result{}, err
	}
	return m.Lab.Run(ctx, name, false)
}

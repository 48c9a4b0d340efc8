package replay

import (
	"context"
	"errors"
	"fmt"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fielderror"
)

// Scenarios makes a scenario of each session, under its name: its prompts, and worlds in
// which its tools are played. world makes a world of the session around the tools it is
// given, a new [*Player] for each cell; they need not be the world's Tools. The player's
// misses become errors of World.Err, beside those of the world: a cell in which the
// agent left the session is inconclusive. A session without prompts gets those of the
// matrix.
//
// A session in which a call of a tool failed or is suspected, or which has a plan, is a
// scenario with broken tools ([contract.Scenario.Layer]), as [contract.Invariant.Applies]
// sees it. It has no calm runs, since each run plays the failures: an invariant that
// compares with one is inconclusive. The answer of a session in which nothing failed is
// the baseline of its prompt, if it has one prompt and no failure was expected.
//
// world must be safe for concurrent use. The error joins the problems of all sessions
// and names that two of them have.
func Scenarios(sessions []*Session,
	world func(ctx context.Context, s *Session, tools chaos.ToolRegistry) (*contract.World, error), o *PlayOptions,
) ([]contract.Scenario, error) {
	list := fields.List()
	list.Demand(world != nil, "world", nil, "a function that makes a world")
	scenarios := make([]contract.Scenario, 0, len(sessions))
	first := make(map[string]int, len(sessions))
	for i, s := range sessions {
		at := fmt.Sprintf("sessions[%d]", i)
		if s == nil {
			list.Wrong(at, nil, "a session")
			continue
		}
		if before, twice := first[s.Name]; twice {
			list.Wrong(at+".name", s.Name, fmt.Sprintf("a name of its own: sessions[%d] has this one", before))
			continue
		}
		first[s.Name] = i
		if err := s.Validate(); err != nil {
			list.Each(at, err)
			continue
		}
		p, err := newScript(s, o)
		if err != nil {
			list.Each(at, err)
			continue
		}
		scenarios = append(scenarios, p.scenario(world))
	}
	if err := list.Err(); err != nil {
		return nil, err
	}
	return scenarios, nil
}

func (p *script) scenario(
	world func(context.Context, *Session, chaos.ToolRegistry) (*contract.World, error),
) contract.Scenario {
	sc := contract.Scenario{Name: p.session.Name, Prompts: p.session.Prompts}
	failed, broken := p.session.failures()
	if broken {
		sc.Layer = chaos.LayerTool
	}
	if !failed && len(sc.Prompts) == 1 && p.session.Answer != "" && p.session.ExpectedFailure == "" {
		sc.Baselines = []string{p.session.Answer}
	}
	sc.NewWorld = func(ctx context.Context) (*contract.World, error) {
		player := p.player()
		w, err := world(ctx, p.session, player)
		if err != nil || w == nil {
			return w, err
		}
		var notCalm error
		if cell, _ := contract.CellOf(ctx); broken && cell.Trial == 0 {
			notCalm = fmt.Errorf("replay: session %s has failures, so no run that plays it is calm", p.session.Name)
		}
		own := *w
		own.Err = func() error {
			var also error
			if w.Err != nil {
				also = w.Err()
			}
			return errors.Join(append(fielderror.Apart(player.Err()), notCalm, also)...)
		}
		return &own, nil
	}
	return sc
}

// failures reports whether any call of a session failed or may have, and whether a player
// plays one that failed, or those of a cell with faults.
func (s *Session) failures() (recorded, played bool) {
	played = s.Plan != nil
	for i := range s.Calls {
		c := &s.Calls[i]
		failed := c.Failure() != nil
		recorded, played = recorded || failed || unsure(c), played || failed && s.called(i)
	}
	return recorded || played, played
}

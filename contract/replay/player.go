package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/jsonhash"
	"github.com/shakedown-go/shakedown/internal/text"
)

// PlayOptions are the settings of a [Player]; nil and the zero value work.
type PlayOptions struct {
	_ struct{}
	// ByOrder answers the n-th call of a tool in a lane with the n-th recorded one,
	// whatever its arguments: for calls whose arguments are not known, and for an agent
	// that was mended since and asks in another way. A call beyond the last recorded
	// one gets its answer again if it repeats the call before it; else it is a miss.
	ByOrder bool
	// AllowHoles plays a session of which parts are missing. A call that meets such a
	// part is a miss. Without it the session is refused.
	AllowHoles bool
	// Else answers calls that no recorded call is equal to, and lists its tools too.
	// What it does is not among the effects: a world with it has the state of its tools,
	// not [Player.State]. nil: such a call is a miss.
	Else chaos.ToolRegistry
	// Secrets are those that were given to [Session.Redact] when the session was saved.
	Secrets []string
}

// Player returns a player of the session's tools. One script serves many players: to
// play a session in many cells, use [Scenarios].
//
// The error joins a [*FieldError] for each problem of the session, and for each call of
// which a part is missing that must be known, unless o allows that.
func (s *Session) Player(o *PlayOptions) (*Player, error) {
	p, err := newScript(s, o)
	if err != nil {
		return nil, err
	}
	return p.player(), nil
}

// A Player is a tool registry that answers as the tools of a session did. It runs no
// tool, and a call takes no time.
//
// A call gets the answer of the recorded call that is equal: of the same tool, with
// arguments of the same value, spelled in any way. Of several the n-th equal call of a
// lane gets the n-th, and one beyond the last the last again. Lanes are those of the
// recording; a lane that is not in it is answered from all recorded calls, in their
// order, and so is any lane of an imported session, since importers make lanes of what
// overlapped. So answers do not depend on how lanes interleave, unless equal calls of a
// lane overlap and had different answers. Calls that a tool made itself are not played.
//
// A call that equals no recorded one goes to [PlayOptions.Else], or else gets a
// [*MissError].
//
// All methods are safe for concurrent use. The results that CallTool returns are those
// of the session, and must not be changed.
type Player struct {
	script *script

	mu      sync.Mutex // guards what follows
	cursors map[cursor]progress
	played  []bool // by index of the call
	calls   int    // of CallTool
	effects []Effect
	done    map[keyed]bool // the idempotency keys of effects
	doubts  []doubt        // effects that are unknown
	passed  []string       // the tools of calls that Else answered
	missed  map[missKey]*MissError
	misses  []*MissError // those of missed, in their order
	more    int          // misses beyond those that are kept
}

// A cursor is where a lane stands among equal calls.
type cursor struct {
	equals int
	lane   string
}

// progress is how many of them were played, and the arguments of the last.
type progress struct {
	n    int
	args uint64
}

func (p *script) player() *Player {
	r := &Player{script: p}
	r.Rewind()
	return r
}

// Rewind forgets what was played: the player begins anew.
func (p *Player) Rewind() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cursors = make(map[cursor]progress, len(p.script.answers))
	p.played = make([]bool, len(p.script.answers))
	p.effects = make([]Effect, 0, len(p.script.answers))
	p.done, p.missed = make(map[keyed]bool), make(map[missKey]*MissError)
	p.doubts, p.passed, p.misses, p.more, p.calls = nil, nil, nil, 0, 0
}

// Tools lists the tools of the session, with what they declare, and those of
// [PlayOptions.Else] that the session does not have.
func (p *Player) Tools(ctx context.Context) ([]chaos.Tool, error) {
	tools := slices.Clone(p.script.tools)
	if p.script.Else == nil {
		return tools, nil
	}
	more, err := p.script.Else.Tools(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range more {
		if !slices.ContainsFunc(p.script.tools, func(own chaos.Tool) bool { return own.Name == t.Name }) {
			tools = append(tools, t)
		}
	}
	return tools, nil
}

// CallTool returns the recorded answer to a call. If ctx has ended, it returns its
// error and plays nothing.
func (p *Player) CallTool(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
	lane := ""
	if ctx != nil {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		lane = chaos.LaneOf(ctx)
	}
	sum := jsonhash.Sum(args)
	found := p.script.find(name, args, sum)
	a, err := p.play(found, name, lane, args, sum)
	switch {
	case err != nil:
		return nil, err
	case a == nil: // Else answers
		return p.script.Else.CallTool(ctx, name, args)
	}
	return a.result, a.err
}

// play takes the next answer. Without one, err is a miss, or nil if Else is to answer.
func (p *Player) play(found *equals, name, lane string, args json.RawMessage, sum uint64) (*answer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
	at := -1
	if found != nil {
		at = p.next(found, lane, sum)
	}
	switch {
	case at >= 0 && p.script.answers[at].hole == "":
		p.played[at] = true
		p.worked(at, name, args)
		return &p.script.answers[at], nil
	case p.script.Else != nil:
		if !slices.Contains(p.passed, name) {
			p.passed = append(p.passed, name)
		}
		return nil, nil
	}
	return nil, p.miss(at, name, lane, args, sum)
}

func (p *Player) next(found *equals, lane string, sum uint64) int {
	calls := found.of(lane)
	at := cursor{found.id, lane}
	before := p.cursors[at]
	switch {
	case before.n < len(calls):
		p.cursors[at] = progress{before.n + 1, sum}
		return calls[before.n]
	case p.script.ByOrder && before.args != sum:
		return -1
	}
	return calls[len(calls)-1]
}

// Unplayed lists the recorded calls of the agent that were not played, by their
// numbers: the first call of the session is 1.
func (p *Player) Unplayed() []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	var numbers []int
	for i, played := range p.played {
		if !played && p.script.session.called(i) {
			numbers = append(numbers, i+1)
		}
	}
	return numbers
}

const maxMisses = 100

// Err joins the misses so far, each once however often the call was repeated; nil:
// there are none. It is for [contract.World.Err]: what an agent does after a miss says
// nothing about it.
func (p *Player) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	errs := make([]error, 0, len(p.misses)+1)
	for _, m := range p.misses {
		errs = append(errs, m)
	}
	if p.more > 0 {
		errs = append(errs, fmt.Errorf("replay: and %s without an answer", text.Plural(p.more, "more call")))
	}
	return errors.Join(errs...)
}

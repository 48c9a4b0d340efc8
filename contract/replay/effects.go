package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract/findings"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/jsonhash"
	"github.com/shakedown-go/shakedown/internal/redact"
	"github.com/shakedown-go/shakedown/internal/strictjson"
)

// An Effect is work that a played call did.
type Effect struct {
	_    struct{}
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args,omitempty"` // of the call
	// Key is the JSON pointer of the argument by which the tool knows a repeated
	// request, as it declares; empty: it does not.
	Key string `json:"key,omitempty"`
}

// Effects are the effects of a run, in their order.
type Effects []Effect

// Names returns a name for each effect, which says what was done and not by which
// attempt: the tool, and its arguments but for the idempotency key. Effects with equal
// arguments have one name. So it can be given to invariant.AtMostOnce:
//
//	invariant.AtMostOnce("once", contract.Critical, replay.Effects.Names)
func (e Effects) Names() []string {
	names := make([]string, len(e))
	known := make(map[request]string, len(e))
	for i, x := range e {
		args := canonical(jsonedit.Without(x.Args, x.Key))
		what := request{x.Tool, jsonhash.Sum(args)}
		if known[what] == "" {
			known[what] = strings.TrimSpace(x.Tool + " " + string(args))
		}
		names[i] = known[what]
	}
	return names
}

// keyed is a tool and the value of an idempotency key.
type keyed struct{ tool, key string }

// A doubt is a call of which nobody knows whether it did its work.
type doubt struct {
	call int // its index
	keyed
}

// worked adds what a played call did; p.mu is held.
func (p *Player) worked(at int, tool string, args json.RawMessage) {
	s := p.script
	a := &s.answers[at]
	if a.effect != findings.Done && a.effect != findings.Unknown || !s.works[tool] {
		return
	}
	key, recorded := a.key, s.session.Calls[at].Args
	unknown := s.ByOrder || recorded == nil
	if unknown || strings.Contains(key, redact.Marker) { // two keys may have been redacted to one
		key = valueAt(args, s.keys[tool]) // what this agent asked for
	}
	if unknown {
		args = slices.Clone(args)
	} else {
		args = recorded
	}
	request := keyed{tool, key}
	switch {
	case a.effect == findings.Unknown:
		p.doubts = append(p.doubts, doubt{at, request})
		return
	case key == "":
	case p.done[request]:
		return
	default:
		p.done[request] = true
	}
	p.effects = append(p.effects, Effect{Tool: tool, Args: args, Key: s.keys[tool]})
}

// Effects lists the work that the played calls did, in the order of the calls. Calls of
// a tool that declares an idempotency key count once for each value of it; calls without
// one, and those of other tools, count each. A call counts if its recorded effect is
// done, or if it succeeded and its tool declares an effect. One whose effect is unknown
// is not listed: see [Player.State].
func (p *Player) Effects() Effects {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(Effects(p.effects))
}

// State is [Player.Effects] in the form of contract.World.State. It is an error if one
// of the played calls may or may not have done its work, and no other call with the same
// idempotency key did, or if a call was played and the session says of no tool and of no
// call which effect it has: invariants over effects are then undecided. Set the effects
// of the tools (dialect.Options.Tools) or of that call in the session to decide it.
// It is also an error if [PlayOptions.Else] answered a call of a tool that does not
// declare that it has no effect: a state must have what was done there.
func (p *Player) State(ctx context.Context) (any, error) {
	if err := p.doneElsewhere(ctx); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range p.doubts {
		if !p.done[d.keyed] {
			return nil, fmt.Errorf(
				`replay: session %s: nobody knows whether call %d (%s) did its work; allowed: an effect "done" or "none"`,
				p.script.session.Name, d.call+1, d.tool)
		}
	}
	if !p.script.declared && slices.Contains(p.played, true) {
		return nil, fmt.Errorf(`replay: session %s: nobody knows whether its tools have effects; `+
			`allowed: tools or calls with an effect, "done" or "none"`, p.script.session.Name)
	}
	return slices.Clone(Effects(p.effects)), nil
}

// doneElsewhere is the error of calls that Else answered and that may have had an effect.
func (p *Player) doneElsewhere(ctx context.Context) error {
	p.mu.Lock()
	passed := slices.Clone(p.passed)
	p.mu.Unlock()
	if len(passed) == 0 {
		return nil
	}
	tools, err := p.script.Else.Tools(ctx)
	if err != nil {
		return fmt.Errorf("replay: session %s: the tools of PlayOptions.Else: %w", p.script.session.Name, err)
	}
	for _, name := range passed {
		harmless := func(t chaos.Tool) bool { return t.Name == name && t.Effect == chaos.EffectNone }
		if !slices.ContainsFunc(p.script.tools, harmless) && !slices.ContainsFunc(tools, harmless) {
			return fmt.Errorf("replay: session %s: PlayOptions.Else answered a call of %s, and what that did is not among "+
				"the effects of the session", p.script.session.Name, name)
		}
	}
	return nil
}

// valueAt returns the value at a JSON pointer into objects as JSON; empty if there is no such
// value, or it is null or an empty text.
func valueAt(doc json.RawMessage, pointer string) string {
	d, i, ok := jsonedit.MemberAt(doc, pointer)
	if !ok || d.Kind(i) == jsonedit.Null || string(d.Raw(i)) == `""` {
		return ""
	}
	return string(canonical(d.Raw(i)))
}

// canonical returns a document with sorted members, and without white space.
func canonical(doc json.RawMessage) json.RawMessage {
	if text, ok := strictjson.Canonical(doc, math.MaxInt); ok {
		return text
	}
	return doc
}

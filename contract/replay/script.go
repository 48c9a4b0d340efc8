package replay

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract/findings"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/jsonhash"
	"github.com/shakedown-go/shakedown/internal/nearest"
	"github.com/shakedown-go/shakedown/internal/redact"
)

// A script is a session made ready to be played. It is immutable, so one serves many
// players.
type script struct {
	PlayOptions
	session *Session
	answers []answer // of the calls, in their order
	tools   []chaos.Tool
	keys    map[string]string // the idempotency key that a tool declares, by its name
	works   map[string]bool   // tools that have effects
	// declared reports whether the session says of any tool or call which effect it has.
	declared bool
	equals   map[request]*equals
	secrets  *redact.Redactor // nil: nothing in the arguments was redacted
	index    func() *nearest.Index
}

type answer struct {
	hole   string // why there is none; empty: there is one
	result json.RawMessage
	err    error
	effect findings.Effect
	key    string // the value of the idempotency key; empty: none
}

// A request is a tool and the hash of its arguments; with ByOrder the tool alone.
type request struct {
	tool string
	args uint64
}

// equals are recorded calls that are equal: of one tool, with equal arguments.
type equals struct {
	id    int
	calls []int            // all of them, as indices
	lanes map[string][]int // those of each lane; none if the lanes are not the agent's
}

// of lists the calls that answer a lane: its own, or all if it has none.
func (e *equals) of(lane string) []int {
	if own, ok := e.lanes[lane]; ok {
		return own
	}
	return e.calls
}

func newScript(s *Session, o *PlayOptions) (*script, error) {
	p := &script{PlayOptions: *cmp.Or(o, &PlayOptions{}), session: s, equals: map[request]*equals{},
		keys: map[string]string{}, works: map[string]bool{}}
	if err := s.playable(); err != nil {
		return nil, err
	}
	p.declare()
	holes := fields.ListUpTo(maxReported)
	redacted := len(p.Secrets) > 0
	how := "an event: with KeepValues"
	if s.Source.Dialect == fromCell {
		how = "a cell: with an invariant that has contract.NeedResults"
	}
	for i := range s.Calls {
		c := &s.Calls[i]
		p.answers = append(p.answers, p.answer(c))
		if !s.called(i) {
			continue
		}
		if hole := p.holeOf(c); hole != "" {
			p.answers[i].hole = hole
			holes.Wrong(fmt.Sprintf("calls[%d]", i), fielderror.Found(hole),
				"a call that was recorded whole ("+how+"), or PlayOptions.AllowHoles")
		}
		redacted = redacted || isRedacted(c.Args)
		if e := p.place(c); e != nil {
			e.calls = append(e.calls, i)
			if s.hasLanes() {
				e.lanes[c.Lane] = append(e.lanes[c.Lane], i)
			}
		}
	}
	if err := holes.Err(); err != nil && !p.AllowHoles {
		return nil, err
	}
	if redacted {
		p.secrets = redact.New(p.Secrets, redact.Patterns)
	}
	p.index = sync.OnceValue(func() *nearest.Index { return nearest.New(len(s.Calls), p.document) })
	return p, nil
}

// playable checks a session that need not be one of a file: it may have no name.
func (s *Session) playable() error {
	own := *s
	own.Name = cmp.Or(own.Name, "session")
	return own.Validate()
}

// hasLanes reports whether the lanes of a session are those of the agent. Importers make
// lanes of what overlapped, and an agent that is played to has others.
func (s *Session) hasLanes() bool { return !slices.Contains(importers[:], s.Source.Dialect) }

func (p *script) declare() {
	known, harmless := map[string]bool{}, map[string]bool{}
	for _, t := range p.session.Tools {
		harmless[t.Name] = t.Effect == chaos.EffectNone
		known[t.Name] = true
		p.tools = append(p.tools, t)
		p.keys[t.Name] = t.IdempotencyKey
		p.works[t.Name] = t.Effect == chaos.EffectDone
		p.declared = p.declared || t.Effect == chaos.EffectDone || t.Effect == chaos.EffectNone
	}
	for i := range p.session.Calls {
		c := &p.session.Calls[i]
		if !p.session.called(i) {
			continue
		}
		if !known[c.Tool] {
			known[c.Tool] = true
			p.tools = append(p.tools, chaos.Tool{Name: c.Tool})
		}
		p.works[c.Tool] = p.works[c.Tool] || c.Effect == findings.Done ||
			c.Effect == findings.Unknown && !harmless[c.Tool]
		p.declared = p.declared || c.Effect != ""
	}
}

// called reports whether the agent made a call: not one of a model, and not one that a
// tool made while it was called, since a played tool does not run.
func (s *Session) called(i int) bool {
	if s.Calls[i].Type == findings.Model {
		return false
	}
	for p := s.Calls[i].Parent; p > 0; p = s.Calls[p-1].Parent {
		if s.Calls[p-1].Type != findings.Model {
			return false
		}
	}
	return true
}

func (p *script) answer(c *findings.Call) answer {
	a := answer{result: c.Result, effect: c.Effect}
	if c.Error != nil {
		a.err = played(c)
	}
	if a.effect == "" && p.works[c.Tool] {
		if a.effect = findings.Done; a.err != nil {
			a.effect = findings.Unknown
		}
	}
	a.key = valueAt(c.Args, p.keys[c.Tool])
	return a
}

// holeOf says which part of a call is not known and is needed to play it.
func (p *script) holeOf(c *findings.Call) string {
	switch {
	case slices.Contains(c.Missing, findings.Result):
		return "without its result"
	case c.Truncated:
		return "truncated"
	case slices.Contains(c.Missing, findings.End) && c.Error == nil && c.Result == nil:
		return "without its end"
	case !p.ByOrder && !argsKnown(c):
		return "without its arguments"
	}
	return ""
}

// argsKnown reports whether a call can be told by its arguments or a hash of them.
func argsKnown(c *findings.Call) bool {
	if c.ArgsHash == "" || c.Args != nil {
		return !slices.Contains(c.Missing, findings.Args) && !c.Truncated
	}
	_, ours := parseHash(c.ArgsHash)
	return ours && !slices.Contains(c.Missing, findings.Args)
}

// place is where a call is looked up; nil: nowhere, since its arguments are not known.
func (p *script) place(c *findings.Call) *equals {
	at := request{tool: c.Tool}
	switch {
	case p.ByOrder:
	case !argsKnown(c):
		return nil
	case c.Args != nil || c.ArgsHash == "":
		at.args = jsonhash.Sum(c.Args)
	default:
		at.args, _ = parseHash(c.ArgsHash)
	}
	if p.equals[at] == nil {
		p.equals[at] = &equals{id: len(p.equals), lanes: map[string][]int{}}
	}
	return p.equals[at]
}

// find returns the recorded calls that a call is equal to, or nil.
func (p *script) find(tool string, args json.RawMessage, sum uint64) *equals {
	if p.ByOrder {
		return p.equals[request{tool: tool}]
	}
	if e := p.equals[request{tool, sum}]; e != nil || p.secrets == nil {
		return e
	}
	return p.equals[request{tool, jsonhash.Sum(p.secrets.JSON(args, true))}]
}

func (p *script) document(i int) nearest.Document {
	c := &p.session.Calls[i]
	return documentOf(c.Tool, c.Args)
}

func documentOf(tool string, args json.RawMessage) nearest.Document {
	return nearest.Document{Names: []nearest.Name{{Label: "(tool)", Text: tool}}, Body: args}
}

// parseHash reads a hash as package findings writes that of an event.
func parseHash(s string) (sum uint64, ok bool) {
	sum, err := strconv.ParseUint(s, 16, 64)
	return sum, err == nil && strconv.FormatUint(sum, 16) == s
}

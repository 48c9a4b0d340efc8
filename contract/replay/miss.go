package replay

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/nearest"
	"github.com/shakedown-go/shakedown/internal/redact"
	"github.com/shakedown-go/shakedown/internal/text"
)

// A MissError says that a session has no answer to a call, and how far the nearest
// recorded call is from it. It matches [contract.ErrNotTheAgent]: the agent could not be
// tested. It has no keys and no control characters.
type MissError struct {
	_       struct{}
	Session string          // its name
	Tool    string          // that was called
	Args    json.RawMessage // of the call, with keys redacted
	Nearest int             // the number of the nearest recorded call of the tool, from 1; 0: the tool was not called
	text    string
}

const shownArgs = 160

// Error explains the miss on several lines: both values of each argument that differs from that of the
// nearest call, as "[-recorded-]{+asked+}", or the only one.
func (e *MissError) Error() string { return e.text }

// Is reports whether target is [contract.ErrNotTheAgent] or [contract.ErrUndecided].
func (e *MissError) Is(target error) bool {
	return target == contract.ErrNotTheAgent || target == contract.ErrUndecided
}

type missKey struct {
	request
	hole int
}

// miss returns the explanation of a miss; p.mu is held. at is the recorded call with the
// hole, or -1.
func (p *Player) miss(at int, tool, lane string, args json.RawMessage, sum uint64) error {
	key := missKey{request{tool, sum}, at}
	if known := p.missed[key]; known != nil {
		return known
	}
	e := p.script.explain(at, p.calls, lane, tool, args)
	if len(p.misses) == maxMisses {
		p.more++
		return e
	}
	p.missed[key], p.misses = e, append(p.misses, e)
	return e
}

// explain says why a call has no answer: the recorded call at has a hole, or at is -1.
func (p *script) explain(at, number int, lane, tool string, args json.RawMessage) *MissError {
	keys := redact.New(p.Secrets, redact.Patterns)
	e := &MissError{Session: p.session.Name, Tool: tool, Args: keys.JSON(args, true)}
	if lane != "" {
		lane = ", lane " + text.Printed(lane)
	}
	asked := strings.TrimSpace(tool + " " + text.Clip(string(e.Args), shownArgs))
	e.text = fmt.Sprintf("replay: session %s has no answer to call %d of this run%s\n  %s\n",
		e.Session, number, lane, text.Printed(asked))
	if at >= 0 {
		e.Nearest = at + 1
		e.text += p.near(at) + ", which was recorded " + p.answers[at].hole
		return e
	}
	doc := documentOf(tool, e.Args)
	m, ok := p.index().Find(doc, func(i int) bool { return p.session.called(i) && p.session.Calls[i].Tool == tool })
	if ok {
		e.Nearest = m.At + 1
		e.text += p.near(m.At) + p.difference(m, doc, keys)
	} else {
		var tools []string
		for i := range p.session.Calls {
			if name := p.session.Calls[i].Tool; p.session.called(i) && !slices.Contains(tools, name) {
				tools = append(tools, name)
			}
		}
		e.text += text.Printed("the tool was not called; recorded are calls of " + text.Some(tools, 8) +
			text.Meant(tool, tools))
	}
	e.text += "\nPlayOptions.ByOrder answers by position, PlayOptions.Else by another registry"
	return e
}

func (p *script) near(at int) string {
	return fmt.Sprintf("nearest: call %d of %d", at+1, len(p.session.Calls))
}

func (p *script) difference(m nearest.Match, asked nearest.Document, keys *redact.Redactor) string {
	c := &p.session.Calls[m.At]
	if p.ByOrder {
		return "; all calls of the tool were played"
	}
	if argsKnown(c) && c.ArgsHash == "" {
		if d := nearest.Compare(asked, documentOf(c.Tool, keys.JSON(c.Args, true))); len(d.Places) > 0 {
			return fmt.Sprintf(", %d %% alike; it differs at\n%s", int(100*m.Share), d)
		}
	}
	return ", of which the arguments were not recorded"
}

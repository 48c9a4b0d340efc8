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
	Session string // its name
	Lane    string
	Call    int             // the number of the call among all that the player got, from 1
	Tool    string          // that was called
	Args    json.RawMessage // of the call, with keys redacted

	Calls   int     // of the session
	Nearest int     // the number of the nearest call of the tool, from 1; 0: the tool was not called
	Share   float64 // of equal leaves, from 0 to 1
	// Hole says how the nearest call was recorded, which is equal and cannot be played:
	// "without its result", and the like. Empty: it is not equal.
	Hole string
	// UsedUp reports that all calls of the tool were played: [PlayOptions.ByOrder] repeats
	// the last for an equal call alone.
	UsedUp      bool
	Differences []Difference // the first twelve
	More        int          // how many there are besides

	tools []string // that were called
}

// A Difference is a place where the arguments differ from those of the nearest call.
// Pointer leads into the arguments (RFC 6901), and Text has both values as
// "[-recorded-]{+asked+}", or the only one.
type Difference = nearest.Place

const shownArgs = 160

// Error explains the miss on several lines.
func (e *MissError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "replay: session %s has no answer to call %d of this run", e.Session, e.Call)
	if e.Lane != "" {
		fmt.Fprintf(&b, ", lane %s", nearest.Printable(e.Lane))
	}
	asked := strings.TrimSpace(e.Tool + " " + text.Clip(string(e.Args), shownArgs))
	fmt.Fprintf(&b, "\n  %s\n", nearest.Printable(asked))
	near := fmt.Sprintf("nearest: call %d of %d", e.Nearest, e.Calls)
	switch {
	case e.Nearest == 0:
		b.WriteString(nearest.Printable("the tool was not called; recorded are calls of " + text.Some(e.tools, 8) +
			text.Meant(e.Tool, e.tools)))
	case e.Hole != "":
		b.WriteString(near + ", which was recorded " + e.Hole)
		return b.String()
	case e.UsedUp:
		b.WriteString(near + "; all calls of the tool were played")
	case len(e.Differences) == 0:
		b.WriteString(near + ", of which the arguments were not recorded")
	default:
		d := nearest.Differences{Places: e.Differences, More: e.More}
		fmt.Fprintf(&b, "%s, %d %% alike; it differs at\n%s", near, int(100*e.Share), d)
	}
	b.WriteString("\nPlayOptions.ByOrder answers by position, PlayOptions.Else by another registry")
	return b.String()
}

// Is reports whether target is [contract.ErrNotTheAgent] or [contract.ErrUndecided].
func (e *MissError) Is(target error) bool {
	return target == contract.ErrNotTheAgent || target == contract.ErrUndecided
}

// missKey is equal for misses that have one explanation.
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
	e := p.script.explain(at, tool, args)
	e.Lane, e.Call = lane, p.calls
	if len(p.misses) == maxMisses {
		p.more++
		return e
	}
	p.missed[key], p.misses = e, append(p.misses, e)
	return e
}

func (p *script) explain(at int, tool string, args json.RawMessage) *MissError {
	keys := redact.New(p.Secrets, redact.Patterns)
	e := &MissError{Session: p.session.Name, Tool: tool, Args: keys.JSON(args, true),
		Calls: len(p.session.Calls), UsedUp: p.ByOrder}
	if at >= 0 {
		e.Hole, e.Nearest, e.Share, e.UsedUp = p.answers[at].hole, at+1, 1, false
		return e
	}
	asked := documentOf(tool, e.Args)
	m, ok := p.index().FindAmong(asked, func(i int) bool {
		return p.session.called(i) && p.session.Calls[i].Tool == tool
	})
	if !ok {
		e.UsedUp = false
		for i := range p.session.Calls {
			if name := p.session.Calls[i].Tool; p.session.called(i) && !slices.Contains(e.tools, name) {
				e.tools = append(e.tools, name)
			}
		}
		return e
	}
	e.Nearest, e.Share = m.At+1, m.Share
	if c := &p.session.Calls[m.At]; argsKnown(c) && c.ArgsHash == "" {
		d := nearest.Compare(asked, documentOf(tool, keys.JSON(c.Args, true)))
		e.Differences, e.More = d.Places, d.More
	}
	return e
}

func joined(errs []error) error {
	list := fields.ListUpTo(maxReported)
	list.Add(errs...)
	return list.Err()
}

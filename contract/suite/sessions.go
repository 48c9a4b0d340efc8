package suite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/replay"
	"github.com/shakedown-go/shakedown/internal/fielderror"
)

// A sessionFile names a session that has a file of its own.
type sessionFile struct {
	File string `json:"file" doc:"a file in the folder of the suite"`
}

// sessions reads the sessions of a file.
func (l *loader) sessions(s *Suite) {
	if s.doc.Replays == nil {
		return
	}
	list := s.doc.Replays.Sessions.node
	if list != nil && list.Kind == '[' && len(list.Kids) == 0 {
		l.r.Refuse(list, "one session or more", nil)
	}
	first := map[string]node{}
	for _, item := range l.r.items(list) {
		one := l.session(item)
		if one == nil {
			continue
		}
		if c := one.Contract; c != "" && c != s.doc.Contract.Name {
			l.r.refuse(item, fmt.Sprintf("a session of an unknown contract %q", c),
				fmt.Sprintf("%q, the contract of this file", s.doc.Contract.Name))
		}
		l.unique(first, one.Name, item)
		if l.overHTTP && len(one.Calls) > 0 {
			l.r.refuse(item, "this session cannot be played to the agent, which is behind HTTP: it has tools of its own, "+
				"and cannot be given the answers that this session has", "no sessions here, or "+inGoAllowed)
		}
		_, err := replay.Scenarios([]*replay.Session{one}, noWorld, nil)
		l.r.causes(item, err)
		s.sessions = append(s.sessions, one)
	}
}

func noWorld(context.Context, *replay.Session, chaos.ToolRegistry) (*contract.World, error) {
	return nil, errNoWorld
}

// session reads one session, in place or in a file; nil: it was refused.
func (l *loader) session(n node) *replay.Session {
	if n.Kind != '{' || n.Member("file") == nil {
		return l.r.session(n)
	}
	var keys sessionFile
	if !l.r.fill(n, &keys) {
		return nil
	}
	f, err := l.folder.Open(keys.File)
	if err != nil {
		l.r.Refuse(n.Member("file"), "a file in the folder of the suite", err)
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		l.r.Refuse(n.Member("file"), "a file that can be read", err)
		return nil
	}
	other := newReader(filepath.Join(l.dir, keys.File))
	var one *replay.Session
	if root := other.parse(data); root != nil {
		one = other.session(root)
	}
	list, more := other.List()
	l.ofOthers, l.more = append(l.ofOthers, list...), l.more+more
	return one
}

// session reads a session, and places the problems of package replay at the values of their
// fields.
func (r *reader) session(n node) *replay.Session {
	if n.Kind != '{' {
		r.Wrong(n, "an object")
		return nil
	}
	if n.Member("format") == nil {
		r.Missing(n, "format", "a session as package replay writes it: format, version, name, prompts, calls; or a file of one")
		return nil
	}
	s, err := replay.Read(n.JSON())
	for _, err := range fielderror.Apart(err) {
		f, ok := errors.AsType[*contract.FieldError](err)
		if !ok {
			r.causes(n, err)
			continue
		}
		e := &Error{Problem: "bad value", Allowed: f.Allowed, Err: f.Err}
		switch value := f.Value.(type) {
		case nil:
		case string:
			e.Value = strconv.Quote(value)
		default:
			e.Value = fmt.Sprint(value)
		}
		r.add(within(n, pointerOf(f.Field)), e)
	}
	return s
}

// pointerOf is a place such as "calls[2].tool" or "/calls/2/tool" as a JSON pointer.
func pointerOf(field string) string {
	if field == "" || strings.HasPrefix(field, "/") {
		return field
	}
	return "/" + strings.NewReplacer("[", "/", "]", "", ".", "/").Replace(field)
}

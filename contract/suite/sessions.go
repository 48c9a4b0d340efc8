package suite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/replay"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// A sessionFile names the file of a session.
type sessionFile struct {
	File string `json:"file" doc:"a file in the folder of the suite"`
}

func (l *loader) sessions(s *Suite) {
	if s.doc.Replays == nil {
		return
	}
	list := s.doc.Replays.Sessions.node
	if list != nil && list.Kind() == jsonedit.Array && list.Len() == 0 {
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

// session reads the file of a session; nil: it was refused. Its problems have their places in it.
func (l *loader) session(n node) *replay.Session {
	if n.Kind() == jsonedit.Object && n.Get("file") == nil {
		l.r.Missing(n, "file", "the file of a session, as package replay writes it")
		return nil
	}
	var keys sessionFile
	if !l.r.fill(n, &keys) {
		return nil
	}
	f, err := l.folder.Open(keys.File)
	if err != nil {
		l.r.Refuse(n.Get("file"), "a file in the folder of the suite", err)
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err == nil && len(data) > maxBytes {
		err = fmt.Errorf("more than %d bytes", maxBytes)
	}
	if err != nil {
		l.r.Refuse(n.Get("file"), "a file that can be read", err)
		return nil
	}
	one, err := replay.Read(data)
	for _, err := range fielderror.Apart(err) {
		if wrong, ok := errors.AsType[*fielderror.Error](err); ok {
			wrong.File = filepath.Join(l.dir, keys.File)
		}
		l.ofOthers = append(l.ofOthers, err)
	}
	return one
}

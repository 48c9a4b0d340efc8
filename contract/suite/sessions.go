package suite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/findings"
	"github.com/shakedown-go/shakedown/contract/replay"
	"github.com/shakedown-go/shakedown/internal/fielderror"
)

// Forms of a session in a file.
type (
	sessionFile struct {
		File string `json:"file" doc:"a file in the folder of the suite"`
	}
	sessionKeys struct {
		ID              string `json:"id" bounds:"min=1" doc:"its name"`
		Name            string `json:"name,omitempty" doc:"what its record calls it"`
		Source          string `json:"source,omitempty" doc:"where it was recorded"`
		CapturedAt      string `json:"captured_at,omitempty" doc:"when it was recorded (RFC 3339)"`
		Input           string `json:"input" bounds:"min=1" doc:"what the agent was asked"`
		Responses       part   `json:"tool_responses,omitempty" doc:"the answers of the tools, in order"`
		ExpectedFailure string `json:"expected_failure,omitempty" doc:"what went wrong, in words"`
		Contract        string `json:"contract,omitempty" doc:"the name of the contract"`
	}
	responseKeys struct {
		Tool      string `json:"tool" bounds:"min=1" doc:"the tool that answered"`
		Response  part   `json:"response,omitempty" doc:"its result, or the text of its error"`
		Status    *int   `json:"status,omitempty" doc:"an HTTP status; 0 and 400 and above are failures"`
		LatencyMS int    `json:"latency_ms,omitempty" bounds:"min=0,max=1000000000" doc:"how long it took, in milliseconds"`
	}
)

// sessions reads the sessions of a file.
func (l *loader) sessions(s *Suite) {
	if s.doc.Replays == nil {
		return
	}
	list := s.doc.Replays.Sessions.node
	if list != nil && list.Kind == '[' && len(list.Kids) == 0 {
		l.r.bad(list, "one session or more", nil)
	}
	first := map[string]node{}
	for _, item := range l.r.items(list) {
		one, ok := l.session(item)
		if one.Session == nil {
			continue
		}
		if c := one.Contract; c != "" && c != s.doc.Contract.Name {
			l.r.refuse(item, fmt.Sprintf("a session of an unknown contract %q", c),
				fmt.Sprintf("%q, the contract of this file", s.doc.Contract.Name))
		}
		if one.Name != "" {
			l.unique(first, one.Name, item)
		}
		if l.overHTTP && len(one.Calls) > 0 {
			l.r.refuse(item, "this session cannot be played to the agent, which is behind HTTP: it has tools of its own, "+
				"and cannot be given the answers that this session has", "no sessions here, or "+inGoAllowed)
		}
		if !ok {
			continue
		}
		_, err := playedScenarios([]session{one}, noWorld)
		l.r.causes(item, err)
		s.sessions = append(s.sessions, one)
	}
}

func noWorld(context.Context, *session, chaos.ToolRegistry) (*contract.World, error) {
	return nil, errNoWorld
}

// session reads one session, in place or in a file.
func (l *loader) session(n node) (session, bool) {
	if n.Kind != '{' {
		return session{}, l.r.Wrong(n, n.Pointer(), "an object")
	}
	if n.Member("file") == nil {
		return l.r.session(n)
	}
	var keys sessionFile
	if !l.r.fill(n, &keys, nil) {
		return session{}, false
	}
	f, err := l.folder.Open(keys.File)
	if err != nil {
		l.r.bad(n.Member("file"), "a file in the folder of the suite", err)
		return session{}, false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		l.r.bad(n.Member("file"), "a file that can be read", err)
		return session{}, false
	}
	other := newReader(filepath.Join(l.dir, keys.File))
	var one session
	ok := false
	if root := other.parse(data); root != nil {
		if root.Kind != '{' {
			other.Wrong(root, "", "an object")
		} else {
			one, ok = other.session(root)
		}
	}
	list, more := other.List()
	l.others, l.more = append(l.others, list...), l.more+more
	return one, ok && len(list) == 0
}

// session reads a session of either form.
func (r *reader) session(n node) (session, bool) {
	if n.Member("format") != nil {
		s, err := replay.Read(n.JSON())
		r.refused(err, func(field string) node { return within(n, pointerOf(field)) })
		return session{Session: s}, err == nil
	}
	var keys sessionKeys
	fits := r.fill(n, &keys, map[string]string{"context": "none: an agent gets its context in Go"})
	s := &replay.Session{Name: keys.ID, Contract: keys.Contract, Prompts: []string{keys.Input},
		ExpectedFailure: keys.ExpectedFailure, Source: replay.Origin{Dialect: keys.Source, ID: keys.Name}}
	if keys.CapturedAt != "" {
		at, err := time.Parse(time.RFC3339, keys.CapturedAt)
		if err != nil {
			r.bad(n.Member("captured_at"), "a time as 2026-05-04T03:02:01Z (RFC 3339)", nil)
			fits = false
		}
		s.Source.CapturedAt = at
	}
	var at time.Duration
	for _, item := range r.items(keys.Responses.node) {
		c, ok := r.response(item)
		fits = fits && ok
		c.At = at
		at += c.Took
		s.Calls = append(s.Calls, c)
	}
	if !fits {
		return session{Session: s, byOrder: true}, false
	}
	err := s.Validate()
	r.refused(err, func(field string) node {
		var call int
		if field == "name" {
			return member(n, "id")
		}
		if got, _ := fmt.Sscanf(field, "calls[%d]", &call); got == 1 {
			return within(n, fmt.Sprintf("/tool_responses/%d", call))
		}
		return n
	})
	return session{Session: s, byOrder: true}, err == nil
}

// refused adds the problems of a session, each at the value of its field.
func (r *reader) refused(err error, at func(field string) node) {
	for _, err := range fielderror.Apart(err) {
		f, ok := errors.AsType[*contract.FieldError](err)
		if !ok {
			r.causes(at(""), err)
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
		r.add(at(f.Field), "", e)
	}
}

// response reads one answer of a tool.
func (r *reader) response(n node) (findings.Call, bool) {
	var keys responseKeys
	if !r.fill(n, &keys, nil) {
		return findings.Call{}, false
	}
	c := findings.Call{Tool: keys.Tool, Missing: []findings.Part{findings.Args},
		Took: time.Duration(keys.LatencyMS) * time.Millisecond}
	result := keys.Response.node
	if s := keys.Status; s != nil && (*s != 0 && *s < 100 || *s > 599) {
		r.bad(n.Member("status"), "0, or a status from 100 to 599", nil)
		return c, false
	}
	if s := keys.Status; s != nil && (*s == 0 || *s >= 400) {
		c.Error = &findings.CallError{Status: *s, Text: fmt.Sprintf("status %d", *s)}
		switch {
		case result == nil && *s == 0:
			c.Error.Text = "the call failed"
		case result == nil || result.Kind == 'n':
		case result.Kind != '"':
			c.Error.Text = string(result.JSON())
		case result.Text != "":
			c.Error.Text = result.Text
		}
		return c, true
	}
	if result == nil {
		r.missing(n, "response", "the result of the tool; without it the session has a hole")
		return c, false
	}
	c.Result = json.RawMessage(result.JSON())
	return c, true
}

// pointerOf is a place such as "calls[2].tool" or "/calls/2/tool" as a JSON pointer.
func pointerOf(field string) string {
	if field == "" || strings.HasPrefix(field, "/") {
		return field
	}
	return "/" + strings.NewReplacer("[", "/", "]", "", ".", "/").Replace(field)
}

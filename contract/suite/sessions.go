package suite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
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
	items := l.r.items(s.doc.Replays.Sessions)
	if n := s.doc.Replays.Sessions.node; n != nil && n.Kind == '[' && len(items) == 0 {
		l.r.bad("/replays/sessions", "one session or more", nil)
	}
	first := map[string]string{}
	for _, item := range items {
		one, ok := l.session(item)
		if one.Session == nil {
			continue
		}
		if c := one.Contract; c != "" && c != s.doc.Contract.Name {
			l.r.at(item.at, item.node, &Error{Problem: fmt.Sprintf("a session of an unknown contract %q", c),
				Allowed: fmt.Sprintf("%q, the contract of this file", s.doc.Contract.Name)})
		}
		if one.Name != "" {
			l.unique(first, one.Name, item.at, item.at)
		}
		if !ok {
			continue
		}
		if _, err := playedScenarios([]session{one}, noWorld); err != nil {
			l.r.cause(item.at, err)
		}
		s.sessions = append(s.sessions, one)
	}
}

func noWorld(context.Context, *session, chaos.ToolRegistry) (*contract.World, error) {
	return nil, errNoWorld
}

// session reads one session, in place or in a file.
func (l *loader) session(p part) (session, bool) {
	if p.node.Kind != '{' {
		return session{}, l.r.Wrong(p.node, p.at, "an object")
	}
	if p.node.Member("file") == nil {
		return l.r.session(p)
	}
	var keys sessionFile
	if !l.r.fill(p, &keys, nil) {
		return session{}, false
	}
	f, err := l.folder.Open(keys.File)
	if err != nil {
		l.r.bad(p.at+"/file", "a file in the folder of the suite", err)
		return session{}, false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		l.r.bad(p.at+"/file", "a file that can be read", err)
		return session{}, false
	}
	other := newReader(filepath.Join(l.dir, keys.File))
	var one session
	ok := false
	if root := other.parse(data); root != nil {
		if root.Kind != '{' {
			other.Wrong(root, "", "an object")
		} else {
			one, ok = other.session(part{root, ""})
		}
	}
	list, more := other.problems()
	l.others, l.r.more = append(l.others, list...), l.r.more+more
	return one, ok && len(list) == 0
}

// session reads a session of either form.
func (r *reader) session(p part) (session, bool) {
	if p.node.Member("format") != nil {
		s, err := replay.Read(p.node.JSON())
		for _, err := range fielderror.Apart(err) {
			at, e := p.at, &Error{Err: err}
			var f *contract.FieldError
			if errors.As(err, &f) {
				at += pointerOf(f.Field)
				e = &Error{Problem: "bad value", Allowed: f.Allowed, Err: f.Err}
				if f.Value != nil {
					e.Value = fmt.Sprint(f.Value)
				}
			}
			r.at(at, r.nearest(at), e)
		}
		return session{Session: s}, err == nil
	}
	var keys sessionKeys
	fits := r.fill(p, &keys, map[string]string{"context": "none: an agent gets its context in Go"})
	s := &replay.Session{Name: keys.ID, Contract: keys.Contract, Prompts: []string{keys.Input},
		ExpectedFailure: keys.ExpectedFailure, Source: replay.Origin{Dialect: keys.Source, ID: keys.Name}}
	if keys.CapturedAt != "" {
		at, err := time.Parse(time.RFC3339, keys.CapturedAt)
		if err != nil {
			r.bad(p.at+"/captured_at", "a time as 2026-05-04T03:02:01Z (RFC 3339)", nil)
			fits = false
		}
		s.Source.CapturedAt = at
	}
	var at time.Duration
	for _, item := range r.items(keys.Responses) {
		c, ok := r.response(item)
		fits = fits && ok
		c.At = at
		at += c.Took
		s.Calls = append(s.Calls, c)
	}
	return session{Session: s, byOrder: true}, fits && r.valid(p, s)
}

// valid holds a session of the field's form to what ours may be.
func (r *reader) valid(p part, s *replay.Session) bool {
	err := s.Validate()
	for _, err := range fielderror.Apart(err) {
		at, e := p.at, &Error{Err: err}
		var f *contract.FieldError
		if errors.As(err, &f) {
			e = &Error{Problem: "bad value", Allowed: f.Allowed, Err: f.Err}
			if f.Value != nil {
				e.Value = fmt.Sprintf("%q", f.Value)
			}
			if f.Field == "name" {
				at += "/id"
			} else if found := callField.FindStringSubmatch(f.Field); found != nil {
				at += "/tool_responses/" + found[1]
			}
		}
		r.at(at, r.nearest(at), e)
	}
	return err == nil
}

var callField = regexp.MustCompile(`^calls\[(\d+)\]`)

// response reads one answer of a tool.
func (r *reader) response(p part) (findings.Call, bool) {
	var keys responseKeys
	if !r.fill(p, &keys, nil) || p.node.Kind != '{' {
		return findings.Call{}, false
	}
	c := findings.Call{Tool: keys.Tool, Missing: []findings.Part{findings.Args},
		Took: time.Duration(keys.LatencyMS) * time.Millisecond}
	n := keys.Response.node
	if s := keys.Status; s != nil && (*s == 0 || *s >= 400) {
		c.Error = &findings.CallError{Status: *s, Text: fmt.Sprintf("status %d", *s)}
		if n != nil && n.Kind == '"' && n.Text != "" {
			c.Error.Text = n.Text
		} else if n != nil && n.Kind != '"' && n.Kind != 'n' {
			c.Error.Text = string(n.JSON())
		}
		if *s == 0 && n == nil {
			c.Error.Text = "the call failed"
		}
		return c, *s <= 599 || r.badStatus(p)
	}
	if n == nil {
		r.refuse(p.at+"/response", "missing", "the result of the tool; without it the session has a hole")
		return c, false
	}
	if s := keys.Status; s != nil && (*s < 100 || *s > 599) {
		return c, r.badStatus(p)
	}
	c.Result = json.RawMessage(n.JSON())
	return c, true
}

func (r *reader) badStatus(p part) bool {
	r.bad(p.at+"/status", "0, or a status from 100 to 599", nil)
	return false
}

// pointerOf is a place such as "calls[2].tool" or "/calls/2/tool" as a JSON pointer.
func pointerOf(field string) string {
	if field == "" || strings.HasPrefix(field, "/") {
		return field
	}
	return "/" + strings.NewReplacer("[", "/", "]", "", ".", "/").Replace(field)
}

package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract/findings"
	"github.com/shakedown-go/shakedown/internal/fielderror"
)

// Limits of a session.
const (
	maxBytes = 64 << 20
	maxCalls = 100_000
)

// Validate reports what is wrong with the session: each problem a [*FieldError] with
// its place, such as "calls[2].tool", all joined.
func (s *Session) Validate() error {
	list := fields.ListUpTo(maxReported)
	s.check(list.Wrong)
	return list.Err()
}

const maxReported = 100

// validName is that of a scenario, which may also be the name of a file.
var validName = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}$`)

// check reports what the types of a session do not say.
func (s *Session) check(wrong func(place string, value any, allowed string)) {
	if !validName.MatchString(s.Name) {
		wrong("name", s.Name, "letters, digits, '.', '_' and '-', at most 200, the first no '.'")
	}
	if at := s.Source.CapturedAt; !at.IsZero() && (at.Year() < 1 || at.Year() > 9999) {
		wrong("source.capturedAt", at.String(), "a time that RFC 3339 can write: years 1 to 9999")
	}
	if len(s.Calls) > maxCalls {
		wrong("calls", fielderror.Found(fmt.Sprintf("%d calls", len(s.Calls))), fmt.Sprintf("at most %d", maxCalls))
		return
	}
	s.checkTools(wrong)
	for i := range s.Calls {
		at := fmt.Sprintf("calls[%d].", i)
		checkCall(&s.Calls[i], i, func(place string, value any, allowed string) { wrong(at+place, value, allowed) })
	}
}

// checkTools has [chaos.NewRegistry] check what the tools declare.
func (s *Session) checkTools(wrong func(place string, value any, allowed string)) {
	first := make(map[string]int, len(s.Tools))
	for i, t := range s.Tools {
		at := fmt.Sprintf("tools[%d].", i)
		if _, twice := first[t.Name]; twice {
			wrong(at+"name", t.Name, fmt.Sprintf("a name of its own: tools[%d] has this one", first[t.Name]))
		} else {
			first[t.Name] = i
		}
		_, err := chaos.NewRegistry(chaos.Func(t, noTool))
		for _, problem := range fielderror.Apart(err) {
			var p *chaos.ParamError
			if errors.As(problem, &p) {
				wrong(at+strings.ToLower(p.Param[:1])+p.Param[1:], fielderror.Found(fmt.Sprint(p.Value)), p.Allowed)
			}
		}
	}
}

func checkCall(c *findings.Call, at int, wrong func(place string, value any, allowed string)) {
	oneOf(wrong, "type", c.Type, "", findings.Tool, findings.Model)
	if c.Tool == "" {
		wrong("tool", c.Tool, "the name of the tool or model")
	}
	if c.Parent < 0 || c.Parent > at {
		wrong("parent", c.Parent, fmt.Sprintf("the number of an earlier call, 1 to %d, or 0 for none", at))
	}
	oneOf(wrong, "effect", c.Effect, "", findings.Done, findings.NotDone, findings.Unknown)
	for i, part := range c.Missing {
		oneOf(wrong, fmt.Sprintf("missing[%d]", i), part, findings.Args, findings.Result, findings.End,
			findings.Outcome)
		if slices.Contains(c.Missing[:i], part) {
			wrong(fmt.Sprintf("missing[%d]", i), part, "each part once")
		}
	}
	checkDoc(wrong, c, "args", c.Args, findings.Args)
	checkDoc(wrong, c, "result", c.Result, findings.Result)
	if c.At < 0 {
		wrong("at", c.At, "0 or more")
	}
	if c.Took < 0 {
		wrong("took", c.Took, "0 or more")
	}
	if c.Error == nil {
		return
	}
	if c.Result != nil {
		wrong("result", c.Result, "no result: the call has an error")
	}
	if c.Error.RetryAfter < 0 {
		wrong("error.retryAfter", c.Error.RetryAfter, "0 or more")
	}
}

func checkDoc(wrong func(string, any, string), c *findings.Call, place string, doc json.RawMessage,
	part findings.Part) {
	switch {
	case len(doc) == 0:
	case !json.Valid(doc):
		wrong(place, string(doc), "JSON")
	case slices.Contains(c.Missing, part):
		wrong(place, doc, "nothing: it is listed as missing")
	}
}

func oneOf[T ~string](wrong func(string, any, string), place string, value T, allowed ...T) {
	if slices.Contains(allowed, value) {
		return
	}
	var names []string
	for _, a := range allowed {
		if a != "" {
			names = append(names, string(a))
		}
	}
	wrong(place, string(value), "one of "+strings.Join(names, ", "))
}

// noTool stands for a tool that is only described.
func noTool(context.Context, struct{}) (struct{}, error) { return struct{}{}, nil }

package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/text"
)

// A Listing is what an audit would do, in the order of the tools.
type Listing struct {
	Tools     []Planned `json:"tools"`
	StateNote string    `json:"stateNote,omitempty"` // that of the options

	listed listed
	cases  map[string]trialCase // by scenario
}

// listed are tools that are not called: a treatment calls those of its own worlds.
type listed []chaos.Tool

func (l listed) Tools(context.Context) ([]chaos.Tool, error) { return l, nil }

func (listed) CallTool(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	return nil, chaos.ErrUnknownTool
}

// Planned is what an audit would do to one tool.
type Planned struct {
	Tool   string `json:"tool"`
	Claims Claims `json:"claims,omitzero"`
	// Args are those of the calls, redacted. Made reports whether they were made from the input schema:
	// the tool may refuse them.
	Args json.RawMessage `json:"args,omitempty"`
	Made bool            `json:"made,omitempty"`
	// Key is a JSON pointer to the argument that is an idempotency key: the one that the tool declares,
	// or one with a usual name; empty: there is none. KeyRequired reports whether a call must have it.
	Key         string `json:"key,omitempty"`
	KeyRequired bool   `json:"keyRequired,omitempty"`
	// Treatments are the names of what is done. If nothing is, Refused says why.
	Treatments []string `json:"treatments,omitempty"`
	Refused    string   `json:"refused,omitempty"`
	// NotTried are treatments that the options do not allow to try, with the reason.
	NotTried map[string]string `json:"notTried,omitempty"`

	args json.RawMessage // as they are sent
}

// Plan returns what an audit with these options would do. It makes one world, or takes [Options].World,
// lists its tools, and calls none. Errors are [*FieldError], joined, or those of the world.
func Plan(ctx context.Context, o *Options) (*Listing, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	list := *o
	list.Reset = nil // it is not needed, and would change the world
	w, err := list.open(ctx)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, o.timeout())
	defer cancel()
	tools, err := w.Tools.Tools(limited)
	if err := cmp.Or(err, w.Close()); err != nil {
		return nil, fmt.Errorf("audit: the tools could not be listed: %w", err)
	}
	var names []string
	l := &Listing{StateNote: o.redactor().Text(o.StateNote), listed: tools}
	for _, t := range tools {
		planned := o.plan(t, w)
		if i := slices.Index(names, t.Name); i >= 0 { // which of them a call reaches is not known
			l.Tools[i].refuse("another tool has its name")
			planned.refuse("another tool has its name")
		}
		names, l.Tools = append(names, t.Name), append(l.Tools, planned)
	}
	p := fields.List()
	for field, named := range map[string][]string{"Allow": o.Allow, "StateTool": {o.StateTool},
		"Example": slices.Sorted(maps.Keys(o.Example)), "Claims": slices.Sorted(maps.Keys(o.Claims)),
		"Keys": slices.Sorted(maps.Keys(o.Keys))} {
		for _, name := range named {
			p.Demand(name == "" || slices.Contains(names, name), field, name, text.OneOf(name, names))
		}
	}
	return l, p.Err()
}

func (o *Options) plan(tool chaos.Tool, w *World) Planned {
	p := Planned{Tool: tool.Name, Claims: o.Claims[tool.Name], args: o.Example[tool.Name]}
	p.NotTried = map[string]string{}
	if _, claimed := o.Claims[tool.Name]; !claimed && tool.Effect == chaos.EffectNone {
		p.Claims.ReadOnly = new(true)
	}
	p.Key, p.KeyRequired = keyOf(cmp.Or(o.Keys[tool.Name], tool.IdempotencyKey), tool.InputSchema)
	if p.Made = len(p.args) == 0; p.Made {
		args, err := exampleOf(tool.InputSchema)
		if p.args = args; err != nil {
			p.Refused = "no arguments can be made from its input schema: " + err.Error()
		}
	}
	if _, ok := jsonedit.WithText(p.args, p.Key, firstKey); !ok && p.Key != "" && p.Refused == "" {
		p.Refused = "its arguments have no place for the key " + p.Key
	}
	p.Args = o.redactor().JSON(p.args, true)
	switch named := slices.Contains(o.Allow, tool.Name); {
	case tool.Name == o.StateTool:
		p.Refused = "it is the tool that reads the state"
	case !named && !o.Sandbox:
		p.Refused = "it is not allowed by its name"
	case !named && claims(p.Claims.Destructive):
		p.Refused = "it claims to be destructive, and is not allowed by its name"
	}
	for _, t := range o.treatments() {
		switch {
		case p.Refused != "", informs(t.name) && p.Key == "", t.name == withoutKey && p.KeyRequired:
		case t.name == restarting && w.Restart == nil:
			p.NotTried[t.name] = "nothing restarts it"
		case t.fresh && !o.fresh():
			p.NotTried[t.name] = "nothing resets it, so the state of one call is not known"
		default:
			p.Treatments = append(p.Treatments, t.name)
		}
	}
	return p
}

func (p *Planned) refuse(why string) { p.Refused, p.Treatments, p.NotTried = why, nil, nil }

func claims(hint *bool) bool { return hint != nil && *hint }

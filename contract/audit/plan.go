package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/text"
)

// A Listing is what an audit would do, in the order of the tools.
type Listing struct {
	Tools []Planned `json:"tools"`
}

// Planned is what an audit would do to one tool.
type Planned struct {
	Tool   string `json:"tool"`
	Claims Claims `json:"claims,omitzero"`
	// Args are those of the calls, redacted. Made reports whether they were made from the input schema: a tool
	// may refuse them.
	Args json.RawMessage `json:"args,omitempty"`
	Made bool            `json:"made,omitempty"`
	// Key is a JSON pointer to the argument that is an idempotency key: the one that the tool declares,
	// or one with a usual name; empty: there is none. KeyRequired reports whether a call must have it.
	Key         string `json:"key,omitempty"`
	KeyRequired bool   `json:"keyRequired,omitempty"`
	// Treatments are the names of what is done; none: nothing is, and Why says why.
	Treatments []string `json:"treatments,omitempty"`
	Why        string   `json:"why,omitempty"`
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
	w, closing, err := o.World, func() error { return nil }, error(nil)
	if o.NewWorld != nil {
		if w, closing, err = o.open(ctx); err != nil {
			return nil, err
		}
	}
	tools, err := w.Tools.Tools(ctx)
	if err := cmp.Or(err, closing()); err != nil {
		return nil, fmt.Errorf("audit: the tools could not be listed: %w", err)
	}
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Name
	}
	p := fields.List()
	for i, name := range o.Allow {
		p.Demand(slices.Contains(names, name), fmt.Sprintf("Allow[%d]", i), name, "a tool: "+text.OneOf(name, names))
	}
	p.Demand(o.StateTool == "" || slices.Contains(names, o.StateTool), "StateTool", o.StateTool, "a tool: "+text.OneOf(o.StateTool, names))
	for name := range o.Example {
		p.Demand(slices.Contains(names, name), fmt.Sprintf("Example[%q]", name), name, "a tool: "+text.OneOf(name, names))
	}
	for name := range o.Claims {
		p.Demand(slices.Contains(names, name), fmt.Sprintf("Claims[%q]", name), name, "a tool: "+text.OneOf(name, names))
	}
	l := new(Listing)
	for _, t := range tools {
		l.Tools = append(l.Tools, o.plan(t, w))
	}
	return l, p.Err()
}

func (o *Options) plan(tool chaos.Tool, w *World) Planned {
	p := Planned{Tool: tool.Name, Claims: o.Claims[tool.Name], args: o.Example[tool.Name]}
	if _, claimed := o.Claims[tool.Name]; !claimed && tool.Effect == chaos.EffectNone {
		p.Claims.ReadOnly = new(true)
	}
	p.Key, p.KeyRequired = keyOf(tool.IdempotencyKey, tool.InputSchema)
	named := slices.Contains(o.Allow, tool.Name)
	switch {
	case !named && !o.Sandbox:
		p.Why = "it is not in Allow"
	case !named && claims(p.Claims.Destructive):
		p.Why = "it claims to be destructive, and is not in Allow by name"
	case tool.Name == o.StateTool:
		p.Why = "it is the tool that reads the state"
	}
	if p.Made = len(p.args) == 0; p.Made {
		args, err := exampleOf(tool.InputSchema)
		if p.args = args; err != nil {
			p.Why = cmp.Or(p.Why, err.Error())
		}
	}
	p.Args = o.redactor().JSON(p.args, true)
	if p.Why != "" {
		return p
	}
	p.NotTried = map[string]string{}
	for _, t := range treatments() {
		switch why := o.obstacle(&t, w); {
		case t.key != sameKey && p.Key == "", t.key == noKey && p.KeyRequired: // it would say nothing
		case why != "":
			p.NotTried[t.name] = why
		default:
			p.Treatments = append(p.Treatments, t.name)
		}
	}
	return p
}

func (o *Options) obstacle(t *treatment, w *World) string {
	switch {
	case t.restart && w.Restart == nil:
		return "there is no World.Restart"
	case t.fresh && !o.fresh():
		return "there is neither NewWorld nor Reset, so the state of one call is not known"
	}
	return ""
}

func claims(hint *bool) bool { return hint != nil && *hint }

// String lists the tools, a line each: what would be sent, or why nothing.
func (l *Listing) String() string {
	var b strings.Builder
	for _, p := range l.Tools {
		switch {
		case p.Why != "":
			fmt.Fprintf(&b, "%s: not called: %s\n", p.Tool, p.Why)
		default:
			made := ""
			if p.Made {
				made = " (made from its schema)"
			}
			fmt.Fprintf(&b, "%s: %s%s: %s\n", p.Tool, p.Args, made, strings.Join(p.Treatments, ", "))
		}
		for _, t := range treatments() {
			if why := p.NotTried[t.name]; why != "" {
				fmt.Fprintf(&b, "%s: %s is not tried: %s\n", p.Tool, t.name, why)
			}
		}
	}
	return b.String()
}

package mcpchaos

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

// A kind of faults changes what comes back from an injection point.
type kind[P any] struct {
	row    *catalog.Row
	check  func(P, *catalog.Check) // adds what the row cannot say; nil: nothing
	change func(ctx context.Context, p P, c chaos.Call, args, result any) any
}

// newKind makes a kind. The row makes its faults; it is of the protocol, and its
// effect unknown, where it does not say.
func newKind[P any](r catalog.Row, change func(context.Context, P, chaos.Call, any, any) any,
	check func(P, *catalog.Check)) *kind[P] {
	r.Layer, r.Class = chaos.LayerTool, cmp.Or(r.Class, chaos.ClassProtocol)
	r.Effect = cmp.Or(r.Effect, chaos.EffectUnknown)
	k := &kind[P]{check: check, change: change}
	k.row = catalog.Fault(r, k.with)
	return k
}

func (k *kind[P]) with(params P) chaos.Fault { return changing[P]{k, params} }

// changing is a fault of a kind.
type changing[P any] struct {
	kind   *kind[P]
	params P
}

func (f changing[P]) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	result, err := next(ctx, args)
	if err != nil {
		return result, err
	}
	return f.kind.change(ctx, f.params, c, args, result), nil
}

func (changing[P]) Phase() chaos.Phase            { return chaos.PhaseChange }
func (f changing[P]) Describe() chaos.Description { return f.kind.row.Describe(f.params) }

func (f changing[P]) Check() error {
	c := f.kind.row.Check(f.params)
	if f.kind.check != nil {
		f.kind.check(f.params, c)
	}
	return c.Err()
}

// lines makes other lines of one.
type lines[P any] func(p P, c chaos.Call, m Message, text string) ([]string, error)

// messages makes a kind that replaces messages by other lines. If receivedOnly is
// set, it makes lines that are no messages, or lets messages wait.
func messages[P any](r catalog.Row, receivedOnly bool, of lines[P], check func(P, *catalog.Check)) *kind[P] {
	return newKind(r, func(ctx context.Context, p P, c chaos.Call, args, result any) any {
		note := func(why string) { chaos.Note(ctx, r.Kind+": "+why) }
		before, isLines := result.([]string)
		m, isMessage := args.(Message)
		switch {
		case !isLines || !isMessage:
			note("this is no message of a wrapped transport")
			return result
		case receivedOnly && m.Sent:
			note("it changes received messages only, and this one is sent; wrap the end that reads")
			return result
		}
		var after []string
		for _, line := range before {
			changed, err := of(p, c, m, line)
			if err != nil {
				note(err.Error())
				return result
			}
			after = append(after, changed...)
		}
		if slices.Equal(before, after) {
			if m.postpone == nil || m.postpone.behind == 0 {
				return result
			}
			late, end := chaos.KeepOpen(ctx) // the message stays as it is, and comes later
			defer func() { _ = end(nil, false) }()
			ctx = late
		}
		chaos.Changed(ctx, chaos.Change{Before: shown(before), After: shown(after)})
		return after
	}, check)
}

// shown returns lines as an event shows them: the first four, each cut at 512
// bytes.
func shown(lines []string) json.RawMessage {
	const most, width = 4, 512
	list := []string{}
	for i, line := range lines {
		if i == most {
			list = append(list, "…")
			break
		}
		if len(line) > width {
			line = strings.ToValidUTF8(line[:width], "") + "…"
		}
		list = append(list, line)
	}
	doc, _ := json.Marshal(list)
	return doc
}

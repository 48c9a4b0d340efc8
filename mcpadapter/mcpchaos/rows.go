package mcpchaos

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/internal/text"
)

// Rows returns the rows of this package's faults, for planjson.Options.Rows. The
// caller may keep and change the list.
func Rows() []*catalog.Row {
	return catalog.List(
		errorUnset, toolRemoved, toolHidden, descriptionChanged,
		dropped, duplicated, flood,
		corrupted, garbage, wrongID)
}

// protocolRow completes a row with what most faults of the protocol share.
func protocolRow(r catalog.Row) catalog.Row {
	r.Layer, r.Class = chaos.LayerTool, cmp.Or(r.Class, chaos.ClassProtocol)
	r.Visibility, r.Persistence = cmp.Or(r.Visibility, chaos.Explicit), cmp.Or(r.Persistence, chaos.Transient)
	r.Effect = cmp.Or(r.Effect, chaos.EffectUnknown)
	return r
}

// resultRow makes a fault that changes what comes back from an injection point.
func resultRow[P any](row catalog.Row,
	change func(ctx context.Context, c chaos.Call, p P, args, result any) any) *catalog.Inject[P] {
	return &catalog.Inject[P]{Row: protocolRow(row), Phase: chaos.PhaseChange,
		Inject: func(ctx context.Context, c chaos.Call, p P, args any, next chaos.Next) (any, error) {
			result, err := next(ctx, args)
			if err != nil {
				return result, err
			}
			return change(ctx, c, p, args, result), nil
		}}
}

// messageRow makes a fault that replaces a message by other lines; receivedOnly is for one
// that makes lines which are no messages.
func messageRow[P any](row catalog.Row, receivedOnly bool,
	of func(p P, c chaos.Call, text string) ([]string, error)) *catalog.Inject[P] {
	return resultRow(row, func(ctx context.Context, c chaos.Call, p P, args, result any) any {
		note := func(why string) { chaos.Note(ctx, row.Kind+": "+why) }
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
			changed, err := of(p, c, line)
			if err != nil {
				note(err.Error())
				return result
			}
			after = append(after, changed...)
		}
		if slices.Equal(before, after) {
			return result
		}
		chaos.Changed(ctx, chaos.Change{Before: shown(before), After: shown(after)})
		return after
	})
}

// shown returns lines as an event shows them: the first four, each cut at 512
// bytes.
func shown(lines []string) json.RawMessage {
	const most, width = 4, 512
	list := []string{}
	for _, line := range lines[:min(len(lines), most)] {
		list = append(list, text.Clip(line, width))
	}
	if len(lines) > most {
		list = append(list, "…")
	}
	doc, _ := json.Marshal(list)
	return doc
}

package mcpchaos

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
)

// inject is what a fault of a kind does at a call.
type inject[P any] = func(ctx context.Context, c chaos.Call, p P, args any, next chaos.Next) (any, error)

// results changes what comes back from an injection point.
func results[P any](change func(ctx context.Context, p P, result any) any) inject[P] {
	return func(ctx context.Context, _ chaos.Call, p P, args any, next chaos.Next) (any, error) {
		result, err := next(ctx, args)
		if err != nil {
			return result, err
		}
		return change(ctx, p, result), nil
	}
}

// lines replaces a message by other lines. If receivedOnly is set, it makes lines
// that are no messages.
func lines[P any](kind string, receivedOnly bool,
	of func(p P, c chaos.Call, text string) ([]string, error)) inject[P] {
	return func(ctx context.Context, c chaos.Call, p P, args any, next chaos.Next) (any, error) {
		result, err := next(ctx, args)
		if err != nil {
			return result, err
		}
		note := func(why string) { chaos.Note(ctx, kind+": "+why) }
		before, isLines := result.([]string)
		m, isMessage := args.(Message)
		switch {
		case !isLines || !isMessage:
			note("this is no message of a wrapped transport")
			return result, nil
		case receivedOnly && m.Sent:
			note("it changes received messages only, and this one is sent; wrap the end that reads")
			return result, nil
		}
		var after []string
		for _, line := range before {
			changed, err := of(p, c, line)
			if err != nil {
				note(err.Error())
				return result, nil
			}
			after = append(after, changed...)
		}
		if slices.Equal(before, after) {
			return result, nil
		}
		chaos.Changed(ctx, chaos.Change{Before: shown(before), After: shown(after)})
		return after, nil
	}
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

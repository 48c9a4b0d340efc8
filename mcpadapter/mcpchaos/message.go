package mcpchaos

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
)

// A rewriter makes other lines of a message.
type rewriter interface {
	chaos.Described
	chaos.Checked
	lines(c chaos.Call, m Message, text string) ([]string, error)
}

// rewrite is a fault that replaces a message by other lines.
type rewrite struct {
	rewriter
	receivedOnly bool // it makes lines that are no messages, or lets them wait
}

func (f rewrite) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	result, err := next(ctx, args)
	if err != nil {
		return result, err
	}
	note := func(why string) { chaos.Note(ctx, f.Describe().Kind+": "+why) }
	lines, isLines := result.([]string)
	m, isMessage := args.(Message)
	switch {
	case !isLines || !isMessage:
		note("this is no message of a wrapped transport")
		return result, nil
	case f.receivedOnly && m.Sent:
		note("it changes received messages only, and this one is sent; wrap the end that reads")
		return result, nil
	}
	var after []string
	for _, line := range lines {
		changed, err := f.lines(c, m, line)
		if err != nil {
			note(err.Error())
			return result, nil
		}
		after = append(after, changed...)
	}
	if slices.Equal(lines, after) {
		if m.postpone == nil || m.postpone.behind == 0 {
			return result, nil
		}
		late, end := chaos.KeepOpen(ctx) // the message stays as it is, and comes later
		defer func() { _ = end(nil, false) }()
		ctx = late
	}
	chaos.Changed(ctx, chaos.Change{Before: shown(lines), After: shown(after)})
	return after, nil
}

func (rewrite) Phase() chaos.Phase { return chaos.PhaseChange }

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

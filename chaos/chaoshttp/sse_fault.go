package chaoshttp

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
)

// Anywhere, as the position of a fault in a stream, is drawn from the
// coordinates of each call: after none to seven events.
const Anywhere = -1

// anywhere is the number of positions that are drawn from, and drawPosition the
// salt: ASCII for "position".
const (
	anywhere     = 8
	drawPosition = 0x706f736974696f6e
)

// streamFault is a fault on the events of a stream, whatever they mean.
type streamFault struct {
	kind  string
	after int           // the position, for those that have one
	wait  time.Duration // for those that wait
	api   API           // of an error
	as    ErrorKind
}

func (f streamFault) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	result, err := next(ctx, args)
	if err != nil {
		return result, err
	}
	after := f.after
	if after == Anywhere {
		after = int(c.Draw(drawPosition) * anywhere)
	}
	if f.kind == kindError {
		_, model, _ := strings.Cut(c.Target, "#")
		body, _ := errorBody(f.api, f.as, model, requestID(c))
		return scripted(ctx, result, &failed{after: after, api: f.api, body: body}), nil
	}
	return scripted(ctx, result, f.script(after)), nil
}

// The kinds of faults on events.
const (
	kindSlowFirst  = "slow_first_event"
	kindSlowEvents = "slow_events"
	kindHang       = "hanging_stream"
	kindCutEvent   = "cut_event"
	kindCutStream  = "cut_stream"
	kindMalformed  = "malformed_event"
	kindDuplicate  = "duplicate_event"
	kindSwapped    = "swapped_events"
	kindTerminator = "unterminated_stream"
	kindError      = "error_event"
)

func (f streamFault) script(after int) script {
	switch f.kind {
	case kindSlowFirst:
		return &slow{wait: f.wait, first: true}
	case kindSlowEvents:
		return &slow{wait: f.wait}
	case kindHang:
		return &slow{wait: -1, first: true, after: after}
	case kindCutEvent:
		return &cut{after: after, within: true}
	case kindCutStream:
		return &cut{after: after}
	case kindMalformed:
		return &halved{after: after}
	case kindDuplicate:
		return &duplicate{after: after}
	case kindSwapped:
		return &swapped{after: after}
	}
	return &unterminated{}
}

func (f streamFault) Phase() chaos.Phase { return chaos.PhaseChange }

// waits reports whether the fault waits, and so has a duration as its
// parameter.
func (f streamFault) waits() bool { return f.kind == kindSlowFirst || f.kind == kindSlowEvents }

func (f streamFault) Check() error {
	c := param.Check{Kind: f.kind}
	switch {
	case f.waits():
		c.That(f.wait > 0, "duration", f.wait, "a duration of more than 0")
	case f.kind != kindTerminator:
		c.That(f.after >= Anywhere, "after", f.after, fmt.Sprintf("a number of events of 0 or more, or %d: anywhere", Anywhere))
	}
	if f.kind == kindError {
		status{api: f.api, as: f.as}.checkAPI(&c)
	}
	return c.Err()
}

func (f streamFault) Describe() chaos.Description {
	d := chaos.Description{
		Kind: f.kind, Layer: chaos.LayerStream, Class: chaos.ClassProtocol, Visibility: chaos.Implicit,
		Persistence: chaos.Transient, Effect: chaos.EffectDone,
	}
	switch f.kind {
	case kindSlowFirst, kindSlowEvents:
		d.Class = chaos.ClassTiming
		return param.With(d, struct {
			Duration string `json:"duration"`
		}{f.wait.String()})
	case kindHang:
		d.Class, d.Visibility = chaos.ClassTiming, chaos.Explicit
	case kindCutEvent:
		d.Class, d.Visibility = chaos.ClassCrash, chaos.Explicit
	case kindCutStream:
		d.Class = chaos.ClassOmission
	case kindTerminator:
		return d
	case kindError:
		d.Class, d.Visibility = chaos.ClassCrash, chaos.Explicit
		return param.With(d, struct {
			API   API       `json:"api"`
			Error ErrorKind `json:"error"`
			After int       `json:"after"`
		}{f.api, f.as, f.after})
	}
	return param.With(d, struct {
		After int `json:"after"`
	}{f.after})
}

package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
)

// letter is a value whose type says less than its call knows: one of a kind fits a call of that kind alone. It is boxed
// as messages of gRPC are.
type letter struct {
	kind byte
	text *string
}

func of(kind byte, text string) *letter           { return &letter{kind, &text} }
func (l *letter) Unbox() any                      { return l.text }
func (l *letter) Box(v any) (any, error)          { return fitting(v) }
func (l *letter) SameAs(other any) (same, _ bool) { return *other.(*letter).text == *l.text, true }

// fitting fits what has the kind a.
func fitting(v any) (any, error) {
	if l, ok := v.(*letter); ok && l.kind == 'a' {
		return l, nil
	}
	return nil, errors.New("a letter of another kind")
}

// A wrapper says what fits its call: of its result, and of each item of a stream. What does not is not delivered.
func TestFit(t *testing.T) {
	for _, c := range []struct {
		why       string
		fault     any
		want      string
		delivered bool
	}{
		{"of its kind", of('a', "other"), "other", true},
		{"of another kind, but of its type", of('b', "other"), "real", false},
		{"of another type", "other", "real", false},
		{"equal to the real one", of('a', "real"), "real", false},
	} {
		t.Run(c.why, func(t *testing.T) {
			in, ctx := recording(t, chaos.Rule{Target: "*", Fault: replace(c.fault)})
			got, err := chaos.WrapWith("call", func(context.Context, int) (*letter, error) { return of('a', "real"), nil },
				&chaos.WrapOptions[int]{Fit: fitting})(ctx, 1)
			assert.NoError(t, err)
			assert.Equal(t, c.want, *got.text)
			var items []string
			letters := func(context.Context, int) iter.Seq2[*letter, error] {
				return func(yield func(*letter, error) bool) {
					for n := 0; n < 2 && yield(of('a', "real"), nil); n++ {
					}
				}
			}
			for item, err := range chaos.WrapStreamWith("stream", letters, &chaos.WrapOptions[int]{Fit: fitting})(ctx, 1) {
				assert.NoError(t, err)
				items = append(items, *item.text)
			}
			assert.Equal(t, []string{c.want, c.want}, items)
			for _, e := range in.Events() {
				assert.Equal(t, c.delivered, e.Delivered, "%+v", e)
			}
		})
	}
}

// A boxed value that a fault passes on as it is was not changed, whatever the fault declares: nobody writes to a box.
func TestABoxIsNotWrittenTo(t *testing.T) {
	idle := faultFunc{chaos.PhaseChange, func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
		result, err := next(ctx, args)
		chaos.Changed(ctx, chaos.Change{})
		return result, err
	}}
	in, ctx := recording(t, chaos.Rule{Target: "*", Fault: idle})
	_, err := chaos.Wrap("call", func(context.Context, int) (*letter, error) { return of('a', "real"), nil })(ctx, 1)
	assert.NoError(t, err)
	assert.False(t, only(t, in).Delivered)
	assert.Contains(t, only(t, in).Note, "made no difference")
}

// A stream continues a call that has begun, as a function does, with the layer of that.
func TestACrossingOfAStream(t *testing.T) {
	for why, c := range map[string]struct {
		rule  chaos.Rule
		close bool
		want  string
		event string
	}{
		"nothing matches":    {chaos.Rule{When: ordinals(9)}, false, "[a b] <nil>", "ok false"},
		"an item changes":    {chaos.Rule{Fault: replace("x")}, false, "[x x] <nil>", "ok true"},
		"it fails":           {chaos.Rule{Fault: down()}, false, "[] connection refused", "injected true"},
		"its reply is lost":  {chaos.Rule{Fault: loseReply()}, false, "[] context deadline exceeded", "injected true"},
		"its cell has ended": {chaos.Rule{Fault: down()}, true, "[] " + chaos.ErrCellEnded.Error(), ""},
	} {
		t.Run(why, func(t *testing.T) {
			c.rule.Name, c.rule.Target = "r", "words"
			if c.rule.Fault == nil {
				c.rule.Fault = down()
			}
			in := plan(t, c.rule).Injector("cell", &chaos.InjectorOptions{RecordAll: true})
			if c.close {
				in.Close()
			}
			x := in.Arrive(t.Context(), "words", "", chaos.LayerHTTP, false)
			x.Declare(chaos.EffectNone)
			x.Match(7, 2)
			got, err := collect(chaos.WrapStreamWith("unused", letters, &chaos.WrapOptions[int]{Crossing: &x})(t.Context(), 2), 9)
			assert.Equal(t, c.want, fmt.Sprint(got, " ", err))
			if c.close {
				assert.Empty(t, in.Events())
				return
			}
			e := only(t, in)
			assert.Equal(t, c.event, fmt.Sprint(e.Outcome, " ", e.Delivered))
			assert.Equal(t, []any{"words", chaos.LayerHTTP, uint64(7), chaos.EffectNone}, []any{e.Target, e.Layer, e.Key, e.Effect})
		})
	}
	in := plan(t).Injector("cell", nil)
	x := in.Arrive(t.Context(), "words", "", chaos.LayerHTTP, false)
	got, err := collect(chaos.WrapStreamWith("unused", letters, &chaos.WrapOptions[int]{Crossing: &x})(t.Context(), 2), 9)
	assert.NoError(t, err)
	assert.Equal(t, []string{"a", "b"}, got, "one that passes through")
}

package chaos_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
)

func TestLaneOf(t *testing.T) {
	root := t.Context()
	in := chaos.NewInjector(1, nil)
	var inCall string
	var none context.Context
	inside := chaos.Wrap("tool", func(ctx context.Context, _ int) (int, error) {
		inCall = chaos.LaneOf(ctx)
		return 0, nil
	})
	_, _ = inside(chaos.WithLane(chaos.NewContext(root, in), "a"), 1)
	for _, tc := range []struct{ why, got, want string }{
		{"no lane", chaos.LaneOf(root), ""},
		{"no context", chaos.LaneOf(none), ""},
		{"an injector alone", chaos.LaneOf(chaos.NewContext(root, in)), ""},
		{"its lane", chaos.LaneOf(chaos.WithLane(root, "a")), "a"},
		{"the innermost counts", chaos.LaneOf(chaos.WithLane(chaos.WithLane(root, "a"), "b")), "b"},
		{"back in the default lane", chaos.LaneOf(chaos.WithLane(chaos.WithLane(root, "a"), "")), ""},
		{"a context made from it", chaos.LaneOf(context.WithValue(chaos.WithLane(root, "a"), &inCall, 1)), "a"},
		{"a turn and an injector later", chaos.LaneOf(chaos.NewContext(chaos.WithTurn(chaos.WithLane(root, "a"), 2), in)), "a"},
		{"the callee of a wrapped call", inCall, "a"},
	} {
		assert.Equal(t, tc.want, tc.got, tc.why)
	}
}

package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// TestPortsOfThisMachineLeaveTheDraw: of the port that a cell meets first.
func TestPortsOfThisMachineLeaveTheDraw(t *testing.T) {
	plan, err := chaos.NewPlan(1, chaos.Rule{Name: "r", Target: "*", When: when.Prob(0.5), Fault: failer{errors.New("down")}})
	require.NoError(t, err)
	matches := func(targets ...string) (text string) {
		ctx := chaos.NewContext(context.Background(), plan.Injector("", nil))
		for range 64 {
			for _, target := range targets {
				text += fmt.Sprint(chaos.Point(ctx, target) != nil, " ")
			}
		}
		return text
	}
	rapid.Check(t, func(t *rapid.T) {
		port := rapid.IntRange(1, 65535)
		host := rapid.SampledFrom([]string{"127.0.0.1", "localhost", "[::1]"}).Draw(t, "host")
		one, other := port.Draw(t, "one"), port.Draw(t, "other")
		name := func(port int) string { return fmt.Sprintf("GET %s:%d/orders", host, port) }
		if matches(name(one)) != matches(name(other)) {
			t.Fatalf("other draws at port %d than at %d", other, one)
		}
		if matches(name(one), "stock") != matches(name(other), "stock") {
			t.Fatal("another target makes a difference")
		}
	})
	assert.NotEqual(t, matches("GET 127.0.0.1:1/a"), matches("GET 127.0.0.1:1/b"), "the path counts")
	assert.NotEqual(t, matches("GET example.com:1/a"), matches("GET example.com:2/a"), "on other machines the port counts")
	both := matches("GET 127.0.0.1:1/a", "GET 127.0.0.1:2/a")
	assert.NotEqual(t, both, matches("GET 127.0.0.1:1/a", "GET 127.0.0.1:3/a"), "and that of a second server here")
}

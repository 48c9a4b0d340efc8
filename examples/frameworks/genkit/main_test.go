package genkit

import (
	"os"
	"os/signal"
	"testing"
)

// TestMain asks for a signal once, outside of every bubble: genkit.Init does so with each
// call, and the first to do it in a process cannot do it inside a bubble.
func TestMain(m *testing.M) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt)
	signal.Stop(c)
	os.Exit(m.Run())
}

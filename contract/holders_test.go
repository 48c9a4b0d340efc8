package contract_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/contract"
)

// What the engine's goroutines look like: the one that runs user code, and the first
// of the bubble.
const (
	loopFrames = "\ngithub.com/shakedown-go/shakedown/contract.(*liveRun).answer.func1()\n\t/s/contract/runner.go:226 +0x1f" +
		"\ngithub.com/shakedown-go/shakedown/internal/usercode.run(0x1, 0x2)\n\t/s/internal/usercode/run.go:38 +0x1f" +
		"\ngithub.com/shakedown-go/shakedown/internal/usercode.(*server).serve(0x1)\n\t/s/internal/usercode/loop.go:28 +0x1f"
	firstFrames = "\ngithub.com/shakedown-go/shakedown/internal/usercode.(*Loop).Call(0x1)\n\t/s/internal/usercode/call.go:110 +0x1f" +
		"\ngithub.com/shakedown-go/shakedown/contract.(*liveRun).runInBubble(0x1)\n\t/s/contract/bubble.go:80 +0x1f"
)

// inStandardLibrary is a frame of Go's own code, which is no user's.
func inStandardLibrary(function, file string) string {
	return "\n" + function + "(0x1)\n\t" + contract.StandardLibrary() + file + ":1 +0x1f"
}

func TestNamesOfHolders(t *testing.T) {
	std := inStandardLibrary
	for _, tc := range []struct {
		reason string
		traces []string
		want   string
	}{
		{"nothing", nil, ""},
		{"all that waits lets the clock advance", []string{
			"goroutine 7 [select (durable), synctest bubble 4]:" + firstFrames,
			"goroutine 8 [sleep (durable), synctest bubble 4]:\na.org/b.Agent()\n\t/b/f.go:1 +0x1f" + loopFrames,
		}, ""},
		{"the agent itself, on the engine's goroutine", []string{
			"goroutine 7 [select (durable), synctest bubble 4]:" + firstFrames,
			"goroutine 8 [chan receive, synctest bubble 4]:\na.org/b.Agent()\n\t/b/f.go:1 +0x1f" + loopFrames,
		}, "a.org/b.Agent (f.go:1), chan receive"},
		{"the engine between two steps is not user code", []string{
			"goroutine 8 [runnable, synctest bubble 4]:" + loopFrames,
			"goroutine 7 [chan receive, synctest bubble 4]:" + firstFrames,
		}, ""},
		{"another bubble", []string{"goroutine 8 [IO wait, synctest bubble 5]:\na.org/b.Agent()\n\t/b/f.go:1 +0x1f"}, ""},
		{"an idle connection", []string{
			"goroutine 8 [IO wait, synctest bubble 4]:" + std("internal/poll.runtime_pollWait", "runtime/netpoll.go") + std("net.(*netFD).Read", "net/fd_posix.go") +
				std("net/http.(*persistConn).readLoop", "net/http/transport.go") + "\ncreated by net/http.(*Transport).dialConn in goroutine 6\n\t" +
				contract.StandardLibrary() + "net/http/transport.go:1994 +0x1f",
		}, "net.(*netFD).Read (fd_posix.go:1), IO wait, started by net/http.(*Transport).dialConn (transport.go:1994)"},
		{"a listener, and a lock: in alphabetical order, each once", []string{
			"goroutine 8 [IO wait, synctest bubble 4]:" + std("internal/poll.(*FD).Accept", "internal/poll/fd_unix.go") + "\na.org/b.Serve()\n\t/b/f.go:1 +0x1f",
			"goroutine 9 [IO wait, synctest bubble 4]:" + std("internal/poll.(*FD).Accept", "internal/poll/fd_unix.go") + "\na.org/b.Serve()\n\t/b/f.go:1 +0x1f",
			"goroutine 10 [sync.Mutex.Lock, synctest bubble 4]:\na.org/b.Locks()\n\t/b/f.go:2 +0x1f",
			"goroutine 11 [running, synctest bubble 4]:\na.org/b.Works()\n\t/b/f.go:3 +0x1f",
		}, "a.org/b.Locks (f.go:2), sync.Mutex.Lock; 2 of a.org/b.Serve (f.go:1), IO wait; a.org/b.Works (f.go:3), running"},
	} {
		assert.Equal(t, tc.want, contract.NameHolders(strings.Join(tc.traces, "\n\n"), "4"), tc.reason)
	}
}

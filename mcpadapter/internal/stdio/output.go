package stdio

import (
	"bytes"
	"errors"
	"io"
)

// output writes until the server ends. A write that blocks then is given up:
// only its own goroutine waits for it, until the client reads or the process
// ends.
type output struct {
	to   io.Writer
	over <-chan struct{}
}

var errOver = errors.New("mcpadapter: the server has ended, and the client did not read")

func (o output) Write(p []byte) (int, error) {
	type written struct {
		n   int
		err error
	}
	done := make(chan written, 1)
	text := bytes.Clone(p) // the caller may use p again after giving up
	go func() {
		n, err := o.to.Write(text)
		done <- written{n, err}
	}()
	select {
	case w := <-done:
		return w.n, w.err
	case <-o.over:
	}
	select {
	case w := <-done: // it was written at the same moment
		return w.n, w.err
	default:
		return 0, errOver
	}
}

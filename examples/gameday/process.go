package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
)

// process is a service that runs as a process of its own.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser // it ends when this closes
	addr   string
	exited chan struct{}
	err    error // of reading its events; may be read once exited is closed
}

// listener makes the function that is called with the events of a process, whose
// times count from armed.
type listener func(armed time.Time) func(context.Context, chaos.Event)

// grace is the time that a service has to end by itself.
const grace = 2 * time.Second

// launch starts a service and waits until it has sent its address.
func launch(ctx context.Context, name string, listen listener) (*process, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("gameday: %s: %w", name, err)
	}
	p := &process{cmd: exec.Command(exe, serveCommand, name), exited: make(chan struct{})}
	p.cmd.Stderr = os.Stderr
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("gameday: %s: %w", name, err)
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("gameday: %s: %w", name, err)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("gameday: %s: %w", name, err)
	}
	up := make(chan error, 1)
	go p.attend(stdout, listen, up)
	select {
	case err = <-up:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		p.stop()
		return nil, fmt.Errorf("gameday: %s did not start: %w", name, err)
	}
	return p, nil
}

// attend reads the output of the process and waits for its end.
func (p *process) attend(stdout io.Reader, listen listener, up chan<- error) {
	defer close(p.exited)
	p.err = p.read(stdout, listen, up)
	_, _ = io.Copy(io.Discard, stdout)
	_ = p.cmd.Wait() // most are killed, so the error says nothing
}

func (p *process) read(stdout io.Reader, listen listener, up chan<- error) error {
	lines := json.NewDecoder(stdout)
	var h hello
	if err := lines.Decode(&h); err != nil {
		up <- err
		return nil
	}
	p.addr = h.Addr
	up <- nil
	record := listen(h.Armed)
	for {
		var e chaos.Event
		err := lines.Decode(&e)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // it may be killed within a line
			return nil
		}
		if err != nil {
			return fmt.Errorf("gameday: events of process %d: %w", p.cmd.Process.Pid, err)
		}
		record(context.Background(), e)
	}
}

// send sends the addresses of the other services.
func (p *process) send(peers map[string]string) error {
	line, err := json.Marshal(peers)
	if err != nil {
		return err
	}
	_, err = p.stdin.Write(append(line, '\n'))
	return err
}

// stop ends the process, by force where it does not end by itself, and returns
// when it is gone. It may be called more than once, but not at the same time.
func (p *process) stop() {
	_ = p.stdin.Close()
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-p.exited:
		return
	case <-t.C:
	}
	_ = p.cmd.Process.Kill()
	<-p.exited
}

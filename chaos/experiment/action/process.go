package action

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/shakedown-go/shakedown/chaos/experiment"
)

// Kill kills a process that this program has started. When the action runs, it
// calls process to get the process, such as
//
//	func() *os.Process { return cmd.Process }
//
// Its children keep running. The program that started it must still wait for it.
// restart is the rollback; nil: none. A process that has already ended is an error.
func Kill(process func() *os.Process, restart func(ctx context.Context) error) Start {
	return func(context.Context) (any, experiment.Undo, error) {
		p, err := find(process)
		if err != nil {
			return nil, nil, fmt.Errorf("action: kill: %w", err)
		}
		output := map[string]any{"pid": p.Pid}
		if err := p.Kill(); err != nil {
			return output, nil, fmt.Errorf("action: kill process %d: %w", p.Pid, err)
		}
		return output, restart, nil
	}
}

// Pause stops a process (SIGSTOP) for the time d; 0: until it is rolled back.
// process is as for [Kill]. If the system has no such signal, as Windows, the error
// matches [errors.ErrUnsupported].
func Pause(process func() *os.Process, d time.Duration) Start {
	return func(ctx context.Context) (any, experiment.Undo, error) {
		p, err := find(process)
		if err != nil {
			return nil, nil, fmt.Errorf("action: pause: %w", err)
		}
		output := map[string]any{"pid": p.Pid}
		if err := stop(p); err != nil {
			return output, nil, fmt.Errorf("action: pause process %d: %w", p.Pid, err)
		}
		goOn := func(context.Context) error {
			if err := resume(p); err != nil && !errors.Is(err, os.ErrProcessDone) {
				return fmt.Errorf("action: resume process %d: %w", p.Pid, err)
			}
			return nil
		}
		return output, goOn, heal(ctx, d, goOn)
	}
}

func find(process func() *os.Process) (*os.Process, error) {
	if process != nil {
		if p := process(); p != nil {
			return p, nil
		}
	}
	return nil, errors.New("there is no process; allowed: one that was started")
}

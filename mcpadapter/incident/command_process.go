package incident

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// A process is a running program, the leader of a group, whose output is read.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when the program has; what it left may live
	err   error         // why it could not be waited for; valid after ended
	pipe  *os.File
	read  chan struct{} // closed when no process can write any more
}

// startProcess starts a program whose output and errors go to a writer.
func startProcess(cmd *exec.Cmd, out io.Writer) (*process, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = w, w
	lead(cmd)
	err = cmd.Start()
	_ = w.Close()
	if err != nil {
		_ = r.Close()
		return nil, err
	}
	p := &process{cmd: cmd, ended: make(chan struct{}), pipe: r, read: make(chan struct{})}
	go func() {
		defer close(p.read)
		_, _ = io.Copy(out, r) // ends when the pipe does; its reader cannot fail
	}()
	go func() {
		defer close(p.ended)
		p.err = cmd.Wait()
	}()
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// kill kills the whole group.
func (p *process) kill() { kill(p.pid()) }

// drain reads the rest of the output. A process left behind may hold the pipe,
// so it waits only for a while.
func (p *process) drain() {
	patience := time.NewTimer(pipePatience)
	defer patience.Stop()
	select {
	case <-p.read:
	case <-patience.C:
	}
	_ = p.pipe.Close()
	<-p.read
}

// result returns how the program ended; valid after ended.
func (p *process) result() Result {
	var exit *exec.ExitError
	switch {
	case p.err == nil:
		return Result{ExitCode: p.cmd.ProcessState.ExitCode()}
	case errors.As(p.err, &exit) && exit.Exited():
		return Result{ExitCode: exit.ExitCode()}
	case errors.As(p.err, &exit):
		return failed(fmt.Errorf("agent crashed: %v", exit.ProcessState))
	}
	return failed(fmt.Errorf("agent could not be waited for: %w", p.err))
}

// await waits for a program. If the context ends because the time is over, the
// group is killed. If it ends for any other reason, the group is asked to end, and
// killed after the patience.
func (p *process) await(ctx context.Context, mostPatience time.Duration) (killed bool) {
	select {
	case <-p.ended:
		return false
	case <-ctx.Done():
	}
	if mostPatience > 0 && !errors.Is(context.Cause(ctx), errTimeout) {
		askToEnd(p.pid())
		patience := time.NewTimer(mostPatience)
		defer patience.Stop()
		select {
		case <-p.ended:
			return false
		case <-patience.C:
		}
	}
	p.kill()
	<-p.ended
	return true
}

// attributed returns the result of a program whose context may have ended. A good
// end counts; any other is attributed to the end of the context.
func attributed(ctx context.Context, r Result, killed bool) Result {
	if ctx.Err() == nil || r.Err == nil && r.ExitCode == 0 {
		return r
	}
	what := "and the agent ended"
	if killed {
		what = "and the agent was killed"
	}
	return Result{ExitCode: -1, Err: fmt.Errorf("%w, %s", context.Cause(ctx), what), Output: r.Output}
}

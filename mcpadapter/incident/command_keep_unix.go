//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package incident

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/shakedown-go/shakedown/mcpadapter/incident/internal/durable"
)

// canKeep reports whether this system has what a keeper needs.
const canKeep = true

// stateDescriptor is where a keeper finds the file of its state.
const stateDescriptor = 3

// Keep is the keeper of an agent. The program named in [Command].Keeper calls
// it with its arguments, and exits with the returned status.
//
// A keeper runs the agent and outlives the runner if necessary. It ends the
// agent 60 s after its time-out, ends what the agent has left behind as far as it
// can be found, and writes down how it ended.
//
// SIGTERM is passed on to the agent; SIGINT ends it at once.
func Keep(args []string) int {
	state := os.NewFile(stateDescriptor, "state")
	if state == nil || len(args) < 3 {
		fmt.Fprintln(os.Stderr, "incident: a keeper is started by a runner, as KEEPER SECONDS ATTEMPT PROGRAM …")
		return 2
	}
	syscall.CloseOnExec(stateDescriptor)
	limit, wrong := strconv.Atoi(args[0])
	attempt, alsoWrong := strconv.Atoi(args[1])
	if err := errors.Join(wrong, alsoWrong); err != nil {
		fmt.Fprintln(os.Stderr, "incident: keeper:", err)
		return 2
	}
	if err := keepAgent(state, time.Duration(limit)*time.Second, attempt, args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "incident: keeper:", err)
		return 1
	}
	return 0
}

// keepAgent runs the agent. It returns an error if its end could not be written
// down.
func keepAgent(state *os.File, limit time.Duration, attempt int, program []string) error {
	heard := make(chan os.Signal, 8)
	// Neither a pipe that its runner no longer reads nor a terminal may end the keeper.
	signal.Notify(heard, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE)
	defer signal.Stop(heard)
	now := keepState{Attempt: attempt, PID: os.Getpid()}
	if err := now.write(state); err != nil {
		return err
	}
	p, err := startProcess(exec.Command(program[0], program[1:]...), deafTo{os.Stdout})
	if err != nil {
		now.Ended, now.ExitCode, now.Error = true, -1, fmt.Sprintf("agent could not be run: %v", err)
		return now.write(state)
	}
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	overTime := false
	for over := false; !over; {
		select {
		case <-p.ended:
			over = true
		case <-deadline.C:
			overTime = true
			p.kill()
		case s := <-heard:
			switch s {
			case syscall.SIGTERM:
				now.Asked = true
				_ = now.write(state) // it is written again at the end
				askToEnd(p.pid())
			case syscall.SIGINT:
				now.Asked = true
				p.kill()
			}
		}
	}
	p.kill() // whatever it left behind
	killStrays(os.Getenv(incidentVariable))
	p.drain()
	now.Ended, now.ExitCode = true, p.result().ExitCode
	if err := p.result().Err; err != nil {
		now.Error = err.Error()
	}
	if overTime {
		now.ExitCode, now.Error = -1, errTimeout.Error()+", and the agent was killed"
	}
	return now.write(state)
}

// deafTo writes to w until that fails, and discards the rest.
type deafTo struct{ w io.Writer }

func (d deafTo) Write(p []byte) (int, error) {
	_, _ = d.w.Write(p)
	return len(p), nil
}

// openState opens the file of an attempt and locks it.
func openState(path string, attempt int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = durable.TryLock(f)
	if err == nil {
		err = keepState{Attempt: attempt}.write(f)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// keeper starts a keeper for a program. The keeper has the state's lock before
// it begins: a later runner either finds the lock taken, or no keeper is
// running.
func (c *Command) keeper(job Job, state *os.File) *exec.Cmd {
	args := append(c.Keeper[1:len(c.Keeper):len(c.Keeper)],
		strconv.FormatInt(seconds(agentLimit(job.Timeout)), 10), strconv.Itoa(job.attempt))
	cmd := exec.Command(c.Keeper[0], append(append(args, c.Path...), c.args(job)...)...)
	cmd.ExtraFiles = []*os.File{state}
	return cmd
}

// keepPatience is how long a keeper may take to end its agent.
const keepPatience = 3 * time.Second

// investigateKept runs the agent with a keeper.
func (c *Command) investigateKept(ctx context.Context, job Job) Result {
	path := job.state
	if path == "" { // not by a runner: no later runner will read the state
		f, err := os.CreateTemp("", "agent-")
		if err != nil {
			return notStarted(bare(err))
		}
		path = f.Name()
		_ = f.Close()
		defer os.Remove(path)
	}
	state, err := openState(path, job.attempt)
	if err != nil {
		return notStarted(bare(err))
	}
	defer state.Close()
	out := newTail(maxOutput)
	cmd := c.keeper(job, state)
	cmd.Dir, cmd.Env = job.Dir, c.environment(job)
	p, err := startProcess(cmd, out)
	if err != nil {
		return failed(fmt.Errorf("agent could not be run: %w", err))
	}
	killed := c.await(ctx, job, p,
		func() { _ = syscall.Kill(p.pid(), syscall.SIGTERM) },
		func() {
			_ = syscall.Kill(p.pid(), syscall.SIGINT)
			select {
			case <-p.ended:
			case <-time.After(keepPatience):
				killStrays(job.Incident.IncidentID) // the keeper is one of them
				p.kill()
			}
		})
	p.drain()
	s, _ := readState(state) // what cannot be read does not say how it ended
	result, known := s.result()
	if !known {
		killStrays(job.Incident.IncidentID)
		result = failed(errors.New("the agent's keeper ended before the agent: " +
			cmp.Or(errorText(p.result().Err), "it exited")))
	}
	result.Output = c.redact(out.text())
	return attributed(ctx, result, killed)
}

// statePoll is how often to check whether another runner's keeper has ended.
const statePoll = 50 * time.Millisecond

// awaitEarlier returns how the agent of an earlier runner ended, and waits for
// it while its keeper runs. known is false if no keeper recorded the end; then
// every process of the agent that can be found has ended.
func (c *Command) awaitEarlier(ctx context.Context, job Job) (result Result, asked, known bool) {
	defer func() {
		if !known {
			killStrays(job.Incident.IncidentID)
		}
	}()
	f, err := os.OpenFile(job.state, os.O_RDWR, 0)
	if err != nil {
		return Result{}, false, false
	}
	defer f.Close()
	if err := c.awaitLock(ctx, job, f); err != nil {
		return failed(err), true, true
	}
	s, err := readState(f)
	if err != nil || s.Attempt != job.attempt {
		return Result{}, false, false
	}
	result, known = s.result()
	return result, s.Asked, known
}

// awaitLock waits until a keeper has ended. When the context ends it asks the
// keeper to end, and kills it after the patience.
func (c *Command) awaitLock(ctx context.Context, job Job, f *os.File) error {
	tick := time.NewTicker(statePoll)
	defer tick.Stop()
	done := ctx.Done()
	var patience, last <-chan time.Time
	for {
		err := durable.TryLock(f)
		if !errors.Is(err, durable.ErrHeld) {
			return err
		}
		signalKeeper := func(s syscall.Signal) {
			// the keeper lives, because it holds the lock, so the number is still its own
			if s1, err := readState(f); err == nil && s1.PID > 1 {
				_ = syscall.Kill(s1.PID, s)
			}
		}
		select {
		case <-tick.C:
		case <-done:
			done = nil
			signalKeeper(syscall.SIGTERM)
			patience = time.After(job.Patience)
		case <-patience:
			signalKeeper(syscall.SIGINT)
			last = time.After(keepPatience)
		case <-last:
			killStrays(job.Incident.IncidentID)
			signalKeeper(syscall.SIGKILL)
			return fmt.Errorf("%w, and the keeper of an earlier runner did not end", context.Cause(ctx))
		}
	}
}

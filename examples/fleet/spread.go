package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/fleet"
	"github.com/shakedown-go/shakedown/contract/fleet/embedded"
	"github.com/shakedown-go/shakedown/examples/internal/cli"
	"github.com/shakedown-go/shakedown/examples/internal/orderdesk"
)

// A desk is what all processes of a run are told.
type desk struct {
	nats, run string
	trials    int
}

// thinking is how long the model takes for a prompt. A real one takes a thousand times as long, and then a
// matrix is worth a fleet. Here workers must only be in the middle of units when they are killed.
const thinking = 5 * time.Millisecond

// matrix is the order desk's, with a model that takes its time. The agent has bad habits, so that there
// is something to compare. Every process makes the same.
func (d *desk) matrix() *contract.Matrix {
	m := orderdesk.Matrix(orderdesk.Fragile())
	m.Trials = d.trials
	m.Invariants = slices.DeleteFunc(m.Invariants, func(i contract.Invariant) bool {
		return i.Name == "backs-off" // it looks at pauses in real time, in which a machine may stall
	})
	made := m.NewWorld
	m.NewWorld = func(ctx context.Context) (*contract.World, error) {
		w, err := made(ctx)
		if err != nil {
			return nil, err
		}
		agent := w.Agent
		w.Agent = func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
			if err := cli.Sleep(ctx, thinking); err != nil {
				return "", err
			}
			return agent(ctx, prompt, tools)
		}
		return w, nil
	}
	return m
}

// A run has so many worker processes, of which so many are killed.
const workers, kills = 8, 3

// spread runs the matrix by a fleet.
func (d *desk) spread(ctx context.Context) (*contract.Report, error) {
	dir, err := os.MkdirTemp("", "fleet")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	server, err := embedded.Start(&embedded.Options{Dir: filepath.Join(dir, "server")})
	if err != nil {
		return nil, err
	}
	defer server.Close()
	d.nats = server.URL()
	nc, err := connect(d.nats)
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	o := &fleet.Options{
		ID: "desk-" + rand.Text()[:8], Run: &contract.RunOptions{File: filepath.Join(dir, "desk.run.jsonl")},
		AckWait:    2 * time.Second, // the workers are near; by default 10 s
		Repeatable: true,            // the agent: a unit that is run twice comes out the same
		OnWait:     waits,
	}
	r, err := d.together(ctx, nc, o)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return r, errors.Join(err, fleet.Delete(last, nc, o.ID))
}

// together hands out the units and has processes that run them. Whenever a further quarter is done, a
// process is killed. All have ended when it returns.
func (d *desk) together(ctx context.Context, nc *nats.Conn, o *fleet.Options) (r *contract.Report, err error) {
	m := d.matrix()
	fmt.Printf("run %s: %d cells, %d workers\n", o.ID, len(m.Cells()), workers)
	bar := progress("fleet", len(m.Cells()))
	all, ctx := errgroup.WithContext(ctx)
	var end []context.CancelFunc
	for range workers {
		own, cancel := context.WithCancel(ctx)
		defer cancel()
		end = append(end, cancel)
		all.Go(func() error { return d.process(own, o.ID) })
	}
	killed := 0
	o.OnProgress = func(p fleet.Progress) {
		_ = bar.Set(p.Done * len(m.Invariants))
		if killed < kills && p.Done >= p.Units*(killed+1)/(kills+1) {
			end[killed]()
			killed++
			_ = bar.Clear()
			fmt.Printf("worker %d killed after %d of %d units\n", killed, p.Done, p.Units)
		}
	}
	all.Go(func() (err error) {
		r, err = fleet.Run(ctx, nc, m, o)
		return err
	})
	return r, all.Wait()
}

// process runs this program again, as a worker. When ctx ends, it is killed by kill -9.
func (d *desk) process(ctx context.Context, run string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, "-nats", d.nats, "-work", run, "-trials", strconv.Itoa(d.trials))
	if _, err = cmd.StdinPipe(); err != nil { // it is closed when this process ends
		return err
	}
	_, err = cmd.Output()
	if exit, ended := errors.AsType[*exec.ExitError](err); ctx.Err() == nil && ended {
		return fmt.Errorf("fleet: a worker ended: %w\n%s", err, exit.Stderr)
	} else if ctx.Err() == nil {
		return err
	}
	return nil
}

// work runs units, one at a time, until the run has all.
func (d *desk) work(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// A process that started this one holds a pipe to it, and may be killed too.
	if in, err := os.Stdin.Stat(); err == nil && in.Mode()&os.ModeNamedPipe != 0 {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			cancel()
		}()
	}
	nc, err := connect(d.nats)
	if err != nil {
		return err
	}
	defer nc.Close()
	return fleet.Work(ctx, nc, d.matrix(),
		&fleet.Options{ID: d.run, Run: &contract.RunOptions{Workers: 1}, OnWait: waits})
}

// connect waits for a server that is away.
func connect(url string) (*nats.Conn, error) {
	return nats.Connect(url, nats.MaxReconnects(-1), nats.RetryOnFailedConnect(true))
}

// waits says why a call of the server is made again.
func waits(why error) { fmt.Fprintln(os.Stderr, "waiting:", why) }

package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract/trace"
	"github.com/shakedown-go/shakedown/examples/internal/cli"
	"github.com/shakedown-go/shakedown/examples/internal/orderdesk"
	"github.com/shakedown-go/shakedown/mcpadapter"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// questions are what the customers of one round ask. Together they need every tool.
func questions() []string {
	return []string{"Where is order 3007?", "Please refund one teapot of order 1042, it arrived broken.",
		"Please ship order 2003."}
}

// pace is the pause between two customers.
const pace = 100 * time.Millisecond

// desk is a live order desk behind an MCP server.
type desk struct {
	injector *chaos.Injector
	server   *mcpadapter.Server
	answer   func(context.Context, customer) (string, error)
	work     sync.WaitGroup
	served   int // customers; of the goroutine that works
}

// customer is one question, and the tools to answer it with.
type customer struct {
	agent    func(context.Context, string, chaos.ToolRegistry) (string, error)
	question string
	tools    chaos.ToolRegistry
}

// openDesk makes the desk and its server; both begin with serve.
func openDesk(token string) (*desk, error) {
	live, err := trace.NewRecorder(&trace.Options{Run: timeline.RunOptions{Now: time.Now}})
	if err != nil {
		return nil, err
	}
	d := &desk{injector: chaos.NewInjector(orderdesk.DefaultSeed, &chaos.InjectorOptions{
		RecordAll: true, MaxLog: -1, OnBegin: live.Begin, OnEvent: live.Record,
	})}
	d.answer = chaos.WrapWith("desk.answer", answer, &chaos.WrapOptions[customer]{Injector: d.injector})
	runs, err := trace.NewRuns(nil)
	if err != nil {
		return nil, err
	}
	if _, err := runs.Add(trace.Entry{ID: "live", Label: "the live desk", Timeline: live.Run()}); err != nil {
		return nil, err
	}
	d.server,
		err = mcpadapter.NewServer(mcpadapter.Host{Name: "order desk", Injector: d.injector, Runs: runs},
		&mcpadapter.Options{
			Audit: io.Discard,
			Getenv: func(name string) string {
				return map[string]string{"SHAKEDOWN_MCP_TOKEN": token, "SHAKEDOWN_MCP_MODE": "read-write",
					"SHAKEDOWN_MCP_ENABLE_WRITE": "true"}[name]
			},
		})
	return d, err
}

// answer answers one customer. An answer that only says that something could
// not be done is a failure of the desk.
func answer(ctx context.Context, c customer) (string, error) {
	text, err := c.agent(ctx, c.question, c.tools)
	for _, excuse := range []string{"cannot", "could not", "did not"} {
		if err == nil && strings.Contains(text, excuse) {
			err = fmt.Errorf("the customer was told: %s", text)
		}
	}
	return text, err
}

// serve works, and listens for MCP clients, until the context ends.
func (d *desk) serve(ctx context.Context, listen func(context.Context) error) error {
	var working error
	d.work.Go(func() {
		for ctx.Err() == nil && working == nil {
			working = d.round(ctx)
		}
	})
	err := listen(ctx)
	d.work.Wait()
	if ctx.Err() != nil {
		working = nil
	}
	return errors.Join(err, working)
}

// round answers some customers in a shop of its own, whose shelves are full.
func (d *desk) round(ctx context.Context) (err error) {
	world, err := orderdesk.NewWorld(orderdesk.Robust())(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, world.Close()) }()
	tools := chaos.WrapRegistry(world.Tools, d.injector)
	for _, q := range questions() {
		// Each customer has a lane, or the next one's call would be taken for a retry of this one's.
		d.served++
		lane := chaos.WithLane(ctx, fmt.Sprintf("customers/%d", d.served))
		_, _ = d.answer(lane, customer{world.Agent, q, tools}) // a customer without an answer is in the timeline
		if cli.Sleep(ctx, pace) != nil {
			return nil
		}
	}
	return nil
}

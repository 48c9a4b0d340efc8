package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/experiment"
	"github.com/shakedown-go/shakedown/chaos/experiment/gameday"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/trace"
	"github.com/shakedown-go/shakedown/examples/internal/orderdesk"
	"github.com/shakedown-go/shakedown/mcpadapter"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// question is what the customers of the live desk ask. Every correct answer has
// the text found: an answer that only reports a failed lookup has not.
const (
	question = "Where is order 3007?"
	found    = "Order 3007 "
)

// pace is the pause between two customers of the live desk.
const pace = 500 * time.Millisecond

// shop is a live order desk, which answers a customer every half second, and
// what clients may do with it.
type shop struct {
	host  mcpadapter.Host
	world *contract.World
	tools chaos.ToolRegistry // behind the live injector's faults
	desk  sync.WaitGroup
}

// openShop opens the shop. Its desk works until ctx ends; close it then.
func openShop(ctx context.Context) (*shop, error) {
	world, err := orderdesk.NewWorld(orderdesk.Robust())(ctx)
	if err != nil {
		return nil, err
	}
	s := &shop{world: world}
	if err := s.furnish(); err != nil {
		return nil, errors.Join(err, world.Close())
	}
	s.desk.Go(func() { s.work(ctx) })
	return s, nil
}

// furnish makes the host: the live injector, whose events go to the timeline; the experiments; the contracts; and the runs.
func (s *shop) furnish() error {
	live, err := trace.NewRecorder(&trace.Options{Run: timeline.RunOptions{Now: time.Now}})
	if err != nil {
		return err
	}
	in := chaos.NewInjector(orderdesk.DefaultSeed, &chaos.InjectorOptions{
		RecordAll: true, OnBegin: live.Begin, OnEvent: live.Record,
	})
	s.tools = chaos.WrapRegistry(s.world.Tools, in)

	lab := gameday.NewLab(&gameday.LabOptions{Injector: in, Options: &experiment.Options{Timeout: time.Minute}})
	if err := lab.Register(s.experiments(in)...); err != nil {
		return err
	}
	runs, err := trace.NewRuns(&trace.RunsOptions{Workload: &trace.Workload{Run: morning}})
	if err != nil {
		return err
	}
	if _, err := runs.Add(trace.Entry{ID: "live", Label: "the live desk, since the server was started",
		Timeline: live.Run()}); err != nil {
		return err
	}
	robust, fragile := orderdesk.Matrix(orderdesk.Robust()), orderdesk.Matrix(orderdesk.Fragile())
	robust.Name, fragile.Name = "robust desk", "fragile desk"
	s.host = mcpadapter.Host{
		Name: "order desk", Injector: in, Experiments: lab,
		Matrices: []*contract.Matrix{robust, fragile}, Runs: runs, Workload: true,
	}
	return nil
}

// work answers customers until ctx ends.
func (s *shop) work(ctx context.Context) {
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for {
		_ = s.ask(chaos.WithLane(ctx, "customers")) // the timeline has the outcome
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// ask puts the question to the live desk.
func (s *shop) ask(ctx context.Context) error {
	answer, err := s.world.Agent(ctx, question, s.tools)
	if err == nil && !strings.HasPrefix(answer, found) {
		err = fmt.Errorf("the customer was not told: %s", answer)
	}
	return err
}

// close waits for the desk, whose context has ended, and closes the shop.
func (s *shop) close() error {
	s.desk.Wait()
	return s.world.Close()
}

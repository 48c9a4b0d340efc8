package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/shakedown-go/shakedown/chaos/experiment/probe"
)

// system has the running services and the client that customers use.
type system struct {
	client *client
	listen listener

	mu        sync.Mutex
	processes map[string]*process
	gone      []*process // replaced
}

func newSystem(listen listener) *system {
	return &system{client: newClient(), listen: listen, processes: map[string]*process{}}
}

// start starts all services and makes them known to each other.
func (s *system) start(ctx context.Context) error {
	for _, name := range services() {
		if err := s.restart(name)(ctx); err != nil {
			return err
		}
	}
	return nil
}

// restart returns a function that starts a service at a new address and sends the
// address to all others.
func (s *system) restart(name string) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		p, err := launch(ctx, name, s.listen)
		if err != nil {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if old := s.processes[name]; old != nil {
			s.gone = append(s.gone, old)
		}
		s.processes[name] = p
		return s.introduce()
	}
}

func (s *system) introduce() error {
	peers := map[string]string{}
	for name, p := range s.processes {
		peers[name] = p.addr
	}
	s.client.meet(peers)
	var errs []error
	for name, p := range s.processes {
		if err := p.send(peers); err != nil && !errors.Is(err, os.ErrClosed) && s.alive(p) {
			errs = append(errs, fmt.Errorf("gameday: %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

func (s *system) alive(p *process) bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// lives probes whether the process of a service is there.
func (s *system) lives(name string) func(context.Context) (bool, error) {
	return func(context.Context) (bool, error) { return s.alive(s.current(name)), nil }
}

func (s *system) current(name string) *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.processes[name]
}

// status probes a point from outside, past all injected faults.
func (s *system) status(point string) probe.Run {
	return func(ctx context.Context) (any, error) {
		url, err := s.client.url(point)
		if err != nil {
			return nil, err
		}
		return probe.HTTPStatus(url, s.client.http)(ctx)
	}
}

// accepts probes whether a service takes connections.
func (s *system) accepts(name string) probe.Run {
	return func(ctx context.Context) (any, error) {
		p := s.current(name)
		if p == nil {
			return false, nil
		}
		return probe.TCP(p.addr)(ctx)
	}
}

// stop ends all processes and returns when they are gone.
func (s *system) stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all sync.WaitGroup
	running := append(slices.Collect(maps.Values(s.processes)), s.gone...)
	for _, p := range running {
		all.Go(p.stop)
	}
	all.Wait()
	var errs []error
	for _, p := range running {
		errs = append(errs, p.err)
	}
	s.client.http.CloseIdleConnections()
	return errors.Join(errs...)
}

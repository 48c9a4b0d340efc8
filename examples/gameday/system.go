package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/experiment"
)

// system has the running services and the client that all of them and the customers use.
type system struct {
	client   *client
	injector *chaos.Injector // of the services; it has no rules, and records who called whom
	served   sync.WaitGroup

	mu      sync.Mutex
	servers map[string]*http.Server
}

// newSystem makes a system whose services tell record of the calls that they make.
// Calls without a caller came from outside: their callers record them.
func newSystem(record func(context.Context, chaos.Event)) *system {
	report := func(ctx context.Context, e chaos.Event) {
		if e.Caller != "" {
			record(ctx, e)
		}
	}
	return &system{client: newClient(), servers: map[string]*http.Server{},
		injector: chaos.NewInjector(0, &chaos.InjectorOptions{RecordAll: true, MaxLog: -1, OnEvent: report})}
}

// start starts all services.
func (s *system) start(ctx context.Context) error {
	for _, name := range services() {
		if err := s.restart(name)(ctx); err != nil {
			return err
		}
	}
	return nil
}

// restart returns a function that starts a service at a new address.
func (s *system) restart(name string) func(ctx context.Context) error {
	return func(context.Context) error {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return fmt.Errorf("gameday: %s: %w", name, err)
		}
		server := &http.Server{Handler: s.handler(name), ReadHeaderTimeout: 5 * time.Second}
		s.served.Go(func() { _ = server.Serve(listener) }) // until it is closed
		s.mu.Lock()
		defer s.mu.Unlock()
		s.servers[name] = server
		s.client.meet(name, listener.Addr().String())
		return nil
	}
}

// kill ends a service at once: its connections break, and nobody listens any more.
func (s *system) kill(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.servers[name].Close()
}

// stop ends all services and returns when they are gone.
func (s *system) stop() error {
	var errs []error
	for name := range s.servers {
		errs = append(errs, s.kill(name))
	}
	s.served.Wait()
	s.client.http.CloseIdleConnections()
	return errors.Join(errs...)
}

func (s *system) handler(name string) http.Handler {
	mux := http.NewServeMux()
	for point, b := range behind() {
		if service, path, _ := strings.Cut(point, "."); service == name {
			mux.HandleFunc("GET /"+path, s.handle(point, b.next))
		}
	}
	return mux
}

// handle makes an injection point of a handler, so that the calls made in it
// know who makes them.
func (s *system) handle(point, next string) http.HandlerFunc {
	work := chaos.Wrap(point, func(ctx context.Context, _ struct{}) (struct{}, error) {
		if next == "" {
			return struct{}{}, nil
		}
		return struct{}{}, s.client.call(ctx, next)
	})
	return func(w http.ResponseWriter, r *http.Request) {
		_, err := work(chaos.NewContext(r.Context(), s.injector), struct{}{})
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			http.Error(w, err.Error(), http.StatusGatewayTimeout)
		case err != nil:
			http.Error(w, err.Error(), http.StatusBadGateway)
		}
	}
}

// status probes a point from outside, past all injected faults.
func (s *system) status(point string) func(context.Context) (any, error) {
	return func(ctx context.Context) (any, error) {
		url, err := s.client.url(point)
		if err != nil {
			return nil, err
		}
		return experiment.HTTPStatus(url, s.client.http)(ctx)
	}
}

// accepts probes whether a service takes connections.
func (s *system) accepts(name string) func(context.Context) (any, error) {
	return func(ctx context.Context) (any, error) { return experiment.TCP(s.client.addr(name))(ctx) }
}

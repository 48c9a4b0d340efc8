package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
)

// serveCommand makes this program one of its own services.
const serveCommand = "serve"

// hello is the first line that a service writes. All others are the events of
// the calls it makes.
type hello struct {
	Addr  string    `json:"addr"`
	Armed time.Time `json:"armed"` // what the times of its events count from
}

// serve runs a service until its standard input closes, so that a service ends
// whenever its parent does. The lines of the input have the addresses of its peers.
func serve(name string, stdin io.Reader, stdout io.Writer) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("gameday: %s: %w", name, err)
	}
	s := &service{client: newClient(), out: json.NewEncoder(stdout)}
	if err := s.out.Encode(hello{Addr: listener.Addr().String(), Armed: time.Now()}); err != nil {
		return fmt.Errorf("gameday: %s: %w", name, err)
	}
	// The injector has no rules: it only records who called whom.
	s.injector = chaos.NewInjector(0, &chaos.InjectorOptions{RecordAll: true, MaxLog: -1, OnEvent: s.report})
	server := &http.Server{Handler: s.handler(name), ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	listening := s.listen(stdin)
	err = errors.Join(listening, server.Close())
	if e := <-served; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return err
}

type service struct {
	client   *client
	injector *chaos.Injector

	mu  sync.Mutex // a line of out at a time
	out *json.Encoder
}

// listen learns of peers until the input ends.
func (s *service) listen(stdin io.Reader) error {
	lines := json.NewDecoder(stdin)
	for {
		var peers map[string]string
		if err := lines.Decode(&peers); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("gameday: peers: %w", err)
		}
		s.client.meet(peers)
	}
}

// report writes the outcome of a call. Calls without a caller came from outside:
// their callers report them.
func (s *service) report(_ context.Context, e chaos.Event) {
	if e.Caller == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.out.Encode(e) // the reader is the parent; without one this process ends anyway
}

func (s *service) handler(name string) http.Handler {
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
func (s *service) handle(point, next string) http.HandlerFunc {
	work := chaos.Wrap(point, func(ctx context.Context, lane string) (struct{}, error) {
		if next == "" {
			return struct{}{}, nil
		}
		return struct{}{}, s.client.call(ctx, next, lane)
	})
	return func(w http.ResponseWriter, r *http.Request) {
		lane := r.Header.Get(laneHeader)
		if lane == "" {
			lane = "probes"
		}
		_, err := work(chaos.NewContext(r.Context(), s.injector), lane)
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			http.Error(w, err.Error(), http.StatusGatewayTimeout)
		case err != nil:
			http.Error(w, err.Error(), http.StatusBadGateway)
		}
	}
}

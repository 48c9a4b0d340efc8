// Command cluster is an MCP server that manages a simulated cluster. It is made
// with the bare SDK and protected by mcpadapter/policy, which works for servers
// that use nothing else of this library.
//
//	go run ./examples/cluster                          # over standard input and output
//	go run ./examples/cluster -listen 127.0.0.1:8080   # over HTTP, with SHAKEDOWN_MCP_TOKEN set
//
// The tools manage the cluster of package sim, which is in memory.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/examples/cluster/sim"
	"github.com/shakedown-go/shakedown/examples/internal/cli"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

const (
	// readHeaderTimeout bounds how long a client may take over its headers.
	readHeaderTimeout = 10 * time.Second
	// shutdownTimeout is how long calls may go on after a signal to end.
	shutdownTimeout = 10 * time.Second
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal then ends the process at once
	if err := run(ctx, os.Args[1:], os.Getenv, &mcp.StdioTransport{}, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type settings struct {
	listen       string
	withoutToken bool
}

func parse(args []string, stdout io.Writer) (*settings, error) {
	s := new(settings)
	f := flag.NewFlagSet("cluster", flag.ContinueOnError)
	f.StringVar(&s.listen, "listen", "", "`address` for HTTP, such as 127.0.0.1:8080; empty: standard input and output")
	f.BoolVar(&s.withoutToken, "loopback-without-token", false, "let everyone on this machine call, without a token")
	err := errors.Join(cli.Parse(f, args)...)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, cli.Usage(f, "0 it was told to end, 1 it could not do its work"))
	}
	return s, err
}

func run(ctx context.Context, args []string, getenv func(string) string, stdio mcp.Transport, stdout,
	stderr io.Writer) error {
	s, err := parse(args, stdout)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	o, err := policy.Env(getenv, nil)
	if err != nil {
		return err
	}
	server, gate, err := newServer(sim.New(), *o)
	switch {
	case err != nil:
		return err
	case s.listen != "":
		return serve(ctx, s, server, gate, stderr)
	}
	if err := server.Run(ctx, stdio); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// serve listens until the context ends, and then lets calls finish.
func serve(ctx context.Context, s *settings, server *mcp.Server, gate *policy.Gate, stderr io.Writer) error {
	guarded, err := gate.HTTPHandler(handler(server),
		&policy.HTTPOptions{Listen: s.listen, LoopbackWithoutToken: s.withoutToken})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", s.listen)
	if err != nil {
		return err
	}
	h := &http.Server{Handler: guarded, ReadHeaderTimeout: readHeaderTimeout}
	failed := make(chan error, 1)
	go func() { failed <- h.Serve(l) }()
	fmt.Fprintf(stderr, "cluster: http://%s, %s\n", l.Addr(), gate.Mode())
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	for session := range server.Sessions() {
		session.Close() // ends the streams that clients leave open
	}
	return h.Shutdown(last)
}

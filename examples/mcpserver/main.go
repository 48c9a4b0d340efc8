// Command mcpserver runs the order desk and lets MCP clients break it: its
// faults, experiments, contracts and timelines are their tools.
//
//	go run ./examples/mcpserver                                  # over standard input and output, read-only
//	go run ./examples/mcpserver -transport http                  # on http://127.0.0.1:7411/mcp, with SHAKEDOWN_MCP_TOKEN
//	go run ./examples/mcpserver -new-token ci                    # a token, and its entry for the file of -tokens
//	SHAKEDOWN_MCP_ENABLE_WRITE=true go run ./examples/mcpserver -mode read-write
//
// The exit status is 0 when its client leaves or it is interrupted, and 1 when it
// could not do its work.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/shakedown-go/shakedown/mcpadapter"
	"github.com/shakedown-go/shakedown/mcpadapter/policy/tokenhash"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C then ends the process at once
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}

// run is the program; it returns the status to exit with. Standard output
// belongs to the protocol unless the transport is http.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	s, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, usage())
		return 0
	}
	if err == nil && s.newToken != "" {
		printToken(stdout, s.newToken)
		return 0
	}
	if err == nil {
		err = serve(ctx, s, getenv, stderr)
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

// serve runs the shop and its server until the client leaves or ctx ends.
func serve(ctx context.Context, s *settings, getenv func(string) string, stderr io.Writer) (err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	shop, err := openShop(ctx)
	if err != nil {
		return err
	}
	defer func() {
		stop()
		err = errors.Join(err, shop.close())
	}()
	srv, err := mcpadapter.NewServer(shop.host, &mcpadapter.Options{
		Getenv: s.environment(getenv), LoopbackWithoutToken: s.open, Hosts: s.hosts,
		Log: slog.New(slog.NewTextHandler(stderr, nil)),
		TLS: s.certificate(), TokensInClearBeyondLoopback: s.clear,
	})
	if err != nil {
		return err
	}
	defer func() {
		stop() // ends what is left of calls
		err = errors.Join(err, srv.Shutdown(context.WithoutCancel(ctx)))
	}()
	if s.transport == overStdio {
		return srv.ServeStdio(ctx)
	}
	l, err := net.Listen("tcp", s.listen)
	if err != nil {
		return err
	}
	scheme := "http"
	if s.cert != "" {
		scheme = "https"
	}
	fmt.Fprintf(stderr, "mcpserver: %s://%s/mcp, and /sse for old clients\n", scheme, l.Addr())
	return srv.Serve(ctx, l)
}

// printToken shows a token once; the file has its hash alone.
func printToken(to io.Writer, subject string) {
	token, hash := tokenhash.New()
	fmt.Fprintf(to,
		"# the token, for the client; it is kept nowhere:\n# %s\n# its entry under tokens of the file, which begins with the line \"version: 1\":\n", token)
	fmt.Fprintf(to, "  - subject: %q\n    scopes: [chaos:read, contract:read, timeline:read]\n    hash: %s\n",
		subject, hash)
}

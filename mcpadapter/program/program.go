// Package program is what the main function of a server has besides its host: flags, transports, TLS,
// tokens, signals and the exit status. Command shakedown-mcp is made of it, and so is a program that
// serves a host of its own:
//
//	func main() {
//		os.Exit(program.Main(&program.Program{Name: "deskmcp", Example: "deskmcp --http 127.0.0.1:7411", Open: open}))
//	}
//
//	func open(ctx context.Context) (mcpadapter.Host, func() error, error) {
//		in := chaos.NewInjector(1, nil)
//		return mcpadapter.Host{Name: "order desk", Injector: in}, func() error { return nil }, nil
//	}
//
// Who may call what is in the environment: docs/mcp.md has its variables.
//
// Stability: may change.
package program

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

	"github.com/shakedown-go/shakedown/internal/cmdline"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/mcpadapter"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

// A Program serves a host.
type Program struct {
	_       struct{}
	Name    string // as it is typed, in messages
	Example string // a line that starts it, for --help
	// Flags adds flags of the program's own; nil: it has none.
	Flags func(*flag.FlagSet)
	// Open makes the host, after the flags were read. What it returns besides closes the host
	// when the server has ended; the context has ended then. Required.
	Open func(context.Context) (mcpadapter.Host, func() error, error)

	http, newToken    string
	options           mcpadapter.Options
	certFile, keyFile string
}

// The exit statuses.
const (
	wrongUse = 3 // what was typed, or a file or variable that it names
	failed   = 4 // a problem of this machine or of the network
)

// Main runs the program with the arguments and the environment of the process, until its client
// leaves or the process is interrupted, and returns the status to exit with.
func Main(p *Program) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C then ends the process at once
	return p.Run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
}

// Run serves until ctx ends or the client leaves, and returns the status to exit with: 0, 3 for what
// was typed or is in the environment, 4 for what failed. Without --http the protocol is on the
// standard input and output of the process; out has help and new tokens alone.
func (p *Program) Run(ctx context.Context, args []string, getenv func(string) string, out, problems io.Writer) int {
	p.options.Getenv, p.options.Log = getenv, slog.New(slog.NewTextHandler(problems, nil))
	f := p.flags()
	err := p.parse(f, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintf(out, "%s [FLAGS]\n  serves tools over MCP, on standard input and output or over HTTP.\n\n  %s\n", p.Name, p.Example)
		cmdline.Print(out, f)
		fmt.Fprint(out, "\nSHAKEDOWN_MCP_MODE and SHAKEDOWN_MCP_ENABLE_WRITE let clients write; SHAKEDOWN_MCP_TOKEN or\n"+
			"SHAKEDOWN_MCP_TOKENS_FILE say who may call over HTTP.\n"+
			"Exit status: 0 its client left or it was interrupted; 3 wrong use; 4 it could not do its work.\n")
		return 0
	case err == nil && p.newToken != "":
		token, hash := policy.NewToken()
		fmt.Fprintf(out, "# the token, for the client; it is kept nowhere:\n# %s\n# its entry under tokens of the file, which begins with the line \"version: 1\":\n"+
			"  - subject: %q\n    scopes: [chaos:read, contract:read, timeline:read]\n    hash: %s\n", token, p.newToken, hash)
		return 0
	case err == nil:
		err = p.serve(ctx, problems)
	}
	if err == nil {
		return 0
	}
	fmt.Fprintln(problems, err)
	_, typed := errors.AsType[*fielderror.Error](err)
	if _, refused := errors.AsType[refusal](err); typed || refused {
		return wrongUse
	}
	return failed
}

// A refusal is why there is no server: the host, the flags or the environment is not as it must be.
type refusal struct{ error }

func (p *Program) flags() *flag.FlagSet {
	f := flag.NewFlagSet(p.Name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&p.http, "http", "", "serve over HTTP at `ADDRESS`, such as 127.0.0.1:7411, in place of standard input and output")
	f.StringVar(&p.certFile, "tls-cert", "", "`FILE` with the certificate for https, in PEM")
	f.StringVar(&p.keyFile, "tls-key", "", "`FILE` with its private key")
	f.BoolVar(&p.options.LoopbackWithoutToken, "loopback-without-token", false, "let everyone on this machine call over HTTP without a token")
	f.BoolVar(&p.options.TokensInClearBeyondLoopback, "tokens-in-clear-beyond-loopback", false,
		"let callers on other machines send their tokens over http, as behind a proxy that ends TLS")
	f.StringVar(&p.newToken, "new-token", "", "print a token for `SUBJECT`, and its entry for the file of SHAKEDOWN_MCP_TOKENS_FILE, and exit")
	if p.Flags != nil {
		p.Flags(f)
	}
	return f
}

// parse reads the arguments. The error joins all problems, or is [flag.ErrHelp].
func (p *Program) parse(f *flag.FlagSet, args []string) error {
	wrong := fielderror.Package(p.Name).List()
	for len(args) > 0 {
		err := f.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		if args = f.Args(); err != nil {
			wrong.Because("flag", nil, err, "those of --help")
		} else if len(args) > 0 {
			wrong.Wrong("argument", args[0], "flags alone")
			args = args[1:]
		}
	}
	wrong.Demand((p.certFile == "") == (p.keyFile == ""), "--tls-cert and --tls-key", fielderror.Found("one of the two"), "both, or neither")
	if p.certFile != "" {
		p.options.TLS = &mcpadapter.TLS{CertFile: p.certFile, KeyFile: p.keyFile}
	}
	return wrong.Err()
}

func (p *Program) serve(ctx context.Context, problems io.Writer) (err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	host, closed, err := p.Open(ctx)
	if err != nil {
		return err
	}
	defer func() {
		stop()
		err = errors.Join(err, closed())
	}()
	srv, err := mcpadapter.NewServer(host, &p.options)
	if err != nil {
		return refusal{err}
	}
	defer func() {
		stop() // ends what is left of calls
		err = errors.Join(err, srv.Shutdown(context.WithoutCancel(ctx)))
	}()
	if p.http == "" {
		return srv.ServeStdio(ctx)
	}
	l, err := net.Listen("tcp", p.http)
	if err != nil {
		return err
	}
	scheme := "http"
	if p.options.TLS != nil {
		scheme = "https"
	}
	fmt.Fprintf(problems, "%s: %s://%s/mcp, and /sse for old clients\n", p.Name, scheme, l.Addr())
	return srv.Serve(ctx, l)
}

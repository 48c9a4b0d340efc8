package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/shakedown-go/shakedown/examples/internal/cli"
	"github.com/shakedown-go/shakedown/mcpadapter"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

// The transports.
const (
	overStdio = "stdio"
	overHTTP  = "http"
)

// settings are what the flags say.
type settings struct {
	transport string
	listen    string
	mode      string // as given; empty: as the environment says
	open      bool
	hosts     []string
	tokens    string // file; empty: as the environment says
	newToken  string // whose token to make, and to do nothing else
	cert, key string
	clear     bool
}

func (s *settings) flags() *flag.FlagSet {
	*s = settings{transport: overStdio, listen: "127.0.0.1:7411"}
	f := flag.NewFlagSet("mcpserver", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	f.Func("transport", "`stdio` or http (default stdio)", func(text string) error {
		if text != overStdio && text != overHTTP {
			return fmt.Errorf("transport is %q; allowed: stdio, http", text)
		}
		s.transport = text
		return nil
	})
	f.StringVar(&s.listen, "listen", s.listen, "`address` for http; one that others can reach needs a token")
	f.Func("mode",
		"`read-only` or read-write, in place of SHAKEDOWN_MCP_MODE; read-write needs SHAKEDOWN_MCP_ENABLE_WRITE=true besides", func(text string) error {
			mode, err := policy.ParseMode(text)
			s.mode = mode.String()
			return err
		})
	f.BoolVar(&s.open, "loopback-without-token", false, "let everyone on this machine call over http without a token")
	f.StringVar(&s.tokens, "tokens", "",
		"`file` of tokens for http, by their hashes, in place of SHAKEDOWN_MCP_TOKENS_FILE")
	f.StringVar(&s.newToken, "new-token", "",
		"print a new token for this `subject`, and its entry for the file of tokens, and exit")
	f.StringVar(&s.cert, "tls-cert", "", "`file` with the certificate for https, in PEM")
	f.StringVar(&s.key, "tls-key", "", "`file` with its private key")
	f.BoolVar(&s.clear, "tokens-in-clear-beyond-loopback", false,
		"let callers on other machines send their tokens over http, as behind a proxy that ends TLS")
	f.Func("hosts", "`names` under which it may be reached over http, separated by commas (default: loopback names)",
		func(text string) error {
			s.hosts = strings.Split(text, ",")
			return nil
		})
	return f
}

// parse reads the flags. The error joins every problem, not just the first.
func parse(args []string) (*settings, error) {
	s := new(settings)
	problems := cli.Parse(s.flags(), args)
	if len(problems) == 1 && errors.Is(problems[0], flag.ErrHelp) {
		return nil, flag.ErrHelp
	}
	if (s.cert == "") != (s.key == "") {
		problems = append(problems, errors.New("tls-cert and tls-key: one is missing; allowed: both, or neither"))
	}
	return s, errors.Join(problems...)
}

// certificate is that of the flags; nil: http.
func (s *settings) certificate() *mcpadapter.TLS {
	if s.cert == "" {
		return nil
	}
	return &mcpadapter.TLS{CertFile: s.cert, KeyFile: s.key}
}

func usage() string {
	var b strings.Builder
	fmt.Fprintln(&b, "Usage: go run ./examples/mcpserver [flags]")
	f := new(settings).flags()
	f.SetOutput(&b)
	f.PrintDefaults()
	return b.String()
}

// environment is that of the process, but for what the flags say.
func (s *settings) environment(getenv func(string) string) func(string) string {
	return func(name string) string {
		if name == "SHAKEDOWN_MCP_MODE" && s.mode != "" {
			return s.mode
		}
		if name == "SHAKEDOWN_MCP_TOKENS_FILE" && s.tokens != "" {
			return s.tokens
		}
		return getenv(name)
	}
}

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/shakedown-go/shakedown/examples/internal/cli"
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
	f.Func("mode", "`read-only` or read-write, in place of SHAKEDOWN_MCP_MODE; read-write needs SHAKEDOWN_MCP_ENABLE_WRITE=true besides", func(text string) error {
		mode, err := policy.ParseMode(text)
		s.mode = mode.String()
		return err
	})
	f.BoolVar(&s.open, "loopback-without-token", false, "let everyone on this machine call over http without a token")
	f.Func("hosts", "`names` under which it may be reached over http, separated by commas (default: loopback names)", func(text string) error {
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
	return s, errors.Join(problems...)
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
		return getenv(name)
	}
}

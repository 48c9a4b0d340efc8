// Command shakedown-mcp serves what needs no Go of the user's as MCP tools: contracts that are files,
// of an agent behind HTTP, and the timelines of traces. And it audits any MCP server: which of its tools are
// safe to call twice?
//
//	go install github.com/shakedown-go/shakedown/mcpadapter/cmd/shakedown-mcp@latest
//	shakedown-mcp serve --suite contract.yaml --trace spans.json
//	shakedown-mcp audit --sandbox --state-tool list_notes -- ./notes-server
//
// docs/audits.md has the audit.
//
// A program serves a host of its own, with faults in it, by package mcpadapter/program. docs/mcp.md says who
// may call which tool.
//
// Stability: may change.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/shakedown-go/shakedown/contract/suite"
	"github.com/shakedown-go/shakedown/contract/trace"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/mcpadapter"
	"github.com/shakedown-go/shakedown/mcpadapter/program"
)

const fields = fielderror.Package("shakedown-mcp")

func main() {
	switch verb := strings.Join(os.Args[1:min(2, len(os.Args))], ""); verb {
	case "serve":
		os.Args = os.Args[1:]
		os.Exit(program.Main(server()))
	case "audit":
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		context.AfterFunc(ctx, stop) // a second Ctrl-C then ends the process at once
		os.Exit(runAudit(ctx, os.Args[2:], os.Stdout, os.Stderr))
	case "help", "--help", "-help", "-h":
		fmt.Println("shakedown-mcp serve [FLAGS]\n  serves contracts and timelines as MCP tools; serve --help has the flags.\n\n" +
			"shakedown-mcp audit [FLAGS] -- COMMAND ARG...\n  finds out which tools of an MCP server are safe to call twice; audit --help has the flags.")
	default:
		fmt.Fprintln(os.Stderr, fields.Wrong("verb", verb, "serve, or audit"))
		os.Exit(3)
	}
}

// server serves the files that flags name.
func server() *program.Program {
	var suiteFile string
	var traces []string
	return &program.Program{
		Name: "shakedown-mcp serve", Example: "shakedown-mcp serve --suite contract.yaml --trace spans.json",
		Flags: func(f *flag.FlagSet) {
			f.StringVar(&suiteFile, "suite", "", "the contract in `FILE`, a suite that names its agent, for contract_run and its like")
			f.Func("trace", "the spans in `FILE`, OTLP JSON, as a run for the timeline tools; may be given several times", func(path string) error {
				traces = append(traces, path)
				return nil
			})
		},
		Open: func(context.Context) (mcpadapter.Host, func() error, error) {
			host, err := open(suiteFile, traces)
			return host, func() error { return nil }, err
		},
	}
}

// open reads all files.
func open(suiteFile string, traces []string) (host mcpadapter.Host, err error) {
	host.Name = "shakedown"
	wrong := fields.List()
	if suiteFile != "" {
		if host.Suite, err = suite.Load(suiteFile, nil); err != nil {
			wrong.Because("--suite", suiteFile, err, "a suite")
		}
	}
	if host.Runs, err = trace.NewRuns(&trace.RunsOptions{MaxRuns: len(traces) + 2}); err != nil {
		return host, err
	}
	for _, path := range traces {
		name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
		if err := addTrace(host.Runs, name, path); err != nil {
			wrong.Because("--trace", path, err, "a file of OTLP JSON, with a name of its own")
		}
	}
	return host, wrong.Err()
}

func addTrace(runs *trace.Runs, name, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it is only read
	run, err := trace.ReadOTLP(file, nil)
	if err == nil {
		_, err = runs.Add(trace.Entry{ID: name, Label: "the spans of " + path, Timeline: run})
	}
	return err
}

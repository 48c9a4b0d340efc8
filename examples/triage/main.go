// Command triage listens to the faults that an MCP server reports, makes an
// incident of each and has an agent investigate it.
//
//	AGENT_CLI=offline go run ./examples/triage         # with K8S_CLUSTER_MCP_ENDPOINT, and MCP_TOKEN where it wants one
//
// It runs until it is interrupted, and exits with 0 then, with 2 when settings
// are wrong and with 1 when it could not do its work.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/shakedown-go/shakedown/examples/triage/internal/app"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C then ends the process at once
	p := app.Program{Getenv: os.Getenv, Stdout: os.Stdout, Stderr: os.Stderr}
	os.Exit(p.Run(ctx, os.Args[1:]))
}

// Package app is the triage program. The command in examples/triage is its
// usual form; the one in examples/triage/blobstore adds object stores.
package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/shakedown-go/shakedown/examples/triage/internal/settings"
	"github.com/shakedown-go/shakedown/mcpadapter/incident"
)

// The statuses to exit with.
const (
	exitWell   = 0
	exitFailed = 1
	exitUsage  = 2
)

// offlineAgent is the first argument that makes the program its own agent.
const offlineAgent = "offline-agent"

// A Store is one that has to be closed.
type Store interface {
	incident.Store
	Close() error
}

// A Program has what the program uses of its process.
type Program struct {
	Getenv         func(string) string
	Stdout, Stderr io.Writer
	// OpenStore opens the object store of STORAGE_URL; nil: this program has none.
	OpenStore func(ctx context.Context, url string) (Store, error)
}

// Run runs the program until its context ends, and returns the status to exit with.
func (p *Program) Run(ctx context.Context, args []string) int {
	if len(args) > 0 && args[0] == offlineAgent {
		return p.status(p.investigate(ctx, args[1:]))
	}
	fs := flag.NewFlagSet("triage", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // the error says it all
	err := fs.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(p.Stdout, "Usage: go run ./examples/triage\n\nSettings are read from the environment:\n\n%s", settings.Usage())
		return exitWell
	}
	if fs.NArg() > 0 {
		err = fmt.Errorf("triage: unexpected argument %q; allowed: none", fs.Arg(0))
	}
	s, wrong := settings.Load(p.Getenv)
	if err = errors.Join(err, wrong); err != nil {
		return p.status(&usageError{err})
	}
	return p.status(p.serve(ctx, s))
}

// usageError is an error of the settings.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

// status returns the exit status, by what went wrong.
func (p *Program) status(err error) int {
	if err == nil {
		return exitWell
	}
	fmt.Fprintln(p.Stderr, err)
	if _, ok := errors.AsType[*usageError](err); ok {
		return exitUsage
	}
	return exitFailed
}

// Package cli has what the example programs share: flags, help, pauses.
package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"
)

// Parse parses all arguments and returns every problem, not just the first; or
// [flag.ErrHelp] alone when help is asked for. Arguments that are no flags are problems.
func Parse(f *flag.FlagSet, args []string) (problems []error) {
	f.SetOutput(io.Discard) // the problems say it all
	for {
		err := f.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			return []error{err}
		}
		rest := f.Args()
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", f.Name(), err))
		} else if len(rest) > 0 {
			problems = append(problems, fmt.Errorf("%s: unexpected argument %q; allowed: flags", f.Name(), rest[0]))
			rest = rest[1:]
		}
		if args = rest; len(args) == 0 {
			return problems
		}
	}
}

// Usage is what a program prints when help is asked for: its flags, and its exit statuses.
func Usage(f *flag.FlagSet, statuses string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: go run ./examples/%s [flags]\n\n", f.Name())
	f.SetOutput(&b)
	f.PrintDefaults()
	fmt.Fprintf(&b, "\nExit status: %s.\n", statuses)
	return b.String()
}

// Sleep waits for d, or until the context ends, and returns its cause then.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

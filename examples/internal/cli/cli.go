// Package cli reads the flags of the example programs.
package cli

import (
	"errors"
	"flag"
	"fmt"
)

// Parse parses all arguments and returns every problem, not just the first; or
// [flag.ErrHelp] alone when help is asked for. Arguments that are no flags are problems.
func Parse(f *flag.FlagSet, args []string) (problems []error) {
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

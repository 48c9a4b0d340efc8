// Package cmdline reads what was typed behind a command, and checks the files that are named there.
package cmdline

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/text"
)

// Parse reads flags and operands in any order; least and most bound the operands. The error joins
// all problems, or is [flag.ErrHelp]. What is behind "--" is no flag. The name of the flags is the verb
// with its operands.
func Parse(command fielderror.Package, f *flag.FlagSet, args []string, least, most int) ([]string, error) {
	var operands []string
	wrong := command.List()
	for len(args) > 0 {
		typed := args[0]
		args = args[1:]
		if typed == "--" {
			operands = append(operands, args...)
			break
		}
		if typed == "-" || !strings.HasPrefix(typed, "-") {
			operands = append(operands, typed)
			continue
		}
		name, value, given := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(typed, "-"), "-"), "=")
		if name == "help" || name == "h" {
			return nil, flag.ErrHelp
		}
		known := f.Lookup(name)
		if known == nil {
			wrong.Wrong("flag", typed, text.OneOf("--"+name, flagNames(f)))
			continue
		}
		if !given && isSwitch(known) {
			value = "true"
		} else if !given {
			if len(args) == 0 || strings.HasPrefix(args[0], "-") {
				kind, _ := flag.UnquoteUsage(known)
				wrong.Wrong("value of --"+name, nil, kind+" behind it; one that begins with - behind a =")
				continue
			}
			value, args = args[0], args[1:]
		}
		if err := f.Set(name, value); err != nil {
			_, usage := flag.UnquoteUsage(known)
			wrong.Wrong("--"+name, value, usage)
		}
	}
	if n := len(operands); n < least || n > most {
		wrong.Wrong("number of operands", n, string(command)+" "+f.Name())
	}
	return operands, wrong.Err()
}

func flagNames(flags *flag.FlagSet) (names []string) {
	flags.VisitAll(func(f *flag.Flag) { names = append(names, "--"+f.Name) })
	return append(names, "--help")
}

func isSwitch(f *flag.Flag) bool {
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

// Print writes all flags with what they do.
func Print(w io.Writer, flags *flag.FlagSet) {
	flags.VisitAll(func(f *flag.Flag) {
		value, usage := flag.UnquoteUsage(f)
		if isSwitch(f) {
			value = ""
		}
		fmt.Fprintf(w, "\n  %s\n        %s\n", strings.TrimSpace("--"+f.Name+" "+value), usage)
	})
}

// Writable adds what keeps a file from being written, before the work begins. An empty path is none.
// taken has the files that were named before, which one more result would replace.
func Writable(wrong *fielderror.List, path string, taken map[string]bool) {
	if path == "" {
		return
	}
	at, err := os.Lstat(path) // a new file gets the name, also that of a link or device such as /dev/stdout
	folder, gone := os.Stat(filepath.Dir(path))
	switch whole := Absolute(path); {
	case gone != nil || !folder.IsDir():
		wrong.Wrong(path, fielderror.Found("in no folder"), "a file in a folder that is there")
	case err == nil && at.IsDir():
		wrong.Wrong(path, fielderror.Found("a folder"), "a file to write")
	case err == nil && !at.Mode().IsRegular():
		wrong.Wrong(path, fielderror.Found("a link, a device or a pipe"), "a file to write")
	case taken[whole]:
		wrong.Wrong(path, fielderror.Found("named twice"), "a file for each result, and none that is read")
	default:
		taken[whole] = true
		probe, err := os.CreateTemp(filepath.Dir(path), ".*.tmp")
		if err != nil {
			wrong.Because(path, nil, errors.Unwrap(err), "a file in a folder that can be written")
			return
		}
		probe.Close()
		os.Remove(probe.Name())
	}
}

// Absolute is a path that can be compared.
func Absolute(path string) string {
	whole, err := filepath.Abs(path)
	if err != nil { // nobody knows the folder
		return filepath.Clean(path)
	}
	return whole
}

// Command shakedown runs contracts that are files, and reads the files that runs leave.
//
//	go install github.com/shakedown-go/shakedown/contract/cmd/shakedown@latest
//	shakedown run contract.yaml --junit report.xml
//
// Each verb is a call into the library; "shakedown help" lists them, "shakedown VERB --help" has the
// flags of one. It keeps nothing but the files that it is told to write. The exit status is that
// of [report.ExitCode]; docs/ci.md has the verbs and the statuses.
//
// Stability: may change.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/internal/cmdline"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/text"
)

// fields makes the errors of what was typed, and of the files that it names.
const fields = fielderror.Package("shakedown")

// A verb is one thing that the command does.
type verb struct {
	name, operands, does, example string
	run                           func(ctx context.Context, c *command) (status int, err error)
}

// verbs are all of them, in the order of the help.
func verbs() []verb {
	return []verb{
		{"run", "SUITE", "runs a contract that is a file, against the agent that it names",
			"shakedown run contract.yaml --junit report.xml --file contract.run.jsonl", runSuite},
		{"lint", "SUITE", "says what is wrong with a suite, and what it asks; the agent is not called",
			"shakedown lint contract.yaml", lintSuite},
		{"show", "FILE [CELL]", "shows a run file, or one of its cells: SCENARIO/INVARIANT/TRIAL",
			"shakedown show contract.run.jsonl --html > report.html", showRun},
		{"merge", "PART...", "joins run files of one matrix, such as those of shards, and shows the run that they make",
			"shakedown merge reports/*.run.jsonl --file contract.run.jsonl --junit report.xml", mergeRuns},
		{"compare", "OLD NEW", "says if the run in the file NEW is worse than the one in OLD",
			"shakedown compare main.run.jsonl contract.run.jsonl", compareRuns},
		{"verify", "SUITE FILE", "checks whether a run file is true: some of its units run again",
			"shakedown verify contract.yaml --rerun 60 contract.run.jsonl", verifyClaim},
		{"explain", "SUITE", "finds the fewest faults behind what broke; the agent is called again",
			"shakedown explain contract.yaml --from contract.run.jsonl", explainSuite},
		{"import", "TRACE", "makes sessions and a Go test of a trace that another system recorded",
			"shakedown import trace.json --effect refund --into ./incidents", importTrace},
		{"tape", "FILE", "lists what is on a tape of HTTP, and what on it may be a secret",
			"shakedown tape testdata/refund.cassette.json", listTape},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the program
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program; it returns the exit status.
func run(ctx context.Context, args []string, out, problems io.Writer) int {
	if len(args) == 0 {
		help(problems)
		return report.ExitCode(nil, nil, 0)
	}
	name, rest := args[0], args[1:]
	switch {
	case name == "help" && len(rest) > 0:
		name, rest = rest[0], []string{"--help"}
	case name == "help", name == "--help", name == "-help", name == "-h":
		help(out)
		return 0
	}
	var names []string
	for _, v := range verbs() {
		if names = append(names, v.name); v.name == name {
			return v.do(ctx, rest, out, problems)
		}
	}
	err := fields.Wrong("verb", name, text.OneOf(name, append(names, "help")))
	fmt.Fprintln(problems, err)
	return report.ExitCode(nil, err, 0)
}

// do runs the verb, and prints its error or its help.
func (v verb) do(ctx context.Context, args []string, out, problems io.Writer) int {
	c := &command{flags: flag.NewFlagSet(v.name+" "+v.operands, flag.ContinueOnError), args: args, out: out, problems: problems}
	status, err := v.run(ctx, c)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintf(out, "shakedown %s\n  %s.\n\n  %s\n", c.flags.Name(), v.does, v.example)
		cmdline.Print(out, c.flags)
		return 0
	case err != nil:
		fmt.Fprintln(problems, err)
		if status == 0 {
			status = report.ExitCode(nil, err, 0)
		}
	}
	return status
}

func help(w io.Writer) {
	fmt.Fprint(w, "shakedown VERB [OPERANDS] [FLAGS]\n\n")
	for _, v := range verbs() {
		fmt.Fprintf(w, "  %-19s %s\n  %19s   %s\n", v.name+" "+v.operands, v.does, "", v.example)
	}
	fmt.Fprint(w, "\nshakedown VERB --help has the flags of a verb.\n"+
		"Exit status: 0 passed; 1 something broke, or is worse; 2 not decided; 3 wrong use; 4 a failure around the agent.\n")
}

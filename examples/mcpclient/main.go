// Command mcpclient runs a contract over any MCP server, which it starts: an
// agent calls one of its tools, while faults are injected into tools, protocol
// and connection.
//
//	go run ./examples/mcpclient npx -y @modelcontextprotocol/server-everything stdio
//	go run ./examples/mcpclient -tool read_text_file -args '{"path":"/tmp/notes/a.txt"}' -want milk npx -y @modelcontextprotocol/server-filesystem /tmp/notes
//
// The exit status is 0 when the contract held and every fault was delivered, 1
// when an invariant was broken, 2 when that is not certain, and 3 when the
// program could not do its work.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/examples/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second Ctrl-C then ends the process at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// settings are what the command line says.
type settings struct {
	tool    string
	args    json.RawMessage
	want    string
	workers int
	command []string
}

// parse reads the flags; what follows them is the server's command.
func parse(args []string, stdout io.Writer) (*settings, error) {
	s := &settings{}
	f := flag.NewFlagSet("mcpclient", flag.ContinueOnError)
	f.SetOutput(stdout)
	f.StringVar(&s.tool, "tool", "get-sum", "`name` of the tool that the agent asks")
	given := f.String("args", `{"a":2,"b":3}`, "its arguments, a JSON `object`")
	f.StringVar(&s.want, "want", "5", "`text` that is in the right answer")
	f.IntVar(&s.workers, "workers", 2, "`number` of cells at a time, each with a server of its own")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	s.args, s.command = json.RawMessage(*given), f.Args()
	var object map[string]any
	var problems []error
	if json.Unmarshal(s.args, &object) != nil || object == nil {
		problems = append(problems, fmt.Errorf("mcpclient: -args is %q; allowed: a JSON object", *given))
	}
	if s.tool == "" || s.want == "" {
		problems = append(problems, errors.New("mcpclient: -tool and -want must not be empty"))
	}
	if s.workers < 1 {
		problems = append(problems, fmt.Errorf("mcpclient: -workers is %d; allowed: 1 and more", s.workers))
	}
	if len(s.command) == 0 {
		problems = append(problems, errors.New("mcpclient: the command of a server is missing"))
	}
	return s, errors.Join(problems...)
}

// run is the program; it returns the status to exit with.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s, err := parse(args, stdout)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	var r *contract.Report
	if err == nil {
		r, err = s.matrix().Run(ctx, &contract.RunOptions{Workers: s.workers})
	}
	if err == nil {
		err = report.Text(stdout, r, nil)
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 3
	}
	for _, f := range r.Faults {
		fmt.Fprintf(stdout, "%-28s %-24s delivered on %d calls\n", f.Scenario, f.Fault, f.Delivered)
	}
	return cli.Status(r.Score.Verdict)
}

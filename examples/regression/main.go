// Command regression makes tests of an incident: it reads the trace of a customer who
// was refunded twice, says what the trace shows, and keeps it as a session, whose tools
// answer as they did, and as plans, which make the same call fail again.
//
//	go run ./examples/regression
//
// Then it runs two agents against all of it: the one that was in the incident, and the
// one that was mended since. The exit status is 0, or 1 if the program could not do its
// work.
package main

import (
	"bytes"
	"context"
	_ "embed"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/shakedown-go/shakedown/contract/replay/dialect"
	"github.com/shakedown-go/shakedown/examples/internal/orderdesk"
)

// incident is what the tracing of the desk exported of the customer's request: spans by
// OpenTelemetry's conventions for generative AI.
//
//go:embed testdata/incident.otlp.json
var incident []byte

func main() {
	dir := flag.String("dir", filepath.Join(os.TempDir(), "shakedown-regression"), "the folder for session and plans")
	flag.Parse()
	if err := run(context.Background(), *dir, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "regression:", err)
		os.Exit(1)
	}
}

// run is the program.
func run(ctx context.Context, dir string, out io.Writer) error {
	tools, err := orderdesk.Tools(ctx)
	if err != nil {
		return err
	}
	sessions, err := dialect.Import(bytes.NewReader(incident), &dialect.Options{Tools: tools})
	if err != nil {
		return err
	}
	s := sessions[0]
	s.Name = "refund-1042"
	if err := show(out, s); err != nil {
		return err
	}
	// before what the ledger says is known, both readings of the time-out are open
	plans, err := readings(s)
	if err != nil {
		return err
	}
	askLedger(out, s)
	if err := showFindings(out, s); err != nil {
		return err
	}
	if err := keep(out, dir, s, plans); err != nil {
		return err
	}
	return compare(ctx, out, dir, s.Name)
}

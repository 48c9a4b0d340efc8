// Command gameday breaks a small system on purpose, on this machine's loopback alone,
// and shows the effects from the recorded calls. The system is a gateway, an orders
// service behind it, and a stock service behind that.
//
//	go run ./examples/gameday
//
// The exit status is 0 when all recovered, 1 when something did not, and 3 when
// the program could not do its work or was interrupted.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const (
	exitRecovered    = 0
	exitNotRecovered = 1
	exitError        = 3
)

func main() {
	flag.Parse() // there are none but -help
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C then ends the process at once
	os.Exit(run(ctx, 2*time.Second, os.Stdout, os.Stderr))
}

// run is a day whose faults last so long; it returns the status to exit with.
func run(ctx context.Context, fault time.Duration, stdout, stderr io.Writer) int {
	d, err := newDay(fault, stdout)
	if err == nil {
		err = d.run(ctx)
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return exitError
	}
	return d.status()
}

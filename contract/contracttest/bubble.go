package contracttest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shakedown-go/shakedown/contract"
)

// prime starts what Go starts once in a process and would else start in the first
// bubble that needs it. It would then belong to that bubble, and its next use, in any
// other, ends the process:
//   - the goroutine of signals, by signal.Notify, also for a signal that is ignored;
//   - the reader of the configuration of host names, by a lookup that no network
//     answers. It may fail, which changes nothing.
func prime(ctx context.Context) {
	ignored := signal.Ignored(os.Interrupt)
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt)
	signal.Stop(c)
	if ignored {
		signal.Ignore(os.Interrupt)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, _ = net.DefaultResolver.LookupHost(ctx, "localhost")
}

func deadline(t *testing.T) time.Time {
	end, _ := t.Deadline()
	return end
}

// bubble returns a function that runs a cell in virtual time. If every goroutine of
// the bubble is blocked forever, or one is left when the cell has ended, synctest
// panics on the goroutine that made the bubble. The function returns the panic as
// its error, and the goroutines stay behind. The text of the panic is not an API, so
// nothing depends on it; package contract names the goroutines itself.
func bubble(t *testing.T) contract.Bubble {
	return func(run func()) (err error) {
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("%v", v)
			}
		}()
		synctest.Test(t, func(*testing.T) { run() })
		return nil
	}
}

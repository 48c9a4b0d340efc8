// Package probe has ready-made probes for the hypothesis of an experiment, and guards
// that stop it.
//
//	Probes: []experiment.Activity{
//		{Name: "the shop answers", Run: probe.HTTPStatus(url, nil), Tolerance: tolerance.Equal(200)},
//		{Name: "the database listens", Run: probe.TCP("localhost:5432")},
//		{Name: "the queue is short", Run: probe.Call(queue.Len), Tolerance: tolerance.Range(0, 10)},
//	}
//
//	Guards: []experiment.Guard{
//		probe.StopUnless(experiment.Activity{Name: "payments answer", Run: probe.TCP("payments:443")}),
//	}
//
// A guard is polled while the method runs, every second unless its Every says
// otherwise. When its condition is met, the run is aborted and rolled back. A guard
// that cannot judge, because a probe fails, aborts the run too.
//
// The output of a probe without a tolerance must be true. All probes are safe for
// concurrent use, and end with the context, which has the activity's deadline.
//
// Stability: may change.
package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/shakedown-go/shakedown/chaos/experiment"
)

// A Run is the type of [experiment.Activity.Run].
//
// [experiment.Activity.Run]: https://pkg.go.dev/github.com/shakedown-go/shakedown/chaos/experiment#Activity
type Run = func(ctx context.Context) (output any, err error)

// HTTPStatus sends GET to url and outputs the status code, an int. No answer is an
// error. If client is nil, it uses a client with the settings of the standard
// library.
func HTTPStatus(url string, client *http.Client) Run {
	client = cmp.Or(client, &http.Client{})
	return func(ctx context.Context) (any, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return nil, fmt.Errorf("probe: %w", err)
		}
		resp, err := client.Do(req)
		if err != nil {
			return nil, fmt.Errorf("probe: %w", err)
		}
		defer resp.Body.Close()
		_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // so that the connection can be reused
		return resp.StatusCode, nil
	}
}

// TCP outputs whether a connection to addr (host:port) can be made: true or false.
// A malformed address, or the end of the context, is an error.
func TCP(addr string) Run {
	return func(ctx context.Context) (any, error) {
		if _, _, err := net.SplitHostPort(addr); err != nil {
			return nil, fmt.Errorf("probe: %w", err)
		}
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if ctx.Err() != nil {
			err = fmt.Errorf("probe: dial %s: %w", addr, ctx.Err())
		} else if err != nil {
			return false, nil
		}
		if conn != nil {
			err = errors.Join(err, conn.Close())
		}
		return err == nil, err
	}
}

// Call outputs the result of a function.
func Call[T any](fn func(ctx context.Context) (T, error)) Run {
	return func(ctx context.Context) (any, error) { return fn(ctx) }
}

// StopUnless is a guard that stops the run when the probe fails or misses its tolerance. Without a
// tolerance its output must be true.
func StopUnless(p experiment.Activity) experiment.Guard {
	return experiment.Guard{Name: p.Name, Check: func(ctx context.Context) error {
		if p.Run == nil {
			return errors.New("probe: a probe without Run")
		}
		if p.Timeout > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, p.Timeout)
			defer cancel()
		}
		output, err := p.Run(ctx)
		if err != nil {
			return err
		}
		held := output == any(true)
		if p.Tolerance != nil {
			if held, err = p.Tolerance.Holds(ctx, output); err != nil {
				return err
			}
		}
		if !held {
			return fmt.Errorf("out of tolerance: %v", output)
		}
		return nil
	}}
}

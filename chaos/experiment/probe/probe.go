package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
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

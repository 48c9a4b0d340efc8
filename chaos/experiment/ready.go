package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
)

// Arm is the [Activity].Start that registers rules on a live injector for the time d; 0: until
// it is rolled back. It registers all or none: a wrong rule, or one whose name is registered
// already, is an error. The output has the names of the rules. When a rule is removed, the
// calls that it delays continue. A rule that has replaced it since stays. With a duration the
// action lasts that long; run it in the background to do something else meanwhile.
func Arm(in *chaos.Injector, d time.Duration, rules ...chaos.Rule) func(context.Context) (any, Undo, error) {
	rules = slices.Clone(rules)
	return func(ctx context.Context) (any, Undo, error) {
		names, remove, err := arm(in, rules)
		if err != nil {
			return nil, nil, fmt.Errorf("experiment: arm: %w", err)
		}
		disarm := func(context.Context) error {
			remove()
			return nil
		}
		if d > 0 {
			_ = wait(ctx, d)
			err = errors.Join(ctx.Err(), disarm(ctx))
		}
		return map[string]any{"rules": names}, disarm, err
	}
}

// arm registers the rules and returns their names, and a function that removes
// them.
func arm(in *chaos.Injector, rules []chaos.Rule) (names []string, remove func(), err error) {
	if in == nil {
		return nil, nil, errors.New("the injector is nil; allowed: a live one, made by chaos.NewInjector")
	}
	plan, err := chaos.NewPlan(0, rules...) // finds all problems, and names the rules
	if err != nil {
		return nil, nil, err
	}
	taken := in.Rules()
	for _, r := range plan.Rules() {
		if slices.ContainsFunc(taken, func(t chaos.Rule) bool { return t.Name == r.Name }) {
			return nil, nil, fmt.Errorf("rule %q is registered already; allowed: a name of its own", r.Name)
		}
	}
	var ours []func() bool
	remove = func() {
		for _, one := range ours {
			one()
		}
	}
	for _, r := range plan.Rules() {
		one, err := in.RegisterFor(r, 0)
		if err != nil {
			remove()
			return nil, nil, err
		}
		names, ours = append(names, r.Name), append(ours, one)
	}
	return names, remove, nil
}

// HTTPStatus is the [Activity].Run that sends GET to url and outputs the status code, an int. No
// answer is an error. If client is nil, it uses a client with the settings of the standard library.
func HTTPStatus(url string, client *http.Client) func(context.Context) (output any, err error) {
	client = cmp.Or(client, &http.Client{})
	return func(ctx context.Context) (any, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return nil, fmt.Errorf("experiment: %w", err)
		}
		resp, err := client.Do(req)
		if err != nil {
			return nil, fmt.Errorf("experiment: %w", err)
		}
		defer resp.Body.Close()
		_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // so that the connection can be reused
		return resp.StatusCode, nil
	}
}

// TCP is the [Activity].Run that outputs whether a connection to addr (host:port) can be made: true
// or false. A malformed address, or the end of the context, is an error.
func TCP(addr string) func(context.Context) (output any, err error) {
	return func(ctx context.Context) (any, error) {
		if _, _, err := net.SplitHostPort(addr); err != nil {
			return nil, fmt.Errorf("experiment: %w", err)
		}
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if ctx.Err() != nil {
			err = fmt.Errorf("experiment: dial %s: %w", addr, ctx.Err())
		} else if err != nil {
			return false, nil
		}
		if conn != nil {
			err = errors.Join(err, conn.Close())
		}
		return err == nil, err
	}
}

// Call is the [Activity].Run that outputs the result of a function.
func Call[T any](fn func(ctx context.Context) (T, error)) func(context.Context) (output any, err error) {
	return func(ctx context.Context) (any, error) { return fn(ctx) }
}

// StopUnless is a guard that stops the run when the probe fails or misses its tolerance. Without a
// tolerance its output must be true.
func StopUnless(p Activity) Guard {
	return Guard{Name: p.Name, Check: func(ctx context.Context) error {
		if p.Run == nil {
			return errors.New("a probe without Run")
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

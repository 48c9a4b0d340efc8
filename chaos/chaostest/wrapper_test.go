package chaostest_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaostest"
)

type (
	call   = func(context.Context) (any, error)
	stream = func(context.Context) iter.Seq2[any, error]
	source = func() iter.Seq2[any, error]
)

// desk is what is wrapped here: a handle with two targets.
type desk struct {
	refund, look func(context.Context, string) (string, error)
}

func wrapped(refunds, looks func() error) desk {
	does := func(answer string, reached func() error) func(context.Context, string) (string, error) {
		return func(context.Context, string) (string, error) {
			if err := reached(); err != nil {
				return "", err
			}
			return answer, nil
		}
	}
	return desk{chaos.Wrap("desk.refund", does("refunded", refunds)), chaos.Wrap("desk.look", does("shipped", looks))}
}

func quiet() error { return nil }

// Wrappers of package chaos meet what is asked of wrappers, in a bubble and outside.
func TestSoundWrappers(t *testing.T) {
	check := func(t *testing.T) {
		assert.NoError(t, chaostest.Wrapper(chaostest.Point{Target: "desk.refund", Replacement: "no", Replaced: "no", Open: func(reached func() error) call {
			d := wrapped(reached, quiet)
			return func(ctx context.Context) (any, error) { return d.refund(ctx, "1042") }
		}}, chaostest.Point{Target: "desk.look", Open: func(reached func() error) call {
			d := wrapped(quiet, reached)
			return func(ctx context.Context) (any, error) {
				if _, err := d.refund(ctx, "1042"); err != nil {
					return nil, err
				}
				return d.look(ctx, "1042")
			}
		}}, chaostest.Point{Target: "tool", Replacement: json.RawMessage(`7`), Replaced: `7`, Open: func(reached func() error) call {
			tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "tool"}, func(context.Context, struct{}) (int, error) { return 1, reached() }))
			require.NoError(t, err)
			wrapped := chaos.WrapRegistry(tools, nil)
			return func(ctx context.Context) (any, error) {
				result, err := wrapped.CallTool(ctx, "tool", json.RawMessage(`{}`))
				return string(result), err
			}
		}}))
		assert.NoError(t, chaostest.Streams(chaostest.Stream{Target: "tokens", Items: []any{"a", "b", "c", "d"}, Open: tokens}))
	}
	synctest.Test(t, check)
	t.Run("in real time", check)
}

// tokens is a sound wrapper of a stream.
func tokens(of source) stream {
	items := chaos.WrapStream("tokens", func(context.Context, struct{}) iter.Seq2[any, error] { return of() })
	return func(ctx context.Context) iter.Seq2[any, error] { return items(ctx, struct{}{}) }
}

// brokenWrapper is a wrapper that fails one check.
type brokenWrapper struct {
	why   string
	check chaostest.Check
	run   func() error
	also  []chaostest.Check
}

func brokenWrappers() []brokenWrapper {
	point := func(around func(next call) call) func() error {
		return func() error {
			return chaostest.Wrapper(chaostest.Point{Target: "work", Replacement: "other", Replaced: "other", Open: func(reached func() error) call {
				work := chaos.Wrap("work", func(context.Context, int) (any, error) { return "done", reached() })
				return around(func(ctx context.Context) (any, error) { return work(ctx, 1) })
			}})
		}
	}
	// inner is a wrapper whose callee is not what reaches the caller.
	inner := func(does func(ctx context.Context, work func(context.Context) (any, error), reached func() error) (any, error)) func() error {
		return func() error {
			return chaostest.Wrapper(chaostest.Point{Target: "work", Replacement: "other", Replaced: "other", Open: func(reached func() error) call {
				return func(ctx context.Context) (any, error) {
					return does(ctx, func(ctx context.Context) (any, error) {
						return chaos.Wrap("work", func(context.Context, int) (any, error) { return "done", reached() })(ctx, 1)
					}, reached)
				}
			}})
		}
	}
	items := func(around func(of iter.Seq2[any, error]) iter.Seq2[any, error]) func() error {
		return func() error {
			return chaostest.Streams(chaostest.Stream{Target: "tokens", Items: []any{"a", "b", "c", "d"}, Open: func(of source) stream {
				read := tokens(of)
				return func(ctx context.Context) iter.Seq2[any, error] {
					if chaos.FromContext(ctx) == nil {
						return read(ctx)
					}
					return around(read(ctx))
				}
			}})
		}
	}
	injected := func(ctx context.Context) bool { return chaos.FromContext(ctx) != nil }
	return []brokenWrapper{
		{why: "no point", check: chaostest.Present, run: func() error { return chaostest.Wrapper() }},
		{why: "no stream", check: chaostest.Present, run: func() error { return chaostest.Streams() }},
		{why: "too few items", check: chaostest.Present, run: func() error { return chaostest.Streams(chaostest.Stream{Target: "a", Items: []any{1}}) }},
		{why: "the caller reads the real value", check: chaostest.Honest, run: inner(func(ctx context.Context, work func(context.Context) (any, error), _ func() error) (any, error) {
			if _, err := work(ctx); err != nil {
				return nil, err
			}
			return "done", nil // whatever a fault made of it
		})},
		{why: "it heals", check: chaostest.Honest, also: []chaostest.Check{chaostest.PassesErrors, chaostest.Cancelled}, run: point(func(next call) call {
			return func(ctx context.Context) (any, error) {
				out, err := next(ctx)
				if err != nil && injected(ctx) {
					return "done", nil
				}
				return out, err
			}
		})},
		{why: "it tries again", check: chaostest.Honest, also: []chaostest.Check{chaostest.PassesErrors, chaostest.Cancelled}, run: point(func(next call) call {
			return func(ctx context.Context) (any, error) {
				out, err := next(ctx)
				if err != nil && injected(ctx) {
					return next(ctx)
				}
				return out, err
			}
		})},
		{why: "it calls twice", check: chaostest.Transparent, also: []chaostest.Check{chaostest.Honest, chaostest.PassesErrors, chaostest.Disarmed}, run: inner(func(ctx context.Context, work func(context.Context) (any, error), reached func() error) (any, error) {
			if injected(ctx) {
				_ = reached()
			}
			return work(ctx)
		})},
		{why: "it calls twice without an injector", check: chaostest.Transparent, run: inner(func(ctx context.Context, work func(context.Context) (any, error), reached func() error) (any, error) {
			_ = reached()
			return work(ctx)
		})},
		{why: "it has an error of its own", check: chaostest.PassesErrors, run: point(func(next call) call {
			return func(ctx context.Context) (any, error) {
				out, err := next(ctx)
				if err != nil && injected(ctx) {
					err = errors.New("the desk failed")
				}
				return out, err
			}
		})},
		{why: "it allocates", check: chaostest.Allocates, run: point(func(next call) call {
			return func(ctx context.Context) (any, error) {
				if injected(ctx) {
					sink = make([]byte, 8)
				}
				return next(ctx)
			}
		})},
		{why: "it hides its context", check: chaostest.Cancelled, run: point(func(next call) call {
			return func(ctx context.Context) (any, error) {
				return next(context.WithoutCancel(ctx))
			}
		})},
		{why: "another target", check: chaostest.Honest, also: []chaostest.Check{chaostest.Cancelled, chaostest.Disarmed}, run: func() error {
			return chaostest.Wrapper(chaostest.Point{Target: "works", Open: func(reached func() error) call {
				work := chaos.Wrap("work", func(context.Context, int) (any, error) { return "done", reached() })
				return func(ctx context.Context) (any, error) { return work(ctx, 1) }
			}})
		}},
		{why: "it waits once more when disarmed", check: chaostest.Disarmed, run: point(func(next call) call {
			return func(ctx context.Context) (any, error) {
				began := time.Now()
				out, err := next(ctx)
				if time.Since(began) > 0 && err == nil {
					time.Sleep(time.Second)
				}
				return out, err
			}
		})},
		{why: "it loses an item", check: chaostest.Transparent, also: []chaostest.Check{chaostest.Honest, chaostest.Items, chaostest.Disarmed}, run: items(func(of iter.Seq2[any, error]) iter.Seq2[any, error] {
			return func(yield func(any, error) bool) {
				n := 0
				for item, err := range of {
					if n++; n != 2 && !yield(item, err) {
						return
					}
				}
			}
		})},
		{why: "it drops what comes twice", check: chaostest.Honest, also: []chaostest.Check{chaostest.Items}, run: items(func(of iter.Seq2[any, error]) iter.Seq2[any, error] {
			return func(yield func(any, error) bool) {
				var last any
				for item, err := range of {
					if err == nil && item == last {
						continue
					}
					if last = item; !yield(item, err) {
						return
					}
				}
			}
		})},
		{why: "it loses an item before an error", check: chaostest.Items, also: []chaostest.Check{chaostest.Allocates}, run: items(func(of iter.Seq2[any, error]) iter.Seq2[any, error] {
			return func(yield func(any, error) bool) {
				var held []any
				for item, err := range of {
					if err != nil {
						yield(nil, err)
						return
					}
					if held = append(held, item); len(held) > 1 {
						if !yield(held[0], nil) {
							return
						}
						held = held[1:]
					}
				}
				for _, item := range held {
					if !yield(item, nil) {
						return
					}
				}
			}
		})},
		{why: "it swallows the error of the source", check: chaostest.PassesErrors, also: []chaostest.Check{chaostest.Honest, chaostest.Items, chaostest.Cancelled}, run: items(func(of iter.Seq2[any, error]) iter.Seq2[any, error] {
			return func(yield func(any, error) bool) {
				for item, err := range of {
					if err != nil || !yield(item, nil) {
						return
					}
				}
			}
		})},
		{why: "it reads on when its caller has stopped", check: chaostest.Honest, run: items(func(of iter.Seq2[any, error]) iter.Seq2[any, error] {
			return func(yield func(any, error) bool) {
				more := true
				for item, err := range of {
					more = more && yield(item, err)
				}
			}
		})},
		{why: "each item allocates", check: chaostest.Allocates, run: items(func(of iter.Seq2[any, error]) iter.Seq2[any, error] {
			return func(yield func(any, error) bool) {
				for item, err := range of {
					if sink = make([]byte, 8); !yield(item, err) {
						return
					}
				}
			}
		})},
	}
}

var sink []byte

// Each check fails on a wrapper that does not meet it.
func TestBrokenWrappers(t *testing.T) {
	for _, w := range brokenWrappers() {
		if w.check == chaostest.Allocates && raceDetector {
			continue
		}
		t.Run(w.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				err := w.run()
				time.Sleep(20_000 * time.Hour)
				require.Error(t, err)
				for _, check := range checks(err) {
					assert.Contains(t, append(w.also, w.check), check, "%v", err)
				}
				assert.ErrorContains(t, err, "chaostest: "+string(w.check)+": ")
			})
		})
	}
}

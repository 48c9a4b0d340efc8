package chaoshttp

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
)

// SlowHeaders delays the answer: the server does its work, and the caller waits
// wait, more than 0, for the header. If the caller gives up before, the work is
// done all the same.
func SlowHeaders(wait time.Duration) chaos.Fault { return slowHeaders{wait} }

type slowHeaders struct{ wait time.Duration }

func (f slowHeaders) Inject(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
	result, err := next(ctx, args)
	if late := chaos.Sleep(ctx, f.wait); late != nil && !errors.Is(late, chaos.ErrDisarmed) {
		return nil, late
	}
	return result, err
}

func (f slowHeaders) Phase() chaos.Phase { return chaos.PhaseAfter }

func (f slowHeaders) Check() error {
	c := param.Check{Kind: "slow_headers"}
	c.That(f.wait > 0, "wait", f.wait, "a duration of more than 0")
	return c.Err()
}

func (f slowHeaders) Describe() chaos.Description {
	return spoils("slow_headers", chaos.ClassTiming, chaos.Implicit, waitParams{f.wait.String()})
}

// SlowBody delivers the body in pieces of at most chunk bytes, each of them,
// the first included, every later than the one before. With every = time.Second
// chunk is a rate in bytes per second. Both are more than 0. The call ends with
// its body.
func SlowBody(chunk int, every time.Duration) chaos.Fault {
	return change{
		d: spoils("slow_body", chaos.ClassTiming, chaos.Implicit, struct {
			Chunk int    `json:"chunk"`
			Every string `json:"every"`
		}{chunk, every.String()}),
		check: func(c *param.Check) {
			c.That(chunk > 0, "chunk", chunk, "a number of bytes, at least 1")
			c.That(every > 0, "every", every, "a duration of more than 0")
		},
		apply: func(ctx context.Context, _ chaos.Call, r Response, _ Request) (Response, error) {
			return spoil(ctx, r, r, func(s *spoiled, body io.Reader) io.Reader {
				return &slowReader{s: s, body: body, chunk: chunk, every: every}
			}), nil
		},
	}
}

type slowReader struct {
	s     *spoiled
	body  io.Reader
	chunk int
	every time.Duration
	calm  bool
	err   error // of the body, to be returned after what came with it
}

func (r *slowReader) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	if r.calm {
		return r.body.Read(p)
	}
	var n int
	n, r.err = r.body.Read(p[:min(len(p), r.chunk)])
	if n == 0 {
		return 0, r.err
	}
	calm, err := r.s.sleep(r.every)
	if r.calm = calm; err != nil {
		return 0, err
	}
	return n, nil
}

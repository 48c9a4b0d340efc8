package habits

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/hash"
	"github.com/shakedown-go/shakedown/internal/retryable"
)

// keyHeader is the header of an idempotency key: draft-ietf-httpapi-idempotency-key-header.
const keyHeader = "Idempotency-Key"

// An exchange does with a request what its habit does.
type exchange func(req *http.Request, next http.RoundTripper) (*http.Response, error)

// Transport returns a transport with those habits that make sense over HTTP; the others are left out, and nil ones.
//
//   - [Retries]: of GET, HEAD, OPTIONS, TRACE, PUT and DELETE, which RFC 9110 calls idempotent, of a request with an
//     Idempotency-Key header, and of any that was turned away: 429, 503 with Retry-After, a refused connection. The
//     body must be one that can be read again ([http.Request].GetBody).
//   - [Deadlines]: of each try, up to the end of the body.
//   - [IdempotencyKeys]: a header Idempotency-Key on POST and PATCH that have none, the same for each try. It cannot
//     know a repeat that the program makes itself.
//
// Options about tools do not matter here, nor do the New and Tools of KeyOptions. base nil: [http.DefaultTransport].
func Transport(base http.RoundTripper, all ...*Habit) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	sorted := slices.DeleteFunc(slices.Clone(all), func(h *Habit) bool { return h == nil || h.overHTTP == nil || h.wrong != "" })
	slices.SortStableFunc(sorted, func(a, b *Habit) int { return cmp.Compare(b.rank, a.rank) })
	for _, h := range sorted {
		base = &transport{base, h.overHTTP()}
	}
	return base
}

type transport struct {
	base     http.RoundTripper
	exchange exchange
}

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	return t.exchange(req, t.base)
}

func (k *keys) exchange(req *http.Request, next http.RoundTripper) (*http.Response, error) {
	if (req.Method == http.MethodPost || req.Method == http.MethodPatch) && req.Header.Get(keyHeader) == "" {
		req = req.Clone(req.Context())
		op := operation{tool: req.Method + " " + req.URL.String()}
		req.Header.Set(keyHeader, k.take(req.Context(), op, nil))
	}
	return next.RoundTrip(req)
}

func (r retries) exchange(req *http.Request, next http.RoundTripper) (*http.Response, error) {
	ctx := req.Context()
	resp, err := next.RoundTrip(req)
	for try := 1; try < r.tries && ctx.Err() == nil; try++ {
		f := failureOfResponse(resp, err)
		if f == nil || f.class == retryable.Permanent || !f.before && !repeatable(req) {
			break
		}
		again := req.Clone(chaos.WithHabit(ctx, "bounded-retries"))
		if req.Body != nil && req.Body != http.NoBody {
			if req.GetBody == nil {
				break
			}
			body, failure := req.GetBody()
			if failure != nil {
				break
			}
			again.Body = body
		}
		if !r.pause(ctx, try, f.after, hash.String(req.URL.Path)) {
			break
		}
		if resp != nil {
			_, _ = io.CopyN(io.Discard, resp.Body, 4096) // so that the connection can be used again
			_ = resp.Body.Close()
		}
		resp, err = next.RoundTrip(again)
	}
	return resp, err
}

func failureOfResponse(resp *http.Response, err error) *failed {
	if err != nil {
		return failureOf(nil, err)
	}
	if resp.StatusCode < 400 {
		return nil
	}
	after := headerWait(resp.Header)
	return &failed{status: resp.StatusCode, after: after, class: retryable.Of(resp.StatusCode, after, ""),
		before: turnedAway(resp.StatusCode, after)}
}

func repeatable(req *http.Request) bool {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	return req.Header.Get(keyHeader) != ""
}

type deadline time.Duration

func (d deadline) exchange(req *http.Request, next http.RoundTripper) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(req.Context(), time.Duration(d))
	resp, err := next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		cancel()
		return resp, err
	}
	resp.Body = &closing{resp.Body, cancel}
	return resp, nil
}

// closing ends a context when a body is closed.
type closing struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (c *closing) Close() error {
	defer c.cancel()
	return c.ReadCloser.Close()
}

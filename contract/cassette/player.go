package cassette

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/cassette/internal/tape"
)

// A Player answers requests from a [Cassette]. It counts equal requests, so each world needs one of its own. Cell and
// lane are those of a request's context ([contract.CellOf], [chaos.LaneOf]). It is safe for concurrent use; give
// concurrent work lanes, or which of several equal requests comes first is left to chance.
type Player struct {
	cassette *Cassette

	mu     sync.Mutex
	counts map[slot]int   // of equal requests
	asked  map[place]int  // of all requests
	missed map[slot]error // explained once
	errs   []error        // of missed, in order
	live   int
}

// A place is where a request comes from. Requests outside of a matrix have no cell.
type place struct{ cell, lane string }

// A slot is a request at a place. The answers to it are numbered.
type slot struct {
	place
	key uint64
}

// A request as it is looked up.
type request struct {
	*http.Request
	sent   []byte       // its body
	target string       // without a model
	kept   tape.Request // what is kept of it
	slot
}

// RoundTrip implements [http.RoundTripper]. In replay mode the error is that of the context or a [*MissError]. An SDK
// that counts its retries in the header X-Stainless-Retry-Count gets the miss as the error of an answer's body, beside
// a header that tells it not to try again. The body of an answer must be closed, as of any other.
func (p *Player) RoundTrip(r *http.Request) (*http.Response, error) {
	sent, err := readBody(r)
	if err != nil {
		return nil, err
	}
	switch {
	case r.URL == nil:
		return nil, errors.New("cassette: a request without a URL")
	case r.URL.Opaque != "":
		return nil, p.fail(errors.New("cassette: the field Opaque of a URL is set, which no tape keeps; allowed: Path"))
	}
	ctx := r.Context()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	q := request{Request: r, sent: sent, target: chaoshttp.Target(r)}
	q.cell, q.lane = cellOf(ctx), chaos.LaneOf(ctx)
	q.kept = tape.Request{Method: cmp.Or(r.Method, http.MethodGet), URL: tape.Clean(r), Body: sent}
	if len(sent) > 0 {
		if q.kept.Body, err = p.cassette.settings.redacted(q.target, sent); err != nil {
			return nil, p.fail(err)
		}
	}
	return p.answer(&q)
}

// cellOf is the name of a cell as a tape has it. A run that is no cell, such as a calm run, has none.
func cellOf(ctx context.Context) string {
	c, ok := contract.CellOf(ctx)
	if !ok || c.Scenario == "" {
		return ""
	}
	return c.Scenario + "/" + strconv.Itoa(c.Trial)
}

func readBody(r *http.Request) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	var b bytes.Buffer
	if r.ContentLength > 0 {
		b.Grow(int(min(r.ContentLength, tape.MaxBytes)) + bytes.MinRead)
	}
	_, err := io.Copy(&b, r.Body)
	return b.Bytes(), errors.Join(err, r.Body.Close())
}

// answer answers from what was recorded before or in this run, or from the network.
func (p *Player) answer(q *request) (*http.Response, error) {
	c := p.cassette
	q.key = c.settings.keyer.key(q.kept)
	// What is on the tape has no keys in its bodies; to look for them takes time.
	if live := c.settings.live(); live || c.studio.byKey[q.key] == nil {
		q.kept.Body = tape.Mask(q.kept.Body)
		q.key = c.settings.keyer.key(q.kept)
	}
	n, order := p.next(q.slot)
	a, err := c.studio.claim(q, p, n, order)
	switch {
	case err != nil:
		return nil, p.fail(err)
	case a.response != nil:
		return c.settings.play(q.Request, a.response)
	case a.take == nil:
		return unanswered(q.Request, p.miss(q, order, a.last))
	case a.first:
		p.mu.Lock()
		p.live++
		p.mu.Unlock()
	}
	return a.take.answer(q.Request)
}

// unanswered returns a miss. The SDKs of OpenAI, Anthropic and others of the same make try a
// failed connection again, for seconds; an answer tells them not to, and they return the
// error of its body.
func unanswered(r *http.Request, miss error) (*http.Response, error) {
	if r.Header.Get("X-Stainless-Retry-Count") == "" {
		return nil, miss
	}
	return &http.Response{
		Status: "400 Bad Request", StatusCode: http.StatusBadRequest, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"X-Should-Retry": {"false"}}, Body: missBody{miss}, ContentLength: -1, Request: r,
	}, nil
}

// A missBody is a body that cannot be read.
type missBody struct{ miss error }

func (b missBody) Read([]byte) (int, error) { return 0, b.miss }
func (b missBody) Close() error             { return nil }

// fail notes an error of the harness, so that the cell is inconclusive.
func (p *Player) fail(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.ContainsFunc(p.errs, func(e error) bool { return e.Error() == err.Error() }) {
		p.errs = append(p.errs, err)
	}
	return err
}

// next counts a request. n is its number among equal ones, order among those of its place, both from 1.
func (p *Player) next(s slot) (n, order int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts[s]++
	p.asked[s.place]++
	return p.counts[s], p.asked[s.place]
}

// takeBack uncounts a request whose answer is not kept: on the tape its repetition will be the first.
func (p *Player) takeBack(s slot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.counts[s] > 0 {
		p.counts[s]--
	}
}

// miss returns the error of a request without an answer, which does not count: the same however often the client tries
// again. usedUp is the number of the last exchange that answered it, or 0.
func (p *Player) miss(q *request, number, usedUp int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts[q.slot]--
	if err := p.missed[q.slot]; err != nil {
		p.asked[q.place]--
		return err
	}
	err := p.cassette.explain(q, number, usedUp)
	p.missed[q.slot] = err
	p.errs = append(p.errs, err)
	return err
}

// Err joins the misses since the beginning or the last [Player.Rewind], each once, and what else kept the player from
// answering, such as a Redact that panicked; nil: nothing. It belongs into [contract.World.Err].
func (p *Player) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(p.errs...)
}

// Rewind starts anew: counts, misses and the number of live calls.
func (p *Player) Rewind() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts, p.asked, p.missed, p.errs, p.live = map[slot]int{}, map[place]int{}, map[slot]error{}, nil, 0
}

// Live returns how many live calls were made for this player. A call that another player had made is not one of them.
func (p *Player) Live() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.live
}

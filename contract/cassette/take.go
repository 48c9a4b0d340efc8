package cassette

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shakedown-go/shakedown/contract/cassette/internal/tape"
	"github.com/shakedown-go/shakedown/internal/usercode"
)

// A take is one live call. A goroutine outside of every bubble makes it, and players inside read its answer while it
// comes. What belongs to a bubble must not get out: the channels are made outside, and the request is a new one, since
// the context of the client's and its Cancel channel are of the bubble.
type take struct {
	studio *studio
	begin  chan struct{} // closed once the request is set
	left   chan struct{} // has room for one: the last reader has left, and the answer is not kept
	over   chan struct{} // closed when the call has ended

	// Set before begin is closed.
	target string
	method string
	url    url.URL
	host   string
	header http.Header
	body   []byte

	// Guarded by studio.mu.
	more     chan struct{}  // closed when anything of the following changes
	head     *http.Response // without its body
	after    time.Duration
	chunks   []tape.Chunk
	size     int
	done     bool
	err      error
	consumed int // bytes that the fastest reader got
	readers  int
	entries  []*entry
	kept     bool
	lost     bool
	response *tape.Response // once it is kept
}

func openStudio(exchanges []tape.Exchange, settings *settings) *studio {
	s := &studio{settings: settings, tape: exchanges, used: make([]atomic.Bool, len(exchanges)), most: tape.MaxBytes}
	known := exchanges
	if settings.Mode == Record {
		known = nil
	}
	s.shelf = newShelf(known, &settings.keyer)
	if settings.live() {
		s.fresh, s.quit, s.base = make(chan *take), make(chan struct{}), sync.OnceValue(s.transport)
		s.running.Go(s.serve)
	}
	return s
}

// transport makes the transport of live calls.
func (s *studio) transport() http.RoundTripper {
	if s.settings.Base != nil {
		return s.settings.Base()
	}
	own := &http.Transport{Proxy: http.ProxyFromEnvironment}
	if d, ok := http.DefaultTransport.(*http.Transport); ok {
		own = d.Clone()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.own = own
	return own
}

// serve makes takes outside of the bubbles in which they are started.
func (s *studio) serve() {
	for {
		t := &take{
			studio: s, begin: make(chan struct{}), left: make(chan struct{}, 1), over: make(chan struct{}),
			more: make(chan struct{}),
		}
		select {
		case s.fresh <- t:
			s.running.Go(t.run)
		case <-s.quit:
			return
		}
	}
}

// start begins a live call; s.mu is held until the caller is one of its readers.
func (s *studio) start(q *request) (*take, error) {
	select {
	case <-s.quit:
		return nil, errClosed
	default:
	}
	var t *take
	select {
	case t = <-s.fresh:
	case <-s.quit:
		return nil, errClosed
	}
	t.target, t.method, t.host, t.body = q.target, q.Method, q.Host, q.sent
	t.url, t.header = *q.URL, q.Header.Clone()
	close(t.begin)
	return t, nil
}

// stop ends all live calls and waits for their goroutines.
func (s *studio) stop() {
	close(s.quit)
	s.running.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.strips {
		for _, e := range st.entries {
			if e != nil && e.take != nil {
				s.forget(e.take, unreadWhy, true)
			}
		}
	}
	if s.own != nil {
		s.own.CloseIdleConnections()
	}
}

const unreadWhy = "its body was not read to the end"

// run makes the call.
func (t *take) run() {
	err := usercode.ErrExited
	defer func() { t.finish(err) }()
	select {
	case <-t.begin:
	case <-t.studio.quit:
		err = errClosed
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	t.studio.running.Go(func() { t.watch(cancel) })
	err = t.call(ctx)
}

// watch cancels the call when nobody wants its answer any more. A client leaves in its bubble,
// in which the call must not be cancelled.
func (t *take) watch(cancel func()) {
	defer cancel()
	select {
	case <-t.over:
	case <-t.studio.quit:
	case <-t.left:
	}
}

func (t *take) call(ctx context.Context) (err error) {
	defer usercode.Recover(&err, "cassette: the transport of live calls")
	req, err := http.NewRequestWithContext(ctx, t.method, t.url.String(), bytes.NewReader(t.body))
	if err != nil {
		return err
	}
	req.URL, req.Host, req.Header = &t.url, t.host, t.header
	if req.Header == nil {
		req.Header = make(http.Header)
	}
	req.Header.Del("Accept-Encoding") // the transport asks for one that it decodes
	base := t.studio.base()
	if base == nil {
		return errors.New("cassette: Base returned nil")
	}
	start := time.Now()
	resp, err := base.RoundTrip(req)
	if err != nil {
		return err
	}
	if resp.Body == nil {
		resp.Body = http.NoBody
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 599 {
		return fmt.Errorf("cassette: status %d cannot be recorded or passed", resp.StatusCode)
	}
	t.begun(resp, time.Since(start))
	return t.receive(resp.Body)
}

// receive reads the body to its end, or until nobody wants it.
func (t *take) receive(body io.Reader) error {
	buf := make([]byte, 32<<10)
	for last := time.Now(); ; {
		n, err := body.Read(buf)
		if n > 0 {
			now := time.Now()
			t.received(tape.Chunk{After: now.Sub(last), Data: bytes.Clone(buf[:n])})
			last = now
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// changed wakes the readers; studio.mu is held. Only goroutines outside of bubbles may call it.
func (t *take) changed() {
	close(t.more)
	t.more = make(chan struct{})
}

func (t *take) begun(resp *http.Response, after time.Duration) {
	t.studio.mu.Lock()
	defer t.studio.mu.Unlock()
	head := *resp
	head.Body, head.Request = nil, nil
	t.head, t.after = &head, after
	if why := t.studio.settings.refuses(resp); why != "" {
		t.studio.forget(t, why, false)
	}
	if len(t.body) > t.studio.most {
		t.studio.forget(t, t.studio.tooLarge(), false)
	}
	t.changed()
}

var (
	failures  = []int{http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests}
	redirects = []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect}
)

// refuses says why an answer cannot be kept; empty: it can.
func (s *settings) refuses(resp *http.Response) string {
	switch status := resp.StatusCode; {
	case slices.Contains(redirects, status):
		return fmt.Sprintf("it has status %d, and a tape does not keep the header Location", status)
	case !s.KeepFailures && (status >= 500 || slices.Contains(failures, status)):
		return fmt.Sprintf("it has status %d, and KeepFailures is not set", status)
	}
	if encoding := resp.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return fmt.Sprintf("its body is encoded (%.40q), and a tape does not keep the header Content-Encoding", encoding)
	}
	return ""
}

// tooLarge is said of an exchange for which alone the file would not be written.
func (s *studio) tooLarge() string { return fmt.Sprintf("its body has more than %d bytes", s.most) }

func (t *take) received(c tape.Chunk) {
	t.studio.mu.Lock()
	defer t.studio.mu.Unlock()
	t.chunks = append(t.chunks, c)
	if t.size += len(c.Data); t.size > t.studio.most {
		t.studio.forget(t, t.studio.tooLarge(), false)
	}
	if t.readers == 0 && !t.read() {
		t.abandon()
	}
	t.changed()
}

func (t *take) finish(err error) {
	t.studio.mu.Lock()
	defer t.studio.mu.Unlock()
	close(t.over)
	select {
	case <-t.studio.quit:
		if err != nil {
			err = errors.Join(errors.New("Close came before its end"), err)
		}
	default:
	}
	t.done, t.err = true, err
	if err != nil {
		t.studio.forget(t, err.Error(), false)
	}
	t.settle()
	t.changed()
}

// settle decides whether the answer is kept, once it is there; studio.mu is held.
func (t *take) settle() {
	switch {
	case !t.done || t.lost || t.kept || len(t.entries) == 0:
	case t.read():
		response, err := t.exchange()
		if err != nil {
			t.studio.forget(t, err.Error(), false)
			return
		}
		t.response, t.kept = response, true
	case t.readers == 0:
		t.studio.forget(t, unreadWhy, true)
	}
}

// read reports whether a reader got all that came, but for white space at the end.
func (t *take) read() bool {
	rest := t.size - t.consumed
	for i := len(t.chunks) - 1; rest > 0 && i >= 0; i-- {
		data := t.chunks[i].Data
		if len(bytes.TrimSpace(data[max(0, len(data)-rest):])) > 0 {
			return false
		}
		rest -= len(data)
	}
	return t.head != nil
}

// abandon gives up an answer that nobody read to its end; studio.mu is held.
func (t *take) abandon() {
	t.studio.forget(t, unreadWhy, true)
	select {
	case t.left <- struct{}{}:
	default:
	}
}

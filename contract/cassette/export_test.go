package cassette

import (
	"github.com/shakedown-go/shakedown/contract/cassette/internal/tape"
)

// Recorded is how many answers of live calls are kept so far.
func (c *Cassette) Recorded() (n int) {
	c.studio.mu.Lock()
	defer c.studio.mu.Unlock()
	for _, st := range c.studio.strips {
		for _, e := range st.entries {
			if e != nil && e.take != nil && e.take.kept {
				n++
			}
		}
	}
	return n
}

// SetMost changes how many bytes a body that is kept may have. Call it before the first request.
func (c *Cassette) SetMost(n int) { c.studio.most = n }

// KeyOf is the key of a request with these options.
func KeyOf(o *Options, method, url string, body []byte) (key uint64, kept []byte, err error) {
	s, err := o.settings()
	if err != nil {
		return 0, nil, err
	}
	kept = tape.Canonical(body)
	return s.keyer.key(tape.Request{Method: method, URL: url, Body: body}), kept, nil
}

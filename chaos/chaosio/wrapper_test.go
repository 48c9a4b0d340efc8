package chaosio_test

import (
	"context"
	"io"
	"iter"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos/chaosio"
	"github.com/shakedown-go/shakedown/chaos/chaostest"
)

// itemReader gives an item of a source with each Read.
type itemReader struct {
	next func() (any, error, bool)
	stop func()
}

func (r *itemReader) Read(p []byte) (int, error) {
	item, err, more := r.next()
	switch {
	case !more:
		return 0, io.EOF
	case err != nil:
		return 0, err
	}
	return copy(p, item.(string)), nil
}

func (r *itemReader) Close() error { r.stop(); return nil }

// A reader is a sound stream of its chunks.
func TestReaderIsSound(t *testing.T) {
	buf := make([]byte, 64)
	synctest.Test(t, func(t *testing.T) {
		assert.NoError(t, chaostest.Streams(chaostest.Stream{Target: "download", Items: []any{"one", "two", "three", "four"},
			Open: func(source func() iter.Seq2[any, error]) func(context.Context) iter.Seq2[any, error] {
				return func(ctx context.Context) iter.Seq2[any, error] {
					return func(yield func(any, error) bool) {
						base := &itemReader{}
						base.next, base.stop = iter.Pull2(source())
						r := chaosio.NewReader(ctx, "download", base, nil)
						defer r.Close()
						for {
							n, err := r.Read(buf)
							if err == io.EOF || !yield(words(buf[:n]), err) || err != nil {
								return
							}
						}
					}
				}
			}}))
	})
}

// words are the chunks of the test without an allocation.
func words(chunk []byte) any {
	for _, w := range []any{"one", "two", "three", "four"} {
		if w == string(chunk) {
			return w
		}
	}
	return string(chunk)
}

package chaosio_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaosio"
	"github.com/shakedown-go/shakedown/chaos/fault"
)

const target = "download"

func under(t testing.TB, rules ...chaos.Rule) (context.Context, *chaos.Injector) {
	t.Helper()
	for i := range rules {
		rules[i].Target = target
	}
	p, err := chaos.NewPlan(1, rules...)
	require.NoError(t, err)
	in := p.Injector("cell", &chaos.InjectorOptions{RecordAll: true, KeepValues: true})
	return chaos.NewContext(t.Context(), in), in
}

// body records that it was closed.
type body struct {
	io.Reader
	closed int
}

func (b *body) Close() error {
	b.closed++
	return nil
}

// A caller that reads to the end gets what the faults leave.
func TestReadAll(t *testing.T) {
	errDisk := errors.New("read error")
	const s = time.Second
	for _, c := range []struct {
		why       string
		fault     chaos.Fault
		want      string
		is        error
		spent     time.Duration
		delivered bool
	}{
		{"cut", fault.CutAfter(2), "abcdef", io.ErrUnexpectedEOF, 0, true},
		{"an early end reads as the end", fault.EndAfter(1), "abc", nil, 0, true},
		{"slow chunks", fault.SlowItems(s), "abcdefghij", nil, 4 * s, true},
		{"slow first chunk", fault.SlowFirstItem(s), "abcdefghij", nil, s, true},
		{"a chunk twice", fault.DuplicateItem(0), "abcabcdefghij", nil, 0, true},
		{"a chunk with a byte that is no UTF-8", fault.MalformItem(1), "abcde\xffghij", nil, 0, true},
		{"pairs swapped", fault.ReorderItems(2), "defabcjghi", nil, 0, true},
		{"a delay before the first byte", fault.Delay(s), "abcdefghij", nil, s, true},
		{"a failure in place of the stream", fault.Fail(errDisk), "", errDisk, 0, true},
		{"a stall that the context ends", fault.HangAtItem(1), "abc", context.DeadlineExceeded, time.Minute, true},
		{"nothing", fault.CutAfter(9), "abcdefghij", nil, 0, false},
	} {
		t.Run(c.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, in := under(t, chaos.Rule{Fault: c.fault})
				ctx, cancel := context.WithTimeout(ctx, time.Minute)
				defer cancel()
				src := &body{Reader: strings.NewReader("abcdefghij")}
				r := chaosio.NewReader(ctx, target, src, &chaosio.Options{Chunk: 3})
				start := time.Now()
				got, err := io.ReadAll(r)
				assert.Equal(t, c.spent, time.Since(start))
				assert.Equal(t, c.want, string(got))
				assert.ErrorIs(t, err, c.is)
				_, again := r.Read(make([]byte, 1))
				if err != nil {
					assert.Equal(t, err, again, "the error stays")
				}
				events := in.Events()
				require.Len(t, events, 1, "one reader is one call")
				assert.Equal(t, c.delivered, events[0].Delivered)
				assert.NoError(t, r.Close())
				assert.NoError(t, r.Close())
				assert.Equal(t, 1, src.closed)
				_, err = r.Read(make([]byte, 1))
				assert.ErrorIs(t, err, io.ErrClosedPipe)
			})
		})
	}
}

// Close before the end ends the call: nothing more is read, and a fault further on in
// the stream is not delivered.
func TestCloseEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, in := under(t, chaos.Rule{Fault: fault.CutAfter(3)})
		src := strings.NewReader("abcdefghij")
		r := chaosio.NewReader(ctx, target, src, &chaosio.Options{Chunk: 2})
		n, err := io.ReadFull(r, make([]byte, 3))
		assert.NoError(t, err)
		assert.Equal(t, 3, n)
		assert.NoError(t, r.Close())
		assert.Equal(t, 6, src.Len(), "two chunks were read")
		assert.False(t, in.Events()[0].Delivered)
		assert.Equal(t, json.RawMessage(`{"items":2}`), in.Events()[0].Result)
	})
}

// Close ends the wait of a Read, which is under way in another goroutine.
func TestCloseDuringARead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, _ := under(t, chaos.Rule{Fault: fault.HangAtItem(0)})
		r := chaosio.NewReader(ctx, target, strings.NewReader("abc"), nil)
		done := make(chan error)
		go func() {
			_, err := io.ReadAll(r)
			done <- err
		}()
		synctest.Wait()
		assert.NoError(t, r.Close())
		assert.ErrorIs(t, <-done, context.Canceled)
	})
}

// A reader that is closed before its first Read is no call.
func TestCloseUnread(t *testing.T) {
	ctx, in := under(t, chaos.Rule{Fault: fault.CutAfter(0)})
	assert.NoError(t, chaosio.NewReader(ctx, target, strings.NewReader("abc"), nil).Close())
	assert.Empty(t, in.Events())
}

// Without an injector it is the reader itself.
func TestWithoutInjector(t *testing.T) {
	src := &body{Reader: strings.NewReader("abc")}
	r := chaosio.NewReader(t.Context(), target, src, nil)
	got, err := io.ReadAll(r)
	assert.NoError(t, err)
	assert.Equal(t, "abc", string(got))
	assert.NoError(t, r.Close())
	assert.Equal(t, 1, src.closed)
}

// exploding panics during a Read.
type exploding struct{}

func (exploding) Read([]byte) (int, error) { panic("disk on fire") }

// A caller that reads on after a panic of the source does not get io.EOF.
func TestAfterAPanicOfTheSource(t *testing.T) {
	plan, err := chaos.NewPlan(1, chaos.Rule{Target: "file", Fault: fault.DuplicateItem(0)})
	require.NoError(t, err)
	r := chaosio.NewReader(chaos.NewContext(t.Context(), plan.Injector("", nil)), "file", exploding{}, nil)
	buf := make([]byte, 8)
	assert.PanicsWithValue(t, "disk on fire", func() { _, _ = r.Read(buf) })
	n, err := r.Read(buf)
	assert.Zero(t, n)
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
	assert.NoError(t, r.Close())
}

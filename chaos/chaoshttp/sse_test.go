package chaoshttp_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
)

// Four events with a comment among them; the third has no object.
const four = "data: {\"n\":0}\n\n: ping\n\nevent: x\ndata: {\"n\":1}\n\ndata: two\n\ndata: [DONE]\n\n"

func TestStreamFaults(t *testing.T) {
	for _, tc := range []struct {
		name  string
		fault chaos.Fault
		want  string
		err   error
		paths []string // of the changes
		note  string   // why it was not delivered; empty: it was
	}{
		{"cut within the first event", chaoshttp.CutEvent(0), "data: {", io.ErrUnexpectedEOF, []string{"$[0]"}, ""},
		{"cut within a later one", chaoshttp.CutEvent(1), "data: {\"n\":0}\n\n: ping\n\nevent: x\ndat", io.ErrUnexpectedEOF, []string{"$[1]"}, ""},
		{"cut behind the last", chaoshttp.CutEvent(4), four, nil, nil, "the stream ended after 4 events; the fault comes after 4"},
		{"no event at all", chaoshttp.CutStream(0), "", nil, []string{"$[0]"}, ""},
		{"an end after two", chaoshttp.CutStream(2), "data: {\"n\":0}\n\n: ping\n\nevent: x\ndata: {\"n\":1}\n\n", nil, []string{"$[2]"}, ""},
		{"malformed", chaoshttp.MalformEvent(1), strings.Replace(four, `{"n":1}`, `{"n"`, 1), nil, []string{"$[1]"}, ""},
		{"only objects are malformed", chaoshttp.MalformEvent(2), four, nil, nil, "the stream ended after 2 events; the fault comes after 2"},
		{"twice", chaoshttp.DuplicateEvent(1), strings.Replace(four, "event: x\ndata: {\"n\":1}\n\n", "event: x\ndata: {\"n\":1}\n\nevent: x\ndata: {\"n\":1}\n\n", 1), nil, []string{"$[2]"}, ""},
		{"the terminator twice", chaoshttp.DuplicateEvent(3), four + "data: [DONE]\n\n", nil, []string{"$[4]"}, ""},
		{"out of order", chaoshttp.SwapEvents(2), strings.Replace(four, "data: two\n\ndata: [DONE]\n\n", "data: [DONE]\n\ndata: two\n\n", 1), nil, []string{"$[2]", "$[3]"}, ""},
		{"the last has none behind it", chaoshttp.SwapEvents(3), four, nil, nil, "the stream ended after 3 events; the fault comes after 3"},
		{"an error", chaoshttp.ErrorEvent(chaoshttp.Anthropic, chaoshttp.KindOverloaded, 1),
			"data: {\"n\":0}\n\n: ping\n\nevent: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"},\"request_id\":\"REQUEST\"}\n\n", nil, []string{"$[1]"}, ""},
		{"no terminator", chaoshttp.DropTerminator(), strings.TrimSuffix(four, "data: [DONE]\n\n"), nil, []string{"$[3]"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := fetch(t, stream(four), tc.fault)
			body := regexp.MustCompile(`req_[0-9a-f]+`).ReplaceAllString(a.body, "REQUEST")
			assert.Equal(t, tc.want, body)
			if assert.ErrorIs(t, a.err, tc.err); tc.err != nil {
				assert.ErrorIs(t, a.err, chaos.ErrInjected)
			}
			e := a.event(t)
			assert.Equal(t, tc.note == "", e.Delivered)
			assert.Contains(t, e.Note, tc.note)
			var paths []string
			for _, ch := range e.Changes {
				paths = append(paths, ch.Path)
			}
			assert.Equal(t, tc.paths, paths)
			assert.Equal(t, four, fetch(t, stream(four), chaoshttp.CutEvent(99)).body, "a fault that has nothing to do leaves the stream")
		})
	}
}

// Faults of streams act on lines as on events. A blank line is none, and the last needs no end.
func TestStreamFaultsOnLines(t *testing.T) {
	const zero, one, blank, two = "{\"n\":0}\n", "{\"n\":1}\r\n", "\n", "two\n"
	const last = "{\"message\":{\"content\":\"\"},\"done\":true}"
	const lines = zero + blank + one + two + last
	for name, tc := range map[string]struct {
		fault chaos.Fault
		want  string
		err   error
		paths []string
		note  string
	}{
		"cut within a line":   {chaoshttp.CutEvent(1), zero + blank + "{\"n\"", io.ErrUnexpectedEOF, []string{"$[1]"}, ""},
		"cut behind the last": {chaoshttp.CutEvent(4), lines, nil, nil, "the stream ended after 4 events"},
		"an end after two":    {chaoshttp.CutStream(2), zero + blank + one, nil, []string{"$[2]"}, ""},
		"malformed":           {chaoshttp.MalformEvent(1), zero + blank + "{\"n\"\n" + two + last, nil, []string{"$[1]"}, ""},
		"twice":               {chaoshttp.DuplicateEvent(1), zero + blank + one + one + two + last, nil, []string{"$[2]"}, ""},
		"the last twice":      {chaoshttp.DuplicateEvent(3), lines + "\n" + last + "\n", nil, []string{"$[4]"}, ""},
		"out of order":        {chaoshttp.SwapEvents(2), zero + blank + one + last + "\n" + two, nil, []string{"$[2]", "$[3]"}, ""},
		"no terminator":       {chaoshttp.DropTerminator(), zero + blank + one + two, nil, []string{"$[3]"}, ""},
	} {
		for _, body := range []io.Reader{strings.NewReader(lines), iotest.OneByteReader(strings.NewReader(lines))} {
			a := fetch(t, &canned{contentType: "application/x-ndjson", body: body}, tc.fault)
			assert.Equal(t, tc.want, a.body, name)
			assert.ErrorIs(t, a.err, tc.err, name)
			e := a.event(t)
			assert.Equal(t, tc.note == "", e.Delivered, name)
			assert.Contains(t, e.Note, tc.note, name)
			var paths []string
			for _, ch := range e.Changes {
				paths = append(paths, ch.Path)
			}
			assert.Equal(t, tc.paths, paths, name)
		}
	}
	broken := errors.New("broken")
	a := fetch(t, &canned{contentType: "application/x-ndjson",
		body: io.MultiReader(strings.NewReader(zero+"{\"n\""), iotest.ErrReader(broken))}, chaoshttp.DuplicateEvent(1))
	assert.Equal(t, zero+"{\"n\"", a.body)
	assert.ErrorIs(t, a.err, broken)
	assert.False(t, a.event(t).Delivered, "the second line broke off")
}

func TestEqualEventsAreNotSwapped(t *testing.T) {
	same := "data: a\n\ndata: a\n\n"
	a := fetch(t, stream(same), chaoshttp.SwapEvents(0))
	assert.Equal(t, same, a.body)
	assert.False(t, a.event(t).Delivered)
	assert.Equal(t, "the two events are equal", a.event(t).Note)
}

func TestSwappedEventsStayWhole(t *testing.T) {
	crlf := strings.ReplaceAll(four, "\n", "\r\n")
	slow := &canned{contentType: "text/event-stream", body: iotest.OneByteReader(strings.NewReader(crlf))}
	a := fetch(t, slow, chaoshttp.SwapEvents(0))
	var data []string
	for lines := bufio.NewScanner(strings.NewReader(a.body)); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			data = append(data, text)
		}
	}
	assert.Equal(t, []string{`{"n":1}`, `{"n":0}`, "two", "[DONE]"}, data)
}

// A byte order mark is one at the beginning of a stream; elsewhere it would
// take the event behind it away.
func TestByteOrderMarkDoesNotMove(t *testing.T) {
	const marked = "\ufeffdata: a\n\ndata: b\n\n"
	assert.Equal(t, "data: b\n\ndata: a\n\n", fetch(t, stream(marked), chaoshttp.SwapEvents(0)).body)
	assert.Equal(t, "data: a\n\ndata: a\n\ndata: b\n\n", fetch(t, stream(marked), chaoshttp.DuplicateEvent(0)).body)
	assert.Equal(t, marked, fetch(t, stream(marked), chaoshttp.SwapEvents(1)).body)
}

func TestAnywhereIsDrawn(t *testing.T) {
	a := fetch(t, stream(strings.Repeat("data: x\n\n", 9)), chaoshttp.CutStream(chaoshttp.Anywhere))
	assert.True(t, a.event(t).Delivered)
	again := fetch(t, stream(strings.Repeat("data: x\n\n", 9)), chaoshttp.CutStream(chaoshttp.Anywhere))
	assert.Equal(t, a.body, again.body, "the same coordinates, the same place")
}

func TestSlowStreams(t *testing.T) {
	for _, tc := range []struct {
		name  string
		fault chaos.Fault
		want  []time.Duration // when each event comes
	}{
		{"the first", chaoshttp.SlowFirstEvent(time.Minute), []time.Duration{time.Minute, time.Minute, time.Minute, time.Minute}},
		{"each", chaoshttp.SlowEvents(time.Second), []time.Duration{1 * time.Second, 2 * time.Second, 3 * time.Second, 4 * time.Second}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				resp, in := open(t, t.Context(), stream(four), tc.fault)
				defer resp.Body.Close()
				var came []time.Duration
				for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
					if strings.HasPrefix(lines.Text(), "data:") {
						came = append(came, time.Since(began))
					}
				}
				assert.Equal(t, tc.want, came)
				e := in.Events()[0]
				assert.True(t, e.Delivered)
				assert.Equal(t, tc.want[3], e.Spent)
			})
		})
	}
}

func TestHangingStreamEndsWithItsReader(t *testing.T) {
	head := "data: {\"n\":0}\n\n: ping\n\n"
	ends := map[string]struct {
		end  func(cancel context.CancelFunc, resp *http.Response, in *chaos.Injector)
		want string
		err  error
	}{
		"the context ends":         {func(cancel context.CancelFunc, _ *http.Response, _ *chaos.Injector) { cancel() }, head, context.Canceled},
		"the body is closed":       {func(_ context.CancelFunc, r *http.Response, _ *chaos.Injector) { r.Body.Close() }, head, context.Canceled},
		"the injector is disarmed": {func(_ context.CancelFunc, _ *http.Response, in *chaos.Injector) { in.Disarm() }, four, nil},
	}
	for name, tc := range ends {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				resp, in := open(t, ctx, stream(four), chaoshttp.HangStream(1))
				defer resp.Body.Close()
				began := time.Now()
				time.AfterFunc(time.Hour, func() { tc.end(cancel, resp, in) })
				body, err := io.ReadAll(resp.Body)
				assert.Equal(t, time.Hour, time.Since(began), "at once")
				assert.Equal(t, tc.want, string(body))
				assert.ErrorIs(t, err, tc.err)
				synctest.Wait()
				require.Len(t, in.Events(), 1)
				assert.True(t, in.Events()[0].Delivered, "the reader waited, whoever ends first: the reader or the call")
				assert.Equal(t, time.Hour, in.Events()[0].Spent)
			})
		})
	}
}

func TestConsumerThatStopsEarly(t *testing.T) {
	for name, f := range map[string]chaos.Fault{
		"cut": chaoshttp.CutEvent(3), "hang": chaoshttp.HangStream(3), "malformed": chaoshttp.MalformEvent(1),
		"duplicate": chaoshttp.DuplicateEvent(3), "swapped": chaoshttp.SwapEvents(2), "no terminator": chaoshttp.DropTerminator(),
	} {
		t.Run(name, func(t *testing.T) {
			src := &counted{Reader: strings.NewReader(four)}
			resp, in := open(t, t.Context(), &canned{contentType: "text/event-stream", body: src}, f)
			p := make([]byte, 4)
			_, err := io.ReadFull(resp.Body, p)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			assert.True(t, src.closed)
			assert.Less(t, src.read, 40, "no more was asked of the provider")
			require.Len(t, in.Events(), 1)
			assert.False(t, in.Events()[0].Delivered, "nobody saw it")
		})
	}
}

func TestOtherResponsesPass(t *testing.T) {
	text := func(status int, h http.Header, contentType string) *canned {
		return &canned{contentType: contentType, body: strings.NewReader(four), header: h, status: status}
	}
	for _, f := range []chaos.Fault{chaoshttp.CutEvent(0), chaoshttp.EmptyCompletion()} {
		for name, tc := range map[string]struct {
			from *canned
			note string
		}{
			"another type": {text(200, nil, "text/plain"), "content type is"},
			"no type":      {text(200, nil, ""), "content type is"},
			"compressed":   {text(200, http.Header{"Content-Encoding": {"br"}}, "text/event-stream"), "encoded: br"},
			"an error":     {text(500, nil, "text/event-stream"), ""},
		} {
			t.Run(name, func(t *testing.T) {
				a := fetch(t, tc.from, f)
				assert.Equal(t, four, a.body)
				assert.NoError(t, a.err)
				assert.False(t, a.event(t).Delivered)
				assert.Contains(t, a.event(t).Note, tc.note)
			})
		}
	}
}

// An error of the provider comes as it is, behind what was kept back.
func TestErrorsOfTheProviderPass(t *testing.T) {
	for _, f := range []chaos.Fault{chaoshttp.CutStream(5), chaoshttp.SwapEvents(0)} {
		broken := errors.New("broken")
		a := fetch(t, &canned{contentType: "text/event-stream",
			body: io.MultiReader(strings.NewReader("data: a\n\n"), iotest.ErrReader(broken))}, f)
		assert.Equal(t, "data: a\n\n", a.body)
		assert.ErrorIs(t, a.err, broken)
		assert.NotErrorIs(t, a.err, chaos.ErrInjected)
		assert.Equal(t, chaos.OutcomeFailed, a.event(t).Outcome)
		assert.False(t, a.event(t).Delivered)
	}
}

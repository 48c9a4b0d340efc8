package plot_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/internal/golden"
	"github.com/shakedown-go/shakedown/scoring/timeline"
	"github.com/shakedown-go/shakedown/scoring/timeline/plot"
)

// newRun is a run that begins at noon.
func newRun(t *testing.T, samples ...timeline.Sample) *timeline.Run {
	t.Helper()
	r, err := timeline.NewRun(&timeline.RunOptions{Epoch: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)})
	require.NoError(t, err)
	require.NoError(t, r.AddAll(samples))
	return r
}

func call(target string, start time.Duration) timeline.Sample {
	return timeline.Sample{Target: target, Start: start, End: start + 20*time.Millisecond}
}

func failed(s timeline.Sample) timeline.Sample {
	s.Failed, s.Final = true, true
	return s
}

// shop asks for an order five times a second, which looks into the database. The
// database is down from the 20th second on, for ten seconds.
func shop(seconds int) (all []timeline.Sample) {
	for n := range 5 * seconds {
		start := time.Duration(n) * 200 * time.Millisecond
		order, query, price := call("api.orders", start), call("db.query", start+2*time.Millisecond), call("api.price", start+9*time.Millisecond)
		if start >= 20*time.Second && start < 30*time.Second {
			order, query = failed(order), failed(query)
			query.Fault, query.Rule = "hang", "the database is down"
		}
		all = append(all, order, query)
		if n%5 == 0 {
			all = append(all, price)
		}
	}
	return all
}

func TestPlotOfAnOutage(t *testing.T) {
	var svg bytes.Buffer
	o := &plot.Options{Title: "The database is down <for ten seconds> & comes back"}
	require.NoError(t, plot.SVG(&svg, newRun(t, shop(60)...), o))
	golden.Equal(t, "outage.svg", svg.Bytes())
}

// Whatever the names hold, the picture is well-formed and has no element or
// attribute of theirs.
func TestAPlotEscapesAllText(t *testing.T) {
	evil := []string{`<script>alert(1)</script>`, `"]]>&amp;`, "\x00\xff\u202e", strings.Repeat("é<", 100)}
	var all []timeline.Sample
	for _, name := range evil {
		s := failed(call(name, 0))
		s.Fault, s.Rule, s.Class = name, name, name
		all = append(all, s, call(name, 3*time.Second))
	}
	r := newRun(t, all...)
	var svg bytes.Buffer
	require.NoError(t, plot.SVG(&svg, r, &plot.Options{Title: evil[0] + evil[2]}))
	known := map[string]bool{"svg": true, "style": true, "title": true, "rect": true, "text": true, "g": true, "line": true, "path": true}
	decoder := xml.NewDecoder(bytes.NewReader(svg.Bytes()))
	var text strings.Builder
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		switch token := token.(type) {
		case xml.StartElement:
			assert.True(t, known[token.Name.Local], token.Name.Local)
		case xml.CharData:
			text.Write(token)
		}
	}
	assert.Contains(t, text.String(), evil[0], "and still shows it")
	assert.Contains(t, text.String(), evil[3], "whole, when pointed at")
}

func TestAPlotSaysWhatItLeavesOut(t *testing.T) {
	r := newRun(t, shop(5)...)
	var svg bytes.Buffer
	require.NoError(t, plot.SVG(&svg, r, &plot.Options{MaxNodes: 1, Query: timeline.Query{Start: timeline.Bin(2)}}))
	assert.Contains(t, svg.String(), "2 more nodes not shown")
	assert.Contains(t, svg.String(), "from 2026-03-01T12:00:02Z, 3 bins of 1s")
	assert.Contains(t, svg.String(), "api.orders")
	assert.NotContains(t, svg.String(), "db.query")
}

func TestAPlotThatCannotBeDrawn(t *testing.T) {
	r := newRun(t, call("a", 0))
	for _, tt := range []struct {
		options plot.Options
		want    string
	}{
		{plot.Options{MaxNodes: -1}, "plot: maxNodes is -1; allowed: 0 or more"},
		{plot.Options{Rule: timeline.OutageRule{Metric: timeline.Backlog}}, "has no default"},
		{plot.Options{Query: timeline.Query{Nodes: []string{"b"}}}, `nodeId is "b"`},
		{plot.Options{Query: timeline.Query{Start: timeline.Bin(1), End: timeline.Bin(0)}}, "endBin must be >= startBin."},
		{plot.Options{Query: timeline.Query{Nodes: []string{}}}, "at least one node"},
	} {
		assert.ErrorContains(t, plot.SVG(io.Discard, r, &tt.options), tt.want)
	}
	assert.ErrorIs(t, plot.SVG(brokenWriter{}, r, nil), io.ErrClosedPipe)
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

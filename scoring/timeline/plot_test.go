package timeline_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// Whatever the names hold, the picture is well-formed and has no element or
// attribute of theirs.
func TestAPlotEscapesAllText(t *testing.T) {
	evil := []string{`<script>alert(1)</script>`, `"]]>&amp;`, "\x00\xff\u202e", strings.Repeat("é<", 100)}
	var all []timeline.Sample
	for _, name := range evil {
		s := failed(call(name, 0))
		s.Fault, s.Rule, s.Class = name, name, name
		all = append(all, s, call(name, 3*sec))
	}
	r := newRun(t, nil, all...)
	var svg bytes.Buffer
	require.NoError(t, r.Plot(&svg, &timeline.PlotOptions{Title: evil[0] + evil[2]}))
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
	r := newRun(t, nil, shop{length: 5 * sec}.samples()...)
	var svg bytes.Buffer
	require.NoError(t, r.Plot(&svg, &timeline.PlotOptions{MaxNodes: 1, Query: timeline.Query{Start: timeline.Bin(2)}}))
	assert.Contains(t, svg.String(), "2 more nodes not shown")
	assert.Contains(t, svg.String(), "from 2026-03-01T12:00:02Z, 3 bins of 1s")
	assert.Contains(t, svg.String(), "api.orders")
	assert.NotContains(t, svg.String(), "db.query")
}

func TestAPlotThatCannotBeDrawn(t *testing.T) {
	r := newRun(t, nil, call("a", 0))
	for _, tt := range []struct {
		options timeline.PlotOptions
		want    string
	}{
		{timeline.PlotOptions{MaxNodes: -1}, "timeline: maxNodes is -1; allowed: 0 or more"},
		{timeline.PlotOptions{Rule: timeline.OutageRule{Metric: timeline.Backlog}}, "has no default"},
		{timeline.PlotOptions{Query: timeline.Query{Nodes: []string{"b"}}}, `nodeId is "b"`},
		{timeline.PlotOptions{Query: timeline.Query{Start: timeline.Bin(1), End: timeline.Bin(0)}}, "endBin must be >= startBin."},
		{timeline.PlotOptions{Query: timeline.Query{Nodes: []string{}}}, "at least one node"},
	} {
		assert.ErrorContains(t, r.Plot(io.Discard, &tt.options), tt.want)
	}
	assert.ErrorIs(t, r.Plot(brokenWriter{}, &timeline.PlotOptions{}), io.ErrClosedPipe)
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

package trace

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

func TestTheTypeOfANode(t *testing.T) {
	var of types
	require.NoError(t, of.compile([]NodeRule{{Target: "complete", Type: timeline.NodeLLM}}))
	for _, tt := range []struct {
		target string
		layer  chaos.Layer
		want   timeline.NodeType
		why    string
	}{
		{"refund", chaos.LayerTool, timeline.NodeTool, "its layer says so"},
		{"http.get", chaos.LayerTool, timeline.NodeTool, "its layer goes over its name"},
		{"complete", chaos.LayerTool, timeline.NodeLLM, "the options go over its layer"},
		{"llm.answer", chaos.LayerPoint, timeline.NodeLLM, "a point like any other: its name says more"},
		{"refund", chaos.LayerPoint, timeline.NodePoint, "nothing says more"},
		{"refund", "", timeline.NodePoint, "an event of Trigger has no layer"},
	} {
		assert.Equal(t, tt.want, of.of(tt.target, tt.layer), tt.why)
	}
}

package mcpadapter

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract/trace"
	"github.com/shakedown-go/shakedown/mcpadapter/client"
	"github.com/shakedown-go/shakedown/scoring"
)

// Who is to act decides the code: the caller by other arguments, by waiting, or
// not at all.
func TestWhatErrorsBecome(t *testing.T) {
	for _, tc := range []struct {
		err    error
		status int
		code   string
	}{
		{problem(418, "teapot", "short", "stout"), 418, "teapot"},
		{&scoring.FieldError{Package: "timeline", Field: "nodeId"}, 400, "invalid_arguments"},
		{&scoring.FieldError{Package: "gameday", Field: "Journal"}, 500, "tool_error"}, // the host's own setting
		{chaos.ErrUnknownRule, 404, "not_found"},
		{trace.ErrBusy, 409, "busy"},
		{trace.ErrUnread, 422, "parameters_unread"},
		{context.DeadlineExceeded, 504, "deadline_exceeded"},
		{context.Canceled, 408, "cancelled"},
		{errors.New("who knows"), 500, "tool_error"},
	} {
		p := problemOf(fmt.Errorf("in a call: %w", tc.err))
		assert.Equal(t, tc.status, p.Status, "%v", tc.err)
		assert.Equal(t, tc.code, p.Code, "%v", tc.err)
	}
}

// The tools of a server of this package are a registry, and what its gate refuses
// is said in the words of package client.
func TestAToolThatTheGateDoesNotKnow(t *testing.T) {
	gated := client.Registry(clientOf(t, serverOf(t, newShop(t).host, nil), nil))
	_, err := gated.CallTool(t.Context(), "nowhere", nil)
	assert.ErrorIs(t, err, chaos.ErrUnknownTool, "by the gate's code")
}

package mcpadapter

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract/trace"
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

func TestHowLongARuleLasts(t *testing.T) {
	for _, tc := range []struct {
		seconds *float64
		endless bool
		life    time.Duration
		fails   bool
	}{
		{nil, false, time.Minute, false},
		{nil, true, time.Minute, false},
		{new(1.5), false, 1500 * time.Millisecond, false},
		{new(1e-12), false, 1, false}, // above 0, so never endless
		{new(0.0), false, 0, true},
		{new(0.0), true, 0, false},
	} {
		r := clientRules{limits: Limits{FaultTime: time.Minute, AllowEndless: tc.endless}}
		life, err := r.lifetime(tc.seconds)
		assert.Equal(t, tc.fails, err != nil)
		assert.Equal(t, tc.life, life)
	}
}

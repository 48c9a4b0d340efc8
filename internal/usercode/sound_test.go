package usercode_test

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/internal/usercode"
	"github.com/shakedown-go/shakedown/internal/usercode/usercodetest"
)

// use asks an error everything that this library asks one.
func use(err error) string {
	_ = errors.Is(err, io.EOF)
	_ = errors.As(err, new(*usercode.PanicError))
	return fmt.Sprintf("%v %s", errors.Join(fmt.Errorf("it failed: %w", err)), err)
}

// TestSoundErrors says what an error that cannot be asked becomes.
func TestSoundErrors(t *testing.T) {
	for how, want := range map[string]string{
		"a nil pointer": "a nil *usercodetest.lookupError returned as an error: its method Error panicked: " +
			"runtime error: invalid memory address or nil pointer dereference",
		"a nil pointer, joined": "an error of type *errors.joinError: its method Error panicked: " +
			"runtime error: invalid memory address or nil pointer dereference",
		"Error panics":             "an error of type *usercodetest.failing: its method Error panicked: no text",
		"Error panics with itself": "an error of type *usercodetest.selfish: its method Error panicked with a *usercodetest.selfish",
		"Error ends its goroutine": "an error of type *usercodetest.failing: its method Error ended its goroutine",
		"Is panics": "the look-up failed: an error of type *usercodetest.failing: " +
			"its method Is or Unwrap panicked: not comparable",
		"As panics":               "the look-up failed: an error of type *usercodetest.failing: its method As panicked: not that type",
		"Unwrap of a list panics": "the look-up failed: an error of type usercodetest.causes: its method Is or Unwrap panicked: no causes",
		"Format panics":           "the look-up failed: an error of type *usercodetest.formatted: its method Format panicked: no verb",
	} {
		assert.EqualError(t, usercode.Sound(usercodetest.Errors()[how]), want, how)
	}
}

// TestUnsoundErrorsArePassedOnSound returns each of them in every way that user code can
// end. What arrives can be asked, and the goroutine that asks goes on.
func TestUnsoundErrorsArePassedOnSound(t *testing.T) {
	for how, bad := range usercodetest.Errors() {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // which finds goroutines that are left
				for _, fn := range []func() error{
					func() error { return bad },
					func() error { panic(bad) },
					func() (err error) { defer usercode.Recover(&err, "it"); return bad },
					func() (err error) { defer usercode.Recover(&err, "it"); panic(bad) },
				} {
					err := <-usercode.Go(nil, fn)
					assert.NotErrorIs(t, err, usercode.ErrExited)
					assert.NotEmpty(t, use(err))
				}
				assert.NotEmpty(t, usercode.ErrorText(bad))
			})
		})
	}
}

// TestSoundErrorsStayThemselves: an error that can be asked is not replaced, so that it is
// what it was to errors.Is and to ==.
func TestSoundErrorsStayThemselves(t *testing.T) {
	for _, err := range []error{io.EOF, fmt.Errorf("read: %w", io.EOF), errors.Join(io.EOF, io.ErrNoProgress),
		&usercode.PanicError{Value: 1}} {
		assert.Same(t, err, usercode.Sound(err))
		assert.Equal(t, err.Error(), usercode.ErrorText(err))
	}
	assert.NoError(t, usercode.Sound(nil))
	assert.Empty(t, usercode.ErrorText(nil))
}

type text func()

func (f text) String() string { f(); return "" }

// TestPanicValuesThatCannotBeWritten: the text of such a panic is a description.
func TestPanicValuesThatCannotBeWritten(t *testing.T) {
	err := <-usercode.Go(nil, func() error { panic(text(runtime.Goexit)) })
	assert.EqualError(t, err, "panic: a value of type usercode_test.text: writing it ended its goroutine")
}

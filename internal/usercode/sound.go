package usercode

import (
	"errors"
	"fmt"
	"reflect"
)

// Sound returns an error of user code as it is if its methods can be called: Error,
// Format, and Is, As and Unwrap of all that it wraps. Else it returns one that says
// what those methods do, and that wraps nothing.
//
// A nil pointer returned as an error is the usual case: its Error method panics. Error
// may also end its goroutine, so all are called on a goroutine of their own.
func Sound(err error) error {
	if err == nil || plain(err) {
		return err
	}
	text, method := "", ""
	why := Failure(func() {
		method = "Error"
		text = err.Error()
		method = "Is or Unwrap"
		_ = errors.Is(err, ErrExited)
		method = "As"
		_ = errors.As(err, new(*PanicError))
		if f, ok := err.(fmt.Formatter); ok {
			method = "Format"
			f.Format(nowhere{}, 'v')
		}
	})
	if why == "" {
		return err
	}
	return unsound(err, text, method+" "+why)
}

// ErrorText is the text of an error of user code. If its Error method panics or ends
// its goroutine, it says so. It asks on a goroutine of its own, as [Sound] does.
func ErrorText(err error) (text string) {
	if err == nil {
		return ""
	}
	if plain(err) {
		return err.Error()
	}
	if why := Failure(func() { text = err.Error() }); why != "" {
		return unsound(err, "", "Error "+why).Error()
	}
	return text
}

// plain reports whether an error is one of errors.New, whose only method is sound.
func plain(err error) bool {
	return reflect.TypeOf(err) == reflect.TypeOf(ErrExited)
}

// unsound is what takes the place of an error: its text, where it can be asked for that, and
// what its methods do.
func unsound(err error, text, methods string) error {
	what := fmt.Sprintf("an error of type %T", err)
	if v := reflect.ValueOf(err); v.Kind() == reflect.Pointer && v.IsNil() {
		what = fmt.Sprintf("a nil %T returned as an error", err)
	}
	if text != "" {
		text += ": "
	}
	return fmt.Errorf("%s%s: its method %s", text, what, methods)
}

// soundValue is the value of a panic, or its description if fmt cannot write it.
func soundValue(v any) any {
	switch v := v.(type) {
	case string:
		return v
	case error:
		return Sound(v)
	}
	if why := Failure(func() { _ = fmt.Sprint(v) }); why != "" {
		return fmt.Sprintf("a value of type %T: writing it %s", v, why)
	}
	return v
}

// Failure calls fn on a goroutine of its own and says how it failed: "panicked: VALUE" or
// "ended its goroutine"; "": it returned.
func Failure(fn func()) string {
	switch a := attempted(fn); {
	case a.exited:
		return "ended its goroutine"
	case a.panicked != nil:
		text := ""
		if again := attempted(func() { text = fmt.Sprint(a.panicked) }); again.exited || again.panicked != nil {
			return fmt.Sprintf("panicked with a %T", a.panicked)
		}
		return "panicked: " + text
	}
	return ""
}

// An attempt is a call of a function, and how it failed.
type attempt struct {
	fn       func()
	panicked any
	exited   bool // it ended its goroutine
	done     chan struct{}
}

func attempted(fn func()) *attempt {
	a := &attempt{fn: fn, exited: true, done: make(chan struct{})}
	go a.run()
	<-a.done
	return a
}

func (a *attempt) run() {
	defer close(a.done)
	defer func() {
		if a.panicked = recover(); a.panicked != nil {
			a.exited = false
		}
	}()
	a.fn()
	a.exited = false
}

// nowhere is a fmt.State that keeps nothing.
type nowhere struct{}

func (nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (nowhere) Width() (int, bool)          { return 0, false }
func (nowhere) Precision() (int, bool)      { return 0, false }
func (nowhere) Flag(int) bool               { return false }

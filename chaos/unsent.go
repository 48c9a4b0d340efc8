package chaos

import "errors"

// unsent reports whether an error states that the callee was not reached, such as
// that of an HTTP request whose body cannot be sent again. Such a repetition does
// not count.
func unsent(err error) bool {
	var u interface{ Unsent() bool }
	return err != nil && errors.As(err, &u) && u.Unsent()
}

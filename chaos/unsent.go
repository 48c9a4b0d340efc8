package chaos

import "errors"

// unsent reports whether an error says that the callee was not reached, as that
// of an HTTP request does whose body cannot be sent again: such a repetition is
// none.
func unsent(err error) bool {
	var u interface{ Unsent() bool }
	return err != nil && errors.As(err, &u) && u.Unsent()
}

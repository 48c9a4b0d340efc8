package chaos

import "fmt"

// asked calls a method of a user's fault or trigger. One that panics is a
// problem of its rule, not of the program that makes a plan of it.
func asked(method string, do func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("its %s method panicked: %v", method, p)
		}
	}()
	do()
	return nil
}

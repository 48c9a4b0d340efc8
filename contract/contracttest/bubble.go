package contracttest

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/shakedown-go/shakedown/contract"
)

// bubble runs a cell in virtual time. When every goroutine of the bubble is
// blocked for good, or one is left when the cell has ended, synctest panics in
// the goroutine that made the bubble; that is the error, and the goroutines
// stay behind. The text of the panic is not an API: nothing depends on it.
// Package contract says which they are.
func bubble(t *testing.T) contract.Bubble {
	return func(run func()) (err error) {
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("%v", v)
			}
		}()
		synctest.Test(t, func(*testing.T) { run() })
		return nil
	}
}

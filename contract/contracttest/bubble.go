package contracttest

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/shakedown-go/shakedown/contract"
)

// bubble returns a function that runs a cell in virtual time. If every goroutine of
// the bubble is blocked forever, or one is left when the cell has ended, synctest
// panics on the goroutine that made the bubble. The function returns the panic as
// its error, and the goroutines stay behind. The text of the panic is not an API, so
// nothing depends on it; package contract names the goroutines itself.
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

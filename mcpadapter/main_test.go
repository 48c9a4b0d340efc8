package mcpadapter

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// asServer makes the test binary a server over standard input and output.
const asServer = "SHAKEDOWN_TEST_SERVE_STDIO"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		os.Exit(serveForTest())
	}
	goleak.VerifyTestMain(m)
}

func serveForTest() int {
	s := newShop(new(standIn))
	srv, err := NewServer(s.host, nil)
	if err == nil {
		err = srv.ServeStdio(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// standIn is a testing.TB outside a test.
type standIn struct{ testing.TB }

func (*standIn) Helper()                   {}
func (*standIn) Context() context.Context  { return context.Background() }
func (*standIn) Errorf(f string, a ...any) { fmt.Fprintf(os.Stderr, f+"\n", a...) }
func (*standIn) FailNow()                  { os.Exit(1) }

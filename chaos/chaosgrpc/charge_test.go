package chaosgrpc_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/invariant"
	"github.com/shakedown-go/shakedown/contract/search"
)

// An agent charges order 1042. It tries again, up to three times, after codes that its author takes for harmless.
func charging(conn *grpc.ClientConn, again ...codes.Code) contract.Agent {
	return func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
		for range 3 {
			err := ask1042(ctx, conn)
			if err == nil {
				return "Order 1042 was charged.", nil
			}
			retry := false
			for _, code := range again {
				retry = retry || status.Code(err) == code
			}
			if !retry {
				break
			}
			time.Sleep(time.Second)
		}
		return "I do not know whether order 1042 was charged.", nil
	}
}

func ask1042(ctx context.Context, conn *grpc.ClientConn) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return conn.Invoke(ctx, charge, wrapperspb.String("1042"), &wrapperspb.Int32Value{})
}

// chargesOnce is a matrix whose worlds have a till of their own: client, server and listener are made in the world and
// end with it, since they have goroutines, which belong to its virtual time.
func chargesOnce(again ...codes.Code) *contract.Matrix {
	return &contract.Matrix{
		Points:  []string{charge},
		Prompts: []string{"Charge order 1042."},
		Invariants: []contract.Invariant{
			invariant.AtMostOnce("one-charge", contract.Critical, func(s []string) []string { return s }),
		},
		Scenarios: []contract.Scenario{contract.Calm()},
		NewWorld: func(context.Context) (*contract.World, error) {
			shop := &till{}
			conn, stop, err := serve(shop)
			return &contract.World{Agent: charging(conn, again...), Close: func() error { stop(); return nil },
				State: func(context.Context) (any, error) { return append([]string{}, shop.charges...), nil }}, err
		},
	}
}

// A sweep finds that who tries again after Unavailable charges twice, since the code does not say that nothing was done;
// it blames the lost reply alone, and not a call that somebody executed twice: gRPC does not without being told.
func TestASweepFindsTheDoubleCharge(t *testing.T) {
	for _, c := range []struct {
		why   string
		again []codes.Code
		want  []string
	}{
		{"after Unavailable", []codes.Code{codes.Unavailable}, []string{charge + " does its work and its reply is lost"}},
		{"after all that may pass", []codes.Code{codes.Unavailable, codes.DeadlineExceeded, codes.Unknown}, []string{charge + " does its work and its reply is lost"}},
		{"after a deadline", []codes.Code{codes.DeadlineExceeded}, nil},
		{"never", nil, nil},
	} {
		t.Run(c.why, func(t *testing.T) {
			var swept *search.Swept
			synctest.Test(t, func(t *testing.T) {
				var err error
				swept, err = search.Sweep(t.Context(), chargesOnce(c.again...), &search.Options{Budget: search.Budget{Runs: 200}})
				require.NoError(t, err)
			})
			var found []string
			for _, d := range swept.Defects {
				found = append(found, d.Sentence)
				assert.NotContains(t, d.Facts, "it breaks alike with duplicate")
			}
			assert.Equal(t, c.want, found)
		})
	}
}

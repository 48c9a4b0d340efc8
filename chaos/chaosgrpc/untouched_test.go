package chaosgrpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaosgrpc"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// dialUnary has the interceptor, and in front of it one that has the call fill a reply of ours.
func dialUnary(i grpc.UnaryClientInterceptor, reply proto.Message) []grpc.DialOption {
	return []grpc.DialOption{grpc.WithChainUnaryInterceptor(
		func(ctx context.Context, method string, req, _ any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			return invoker(ctx, method, req, reply, cc, opts...)
		}, i)}
}

// around is what comes with a call besides its messages.
type around struct {
	Sent, Header, Trailer metadata.MD // the header's without its date
	Peer                  string
	Deadline              bool
	Encoding              []string
	Finished              []codes.Code
	Err                   string
}

// everythingAround makes a call of a kind and gives what came with it, at both sides.
func everythingAround(t *testing.T, s *shop, c pb.TestServiceClient, method string) (got around) {
	s.do = func(ctx context.Context) error {
		got.Sent, _ = metadata.FromIncomingContext(ctx)
		_, got.Deadline = ctx.Deadline()
		_ = grpc.SetHeader(ctx, metadata.Pairs("shop", "open"))
		_ = grpc.SetTrailer(ctx, metadata.Pairs("till", "7"))
		return status.Error(codes.NotFound, "no such order")
	}
	var from peer.Peer
	ctx := metadata.AppendToOutgoingContext(t.Context(), "tenant", "ann")
	_, err := ask(ctx, c, method, "a", grpc.Header(&got.Header), grpc.Trailer(&got.Trailer), grpc.Peer(&from),
		grpc.UseCompressor(gzip.Name), grpc.OnFinish(func(err error) { got.Finished = append(got.Finished, status.Code(err)) }))
	synctest.Wait()
	got.Err, got.Encoding = err.Error(), got.Sent.Get("grpc-accept-encoding")
	if from.Addr != nil {
		got.Peer = from.Addr.String()
	}
	return got
}

// Metadata, trailers, peer, deadline, compression and the status of a server are as without, whether a call is recorded,
// looked at by a rule, or delayed.
func TestUntouched(t *testing.T) {
	for _, method := range methods {
		var want around
		synctest.Test(t, func(t *testing.T) {
			s := &shop{}
			want = everythingAround(t, s, connect(t, s, nil), method)
		})
		require.Equal(t, []codes.Code{codes.NotFound}, want.Finished)
		require.Equal(t, []string{"ann"}, want.Sent.Get("tenant"))
		require.Equal(t, []string{"7"}, want.Trailer.Get("till"))
		for _, at := range []side{client, server} {
			for _, rules := range [][]chaos.Rule{nil, {{Name: "r", Target: "*", When: when.Nth(9), Fault: fault.Hang()}},
				{{Name: "r", Target: "*", Fault: fault.Delay(time.Second)}}} {
				synctest.Test(t, func(t *testing.T) {
					s := &shop{}
					assert.Equal(t, want, everythingAround(t, s, wrapped(t, s, at, injector(t, rules...)), method), "%s of %s, %v", at, method, rules)
				})
			}
		}
	}
}

// The caller of a lost reply gets nothing of what came with it, and is told the end once.
func TestNothingComesWithALostReply(t *testing.T) {
	for _, method := range methods {
		synctest.Test(t, func(t *testing.T) {
			s := &shop{}
			in := injector(t, chaos.Rule{Name: "r", Target: "*", Fault: fault.LoseReply()})
			got := everythingAround(t, s, wrapped(t, s, client, in), method)
			assert.Empty(t, got.Header)
			assert.Empty(t, got.Trailer)
			assert.Empty(t, got.Peer)
			assert.Equal(t, []codes.Code{codes.Unavailable}, got.Finished)
			assert.Equal(t, []string{"ann"}, got.Sent.Get("tenant"), "and it was sent")
		})
	}
}

// gRPC's own retries are below a client's interceptors and show at a server's, each as a call of its own.
func TestRetriesOfTheServiceConfig(t *testing.T) {
	const config = `{"methodConfig":[{"name":[{}],"retryPolicy":{"maxAttempts":3,"initialBackoff":"1s","maxBackoff":"1s",` +
		`"backoffMultiplier":1,"retryableStatusCodes":["UNAVAILABLE"]}}]}`
	fails := chaos.Rule{Name: "r", Target: unary, When: when.First(2), Fault: fault.Fail(fault.ErrUnavailable)}
	for at, want := range map[side]struct {
		code     codes.Code
		attempts []int
	}{
		server: {codes.OK, []int{1, 2, 3}},
		client: {codes.Unavailable, []int{1}},
	} {
		synctest.Test(t, func(t *testing.T) {
			in := injector(t, fails)
			o := &chaosgrpc.Options{Injector: in}
			opts := []grpc.DialOption{grpc.WithDefaultServiceConfig(config)}
			var served []grpc.ServerOption
			if at == server {
				served = append(served, grpc.UnaryInterceptor(chaosgrpc.UnaryServer(o)))
			} else {
				opts = append(opts, grpc.WithUnaryInterceptor(chaosgrpc.UnaryClient(o)))
			}
			_, err := ask(t.Context(), connect(t, &shop{}, served, opts...), unary, "a")
			assert.Equal(t, want.code, status.Code(err))
			var attempts []int
			for _, e := range in.Events() {
				attempts = append(attempts, e.Attempt)
			}
			assert.Equal(t, want.attempts, attempts)
		})
	}
}

// A panic passes through, with an event, at both sides.
func TestPanics(t *testing.T) {
	recovered := errors.New("recovered")
	for _, method := range methods {
		synctest.Test(t, func(t *testing.T) { // of a handler
			s := &shop{do: func(context.Context) error { panic("no till") }}
			in := injector(t, chaos.Rule{Name: "r", Target: "*", Fault: fault.Delay(time.Second)})
			o := &chaosgrpc.Options{Injector: in}
			c := connect(t, s, []grpc.ServerOption{
				grpc.ChainUnaryInterceptor(func(ctx context.Context, r any, _ *grpc.UnaryServerInfo, h grpc.UnaryHandler) (_ any, err error) {
					defer func() { recover(); err = recovered }()
					return h(ctx, r)
				}, chaosgrpc.UnaryServer(o)),
				grpc.ChainStreamInterceptor(func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, h grpc.StreamHandler) (err error) {
					defer func() { recover(); err = recovered }()
					return h(srv, ss)
				}, chaosgrpc.StreamServer(o)),
			})
			_, err := ask(t.Context(), c, method, "a")
			assert.Equal(t, codes.Unknown, status.Code(err))
			synctest.Wait()
			assert.Equal(t, chaos.OutcomePanicked, in.Events()[0].Outcome)
		})
		synctest.Test(t, func(t *testing.T) { // of a fault, where the caller is
			in := injector(t, chaos.Rule{Name: "r", Target: "*", Fault: fault.Panic("no wire")})
			c := wrapped(t, &shop{}, client, in)
			assert.PanicsWithValue(t, "no wire", func() { _, _ = ask(t.Context(), c, method, "a") })
			synctest.Wait()
			assert.Equal(t, chaos.OutcomePanicked, in.Events()[0].Outcome)
		})
	}
}

// Names tell the two sides of a call apart; errors of faults match as a status does, and ErrInjected.
func TestNamesAndErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := injector(t, chaos.Rule{Name: "r", Target: "till" + unary, Fault: fault.Timeout(0)})
		near, far := &chaosgrpc.Options{Name: "agent", Injector: in}, &chaosgrpc.Options{Name: "till", Injector: in}
		c := connect(t, &shop{}, []grpc.ServerOption{grpc.UnaryInterceptor(chaosgrpc.UnaryServer(far))}, grpc.WithUnaryInterceptor(chaosgrpc.UnaryClient(near)))
		_, err := ask(t.Context(), c, unary, "a")
		assert.Equal(t, codes.DeadlineExceeded, status.Code(err))
		var targets []string
		for _, e := range in.Events() {
			targets = append(targets, e.Target)
		}
		assert.ElementsMatch(t, []string{"till" + unary, "agent" + unary}, targets)
	})
	synctest.Test(t, func(t *testing.T) {
		in := injector(t, chaos.Rule{Name: "r", Target: "*", Fault: fault.Timeout(0)})
		_, err := ask(t.Context(), wrapped(t, &shop{}, client, in), unary, "a")
		assert.ErrorIs(t, err, chaos.ErrInjected)
		var made *chaos.InjectedError
		require.ErrorAs(t, err, &made)
		assert.Equal(t, "r", made.Rule)
		assert.NotErrorIs(t, err, context.DeadlineExceeded, "a status of gRPC does not match it")
		assert.ErrorIs(t, err, status.Error(codes.DeadlineExceeded, "i/o timeout"), "as statuses match")
		st, ok := status.FromError(err)
		assert.True(t, ok)
		assert.Equal(t, "i/o timeout", st.Message())
	})
}

// What comes with a reply is of the execution that gave it.
func TestHeadersAreThoseOfTheReply(t *testing.T) {
	for want, f := range map[string]chaos.Fault{"1": fault.Duplicate(), "2": fault.DeliverTwice()} {
		synctest.Test(t, func(t *testing.T) {
			n := 0
			s := &shop{do: func(ctx context.Context) error {
				n++
				return grpc.SetHeader(ctx, metadata.Pairs("execution", fmt.Sprint(n)))
			}}
			var header metadata.MD
			_, err := ask(t.Context(), wrapped(t, s, client, injector(t, chaos.Rule{Target: "*", Fault: f})), unary, "a", grpc.Header(&header))
			require.NoError(t, err)
			assert.Equal(t, []string{want}, header.Get("execution"))
			assert.Equal(t, 2, n)
		})
	}
}

// A stream whose reply was lost has no trailer, though the server sent one.
func TestNoTrailerOfALostStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shop{do: func(ctx context.Context) error { return grpc.SetTrailer(ctx, metadata.Pairs("till", "7")) }}
		for want, rules := range map[int][]chaos.Rule{1: nil, 0: {{Target: "*", Fault: fault.LoseReply()}}} {
			st, err := wrapped(t, s, client, injector(t, rules...)).StreamingOutputCall(t.Context(), &pb.StreamingOutputCallRequest{})
			require.NoError(t, err)
			_, err = st.Recv()
			assert.Error(t, err)
			assert.Len(t, st.Trailer().Get("till"), want)
		}
	})
}

// An injected error that a handler passes on from another point is its own, and no status of this one.
func TestAnInjectedErrorOfAHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := injector(t, chaos.Rule{Target: "stock", Fault: fault.Fail(fault.ErrUnavailable)})
		s := &shop{do: func(ctx context.Context) error { return chaos.Point(ctx, "stock") }}
		_, err := ask(t.Context(), wrapped(t, s, server, in), unary, "a")
		assert.Equal(t, codes.Unknown, status.Code(err), "as without the interceptor")
	})
}

// A call that passed and failed counts as the attempt before the next one.
func TestAttempts(t *testing.T) {
	for _, at := range []side{client, server} {
		synctest.Test(t, func(t *testing.T) {
			plan, err := chaos.NewPlan(7, chaos.Rule{Name: "by key", Target: "*", When: when.Prob(0), Fault: fault.Hang()},
				chaos.Rule{Name: "r", Target: "*", When: when.Nth(2), Fault: fault.Delay(time.Second)})
			require.NoError(t, err)
			in := plan.Injector("cell", nil)
			s := &shop{do: func(context.Context) error { return status.Error(codes.Aborted, "collision") }}
			c := wrapped(t, s, at, in)
			for range 2 {
				_, err := ask(t.Context(), c, unary, "a")
				assert.Equal(t, codes.Aborted, status.Code(err))
			}
			require.Len(t, in.Events(), 1)
			assert.Equal(t, 2, in.Events()[0].Attempt)
		})
	}
}

// Equal requests have equal keys, in whatever order their maps are encoded.
func TestKeysOfMaps(t *testing.T) {
	in := injector(t)
	call := chaosgrpc.UnaryClient(&chaosgrpc.Options{Injector: in})
	for range 20 {
		request, err := structpb.NewStruct(map[string]any{"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6})
		require.NoError(t, err)
		require.NoError(t, call(t.Context(), "/shop.Till/Total", request, &structpb.Struct{}, nil,
			func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return nil }))
	}
	for _, e := range in.Events() {
		assert.Equal(t, in.Events()[0].Key, e.Key)
	}
	assert.EqualValues(t, 19, in.Events()[19].Occurrence)
}

// A message of another codec is compared, replaced and refused by its Go type.
func TestAnotherCodec(t *testing.T) {
	type order struct{ ID int }
	for why, c := range map[string]struct {
		fault     chaos.Fault
		want      int
		delivered bool
	}{
		"replaced":              {fault.Replace(&order{9}), 9, true},
		"by JSON":               {fault.Replace(json.RawMessage(`{"ID":9}`)), 9, true},
		"equal":                 {fault.Replace(&order{7}), 7, false},
		"of another type":       {fault.Replace(&pb.Empty{}), 7, false},
		"without the callee":    {fault.SilentNoOpWith(&order{9}), 9, true},
		"nothing of the callee": {fault.SilentNoOpWith(nil), 0, true},
	} {
		t.Run(why, func(t *testing.T) {
			in := injector(t, chaos.Rule{Target: "*", Fault: c.fault})
			got := &order{}
			err := chaosgrpc.UnaryClient(&chaosgrpc.Options{Injector: in})(t.Context(), "/shop.Till/Order", &order{1}, got, nil,
				func(_ context.Context, _ string, _, reply any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
					reply.(*order).ID = 7
					return nil
				})
			require.NoError(t, err)
			assert.Equal(t, c.want, got.ID)
			assert.Equal(t, c.delivered, in.Events()[0].Delivered, "%+v", in.Events()[0])
			assert.NotZero(t, in.Events()[0].Key)
		})
	}
}

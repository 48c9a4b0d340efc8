package chaosgrpc_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaosgrpc"
	"github.com/shakedown-go/shakedown/chaos/fault"
)

// Closing the connection ends streams that nobody reads, as without the interceptor. The bubble fails if it does not.
func TestStreamsThatNobodyReadsEndWithTheConnection(t *testing.T) {
	for _, method := range []string{output, input, duplex} {
		t.Run(method, func(t *testing.T) {
			var open grpc.ClientStream
			synctest.Test(t, func(t *testing.T) {
				in := injector(t, chaos.Rule{Target: "*", Fault: fault.SlowItems(time.Second)})
				t.Cleanup(func() { // after the connection was closed
					synctest.Wait()
					assert.Equal(t, codes.Canceled, status.Code(open.RecvMsg(&pb.StreamingOutputCallResponse{})))
				})
				c, err := wrapped(t, &shop{}, client, in), error(nil)
				switch method {
				case output:
					open, err = c.StreamingOutputCall(context.Background(), &pb.StreamingOutputCallRequest{ResponseParameters: make([]*pb.ResponseParameters, 3)})
				case input:
					open, err = c.StreamingInputCall(context.Background())
				case duplex:
					open, err = c.FullDuplexCall(context.Background())
				}
				require.NoError(t, err)
			})
		})
	}
}

// A stream that a fault ended goes on in gRPC for a moment: nothing of that is read. The race detector looks on.
func TestAnEarlyEndAndOptionsThatAreGivenSomething(t *testing.T) {
	for range 20 {
		c := wrapped(t, &shop{}, client, injector(t, chaos.Rule{Target: "*", Fault: fault.EndAfter(1)}))
		var header, trailer metadata.MD
		got, err := ask(t.Context(), c, output, "x", grpc.Header(&header), grpc.Trailer(&trailer))
		require.NoError(t, err)
		assert.Equal(t, []string{"0"}, got)
		assert.Nil(t, trailer, "it had not come")
	}
}

// Whoever calls with a context that has ended gets its status with the fault as without.
func TestALostReplyOfACallWhoseContextHadEnded(t *testing.T) {
	for _, method := range []string{unary, output, input, duplex} {
		synctest.Test(t, func(t *testing.T) {
			in := injector(t, chaos.Rule{Target: "*", Fault: fault.LoseReply()})
			c := wrapped(t, &shop{}, client, in)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, want := ask(ctx, wrapped(t, &shop{}, client, nil), method, "x")
			_, err := ask(ctx, c, method, "x")
			assert.Equal(t, want.Error(), err.Error(), method)
			assert.Equal(t, codes.Canceled, status.Code(err))
			require.Len(t, in.Events(), 1)
			assert.False(t, in.Events()[0].Delivered, method)
		})
	}
}

// nothing is a handler that returns no message, which gRPC sends as an empty one.
var nothing = grpc.ServiceDesc{ServiceName: "grpc.testing.TestService", HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{{MethodName: "UnaryCall",
	Handler: func(_ any, ctx context.Context, dec func(any) error, i grpc.UnaryServerInterceptor) (any, error) {
		r := &pb.SimpleRequest{}
		if err := dec(r); err != nil {
			return nil, err
		}
		handler := func(context.Context, any) (any, error) { return nil, nil }
		if i == nil {
			return handler(ctx, r)
		}
		return i(ctx, r, &grpc.UnaryServerInfo{FullMethod: unary}, handler)
	}}}}

func TestNoMessageAtAll(t *testing.T) {
	same := fault.Mutate("nothing", func(r *pb.SimpleResponse) *pb.SimpleResponse { return r })
	for name, row := range map[string]struct {
		at        side
		f         chaos.Fault
		reply     any
		code      codes.Code
		delivered bool
	}{
		"the server's, replaced by an empty one":  {server, fault.Replace(&pb.SimpleResponse{}), &pb.SimpleResponse{}, codes.OK, false},
		"the server's, by one with something":     {server, fault.Replace(&pb.SimpleResponse{Username: "b"}), &pb.SimpleResponse{}, codes.OK, true},
		"the server's, handed on as it is":        {server, same, &pb.SimpleResponse{}, codes.OK, false},
		"the client has none to receive into":     {client, fault.Duplicate(), nil, codes.Internal, true},
		"the same, and a fault that would change": {client, fault.Replace(&pb.SimpleResponse{}), nil, codes.Internal, false},
	} {
		t.Run(name, func(t *testing.T) {
			in := injector(t, chaos.Rule{Target: "*", Fault: row.f})
			o := &chaosgrpc.Options{Injector: in}
			var opts []grpc.ServerOption
			dial := []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}
			if row.at == server {
				opts = append(opts, grpc.UnaryInterceptor(chaosgrpc.UnaryServer(o)))
			} else {
				dial = append(dial, grpc.WithUnaryInterceptor(chaosgrpc.UnaryClient(o)))
			}
			lis, srv := bufconn.Listen(1<<16), grpc.NewServer(opts...)
			srv.RegisterService(&nothing, nil)
			served := make(chan error, 1)
			go func() { served <- srv.Serve(lis) }()
			cc, err := grpc.NewClient("passthrough:///none", append(dial,
				grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))...)
			require.NoError(t, err)
			defer func() { _ = cc.Close(); srv.Stop(); <-served }()
			err = cc.Invoke(t.Context(), unary, &pb.SimpleRequest{}, row.reply)
			assert.Equal(t, row.code, status.Code(err), fmt.Sprint(err))
			require.Len(t, in.Events(), 1)
			assert.Equal(t, row.delivered, in.Events()[0].Delivered, in.Events()[0].Note)
		})
	}
}

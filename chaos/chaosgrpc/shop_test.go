package chaosgrpc_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/test/bufconn"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaosgrpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The methods of the service, one a kind.
const (
	unary  = pb.TestService_UnaryCall_FullMethodName
	output = pb.TestService_StreamingOutputCall_FullMethodName // the server sends several messages
	input  = pb.TestService_StreamingInputCall_FullMethodName  // the client does
	duplex = pb.TestService_FullDuplexCall_FullMethodName      // both do
)

// shop is a service that writes down what reaches it.
type shop struct {
	pb.UnimplementedTestServiceServer
	mu    sync.Mutex
	calls []string                    // what handlers got, in order
	ended []error                     // of the contexts of streaming handlers as they returned
	do    func(context.Context) error // before a handler answers; nil: nothing
}

func (s *shop) got(ctx context.Context, format string, args ...any) error {
	s.mu.Lock()
	s.calls = append(s.calls, fmt.Sprintf(format, args...))
	do := s.do
	s.mu.Unlock()
	if do != nil {
		return do(ctx)
	}
	return nil
}

// seen is what handlers got so far.
func (s *shop) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.calls...)
}

func text(s string) *pb.Payload { return &pb.Payload{Body: []byte(s)} }

func (s *shop) UnaryCall(ctx context.Context, r *pb.SimpleRequest) (*pb.SimpleResponse, error) {
	if err := s.got(ctx, "unary %s", r.GetPayload().GetBody()); err != nil {
		return nil, err
	}
	return &pb.SimpleResponse{Username: "ann", Payload: text("re: " + string(r.GetPayload().GetBody()))}, nil
}

func (s *shop) StreamingOutputCall(r *pb.StreamingOutputCallRequest, out grpc.ServerStreamingServer[pb.StreamingOutputCallResponse]) error {
	defer func() { s.mu.Lock(); s.ended = append(s.ended, out.Context().Err()); s.mu.Unlock() }()
	if err := s.got(out.Context(), "output %s", r.GetPayload().GetBody()); err != nil {
		return err
	}
	for i := range r.GetResponseParameters() {
		if err := out.Send(&pb.StreamingOutputCallResponse{Payload: text(fmt.Sprint(i))}); err != nil {
			<-out.Context().Done() // a handler that waits for others ends all the same
			return err
		}
	}
	return nil
}

func (s *shop) StreamingInputCall(in grpc.ClientStreamingServer[pb.StreamingInputCallRequest, pb.StreamingInputCallResponse]) error {
	size, all := 0, ""
	for {
		r, err := in.Recv()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		all += string(r.GetPayload().GetBody())
		size++
	}
	if err := s.got(in.Context(), "input %s", all); err != nil {
		return err
	}
	return in.SendAndClose(&pb.StreamingInputCallResponse{AggregatedPayloadSize: int32(size)})
}

func (s *shop) FullDuplexCall(both grpc.BidiStreamingServer[pb.StreamingOutputCallRequest, pb.StreamingOutputCallResponse]) error {
	for {
		r, err := both.Recv()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.got(both.Context(), "duplex %s", r.GetPayload().GetBody()); err != nil {
			return err
		}
		if err := both.Send(&pb.StreamingOutputCallResponse{Payload: r.GetPayload()}); err != nil {
			return err
		}
	}
}

// sides are where the injector is.
type side string

const (
	client side = "client"
	server side = "server"
)

// connect serves a shop over a buffered listener, in a bubble or outside, until the test ends.
func connect(t testing.TB, s *shop, serverOpts []grpc.ServerOption, opts ...grpc.DialOption) pb.TestServiceClient {
	lis := bufconn.Listen(1 << 16)
	srv := grpc.NewServer(serverOpts...)
	pb.RegisterTestServiceServer(srv, s)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(lis) }()
	cc, err := grpc.NewClient("passthrough:///shop", append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }),
	}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = cc.Close()
		srv.Stop()
		if err := <-served; err != grpc.ErrServerStopped { // before it served: a call of a context that had ended waits for nothing
			require.NoError(t, err)
		}
	})
	return pb.NewTestServiceClient(cc)
}

// wrapped is connect with the points of one side bound to an injector.
func wrapped(t testing.TB, s *shop, at side, in *chaos.Injector) pb.TestServiceClient {
	o := &chaosgrpc.Options{Injector: in}
	if at == server {
		return connect(t, s, []grpc.ServerOption{grpc.UnaryInterceptor(chaosgrpc.UnaryServer(o)), grpc.StreamInterceptor(chaosgrpc.StreamServer(o))})
	}
	return connect(t, s, nil, grpc.WithUnaryInterceptor(chaosgrpc.UnaryClient(o)), grpc.WithStreamInterceptor(chaosgrpc.StreamClient(o)))
}

func injector(t testing.TB, rules ...chaos.Rule) *chaos.Injector {
	plan, err := chaos.NewPlan(7, rules...)
	require.NoError(t, err)
	return plan.Injector("cell", &chaos.InjectorOptions{RecordAll: true})
}

// ask makes one call of a kind, with three messages where there are several, and gives what came until its end.
func ask(ctx context.Context, c pb.TestServiceClient, method, what string, opts ...grpc.CallOption) (got []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	switch method {
	case unary:
		r, err := c.UnaryCall(ctx, &pb.SimpleRequest{Payload: text(what)}, opts...)
		if err == nil {
			got = []string{string(r.GetPayload().GetBody())}
		}
		return got, err
	case output:
		st, err := c.StreamingOutputCall(ctx, &pb.StreamingOutputCallRequest{Payload: text(what),
			ResponseParameters: make([]*pb.ResponseParameters, 3)}, opts...)
		if err != nil {
			return nil, err
		}
		return all(st.Recv)
	case input:
		st, err := c.StreamingInputCall(ctx, opts...)
		if err != nil {
			return nil, err
		}
		for range 3 {
			if err := st.Send(&pb.StreamingInputCallRequest{Payload: text(what)}); err != nil {
				break // CloseAndRecv says why
			}
		}
		r, err := st.CloseAndRecv()
		if err == nil {
			got = []string{fmt.Sprint(r.GetAggregatedPayloadSize())}
		}
		return got, err
	}
	st, err := c.FullDuplexCall(ctx, opts...)
	if err != nil {
		return nil, err
	}
	for i := range 3 {
		if err := st.Send(&pb.StreamingOutputCallRequest{Payload: text(fmt.Sprint(what, i))}); err != nil {
			break
		}
	}
	if err := st.CloseSend(); err != nil {
		return nil, err
	}
	return all(st.Recv)
}

func all(recv func() (*pb.StreamingOutputCallResponse, error)) (got []string, err error) {
	for {
		r, err := recv()
		if err == io.EOF {
			return got, nil
		}
		if err != nil {
			return got, err
		}
		got = append(got, string(r.GetPayload().GetBody()))
	}
}

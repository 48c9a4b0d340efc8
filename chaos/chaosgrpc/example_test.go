package chaosgrpc_test

import (
	"context"
	"fmt"
	"log"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaosgrpc"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// till charges orders. Its service has one method, which gives the number of the charge.
type till struct{ charges []string }

func (t *till) charge(_ context.Context, order *wrapperspb.StringValue) (*wrapperspb.Int32Value, error) {
	t.charges = append(t.charges, order.GetValue())
	return wrapperspb.Int32(int32(len(t.charges))), nil
}

const charge = "/shop.Till/Charge"

// service is what protoc-gen-go-grpc would generate.
var service = grpc.ServiceDesc{ServiceName: "shop.Till", HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{{MethodName: "Charge",
	Handler: func(srv any, ctx context.Context, dec func(any) error, i grpc.UnaryServerInterceptor) (any, error) {
		order := &wrapperspb.StringValue{}
		if err := dec(order); err != nil {
			return nil, err
		}
		handler := func(ctx context.Context, order any) (any, error) {
			return srv.(*till).charge(ctx, order.(*wrapperspb.StringValue))
		}
		if i == nil {
			return handler(ctx, order)
		}
		return i(ctx, order, &grpc.UnaryServerInfo{Server: srv, FullMethod: charge}, handler)
	}}}}

// serve starts a till over a buffered listener, without a network, and connects to it.
func serve(t *till) (*grpc.ClientConn, func(), error) {
	listener := bufconn.Listen(1 << 16)
	server := grpc.NewServer()
	server.RegisterService(&service, t)
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	conn, err := grpc.NewClient("passthrough:///till", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
		grpc.WithChainUnaryInterceptor(chaosgrpc.UnaryClient(nil)), grpc.WithChainStreamInterceptor(chaosgrpc.StreamClient(nil)))
	return conn, func() { _ = conn.Close(); server.Stop(); <-done }, err
}

// A client retries what was unavailable. The till did its work, and the reply was lost: it charges twice.
func Example() {
	shop := &till{}
	conn, stop, err := serve(shop)
	if err != nil {
		log.Fatal(err)
	}
	defer stop()
	plan, err := chaos.NewPlan(42,
		chaos.Rule{Name: "lost", Target: "/shop.Till/*", When: when.Nth(1), Fault: fault.LoseReplyAfter(0)},
	)
	if err != nil {
		log.Fatal(err)
	}
	in := plan.Injector("example", nil)
	ctx, cancel := context.WithTimeout(chaos.NewContext(context.Background(), in), time.Minute)
	defer cancel()

	for {
		number := &wrapperspb.Int32Value{}
		err := conn.Invoke(ctx, charge, wrapperspb.String("1042"), number)
		fmt.Println(status.Code(err), number.GetValue())
		if status.Code(err) != codes.Unavailable {
			break
		}
	}
	fmt.Println(shop.charges)
	for _, e := range in.Events() {
		fmt.Println(e.Target, e.Fault, e.Delivered)
	}
	// Output:
	// Unavailable 0
	// OK 2
	// [1042 1042]
	// /shop.Till/Charge lost_reply true
}

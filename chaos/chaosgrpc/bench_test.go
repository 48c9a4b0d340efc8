package chaosgrpc_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"google.golang.org/grpc"
	pb "google.golang.org/grpc/interop/grpc_testing"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaosgrpc"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// doors are calls through the four interceptors to a callee that does nothing.
func doors(o *chaosgrpc.Options) map[string]func(context.Context) {
	request, reply := &pb.SimpleRequest{ResponseSize: 7, Payload: text("an order")}, &pb.SimpleResponse{}
	invoke := func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return nil }
	handle := func(context.Context, any) (any, error) { return reply, nil }
	open := func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption) (grpc.ClientStream, error) {
		return quietStream{}, nil
	}
	serve := func(any, grpc.ServerStream) error { return nil }
	unaryClient, streamClient := chaosgrpc.UnaryClient(o), chaosgrpc.StreamClient(o)
	unaryServer, streamServer := chaosgrpc.UnaryServer(o), chaosgrpc.StreamServer(o)
	info, streamInfo := &grpc.UnaryServerInfo{FullMethod: unary}, &grpc.StreamServerInfo{FullMethod: duplex, IsClientStream: true, IsServerStream: true}
	desc, one := &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, &grpc.StreamDesc{ServerStreams: true}
	return map[string]func(context.Context){
		"unary client":  func(ctx context.Context) { _ = unaryClient(ctx, unary, request, reply, nil, invoke) },
		"unary server":  func(ctx context.Context) { _, _ = unaryServer(ctx, request, info, handle) },
		"stream client": func(ctx context.Context) { _, _ = streamClient(ctx, desc, nil, duplex, open) },
		"stream server": func(ctx context.Context) { _ = streamServer(nil, quietServer{ctx: ctx}, streamInfo, serve) },
		"stream client, one request": func(ctx context.Context) {
			st, _ := streamClient(ctx, one, nil, output, open)
			_ = st.SendMsg(request)
		},
	}
}

type quietStream struct{ grpc.ClientStream }

func (quietStream) SendMsg(any) error { return nil }

type quietServer struct {
	grpc.ServerStream
	ctx context.Context
}

func (s quietServer) Context() context.Context { return s.ctx }

// looks are the rules of calls on which none acts.
var looks = map[string][]chaos.Rule{
	"no rule for it":  {{Target: "tools.*", Fault: fault.Hang()}},
	"never by chance": {{Target: "*", When: when.Prob(0), Fault: fault.Hang()}},
	"never by number": {{Target: "*", When: when.Nth(1 << 40), Fault: fault.Hang()}},
}

// Calls that no rule acts on allocate nothing, but for a stream whose one request is awaited.
func TestAllocations(t *testing.T) {
	for _, o := range []*chaosgrpc.Options{nil, {Name: "till"}} {
		for why, rules := range looks {
			plan, _ := chaos.NewPlan(7, rules...)
			ctx := chaos.NewContext(t.Context(), plan.Injector("cell", nil))
			bare := doors(nil)
			for door, call := range doors(o) {
				t.Run(fmt.Sprint(why, " ", door, " ", o != nil), func(t *testing.T) {
					want := testing.AllocsPerRun(200, func() { bare[door](context.Background()) })
					if door == "stream client, one request" && why != "no rule for it" {
						want++ // the stream before its request
					}
					assert.Equal(t, want, testing.AllocsPerRun(200, func() { call(ctx) }))
				})
			}
		}
	}
}

// BenchmarkUnary: a call of a client that is answered at once, behind an interceptor by hand, and behind points on which
// no rule acts.
func BenchmarkUnary(b *testing.B) {
	request, reply := &pb.SimpleRequest{ResponseSize: 7, Payload: text("an order")}, &pb.SimpleResponse{}
	invoke := func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return nil }
	measure := func(name string, i grpc.UnaryClientInterceptor, rules ...chaos.Rule) {
		b.Run(name, func(b *testing.B) {
			ctx := context.WithValue(context.Background(), handKey{}, func(string) error { return nil })
			if rules != nil {
				plan, _ := chaos.NewPlan(7, rules...)
				ctx = chaos.NewContext(ctx, plan.Injector("cell", nil))
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := i(ctx, unary, request, reply, nil, invoke); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	measure("by hand", byHand)
	measure("inert", chaosgrpc.UnaryClient(nil))
	measure("no rule for it", chaosgrpc.UnaryClient(nil), looks["no rule for it"]...)
	measure("drawn", chaosgrpc.UnaryClient(nil), looks["never by chance"]...)
}

type handKey struct{}

// byHand is the interceptor that one would write by hand: it looks for something in the context.
func byHand(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if fail, ok := ctx.Value(handKey{}).(func(string) error); ok {
		if err := fail(method); err != nil {
			return err
		}
	}
	return invoker(ctx, method, req, reply, cc, opts...)
}

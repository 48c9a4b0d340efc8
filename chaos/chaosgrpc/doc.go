// Package chaosgrpc makes injection points of the calls of gRPC clients and servers.
//
//	conn, err := grpc.NewClient(target, credentials, // once, in the program
//		grpc.WithChainUnaryInterceptor(chaosgrpc.UnaryClient(nil)),
//		grpc.WithChainStreamInterceptor(chaosgrpc.StreamClient(nil)))
//
//	plan, err := chaos.NewPlan(42, // in the test
//		chaos.Rule{Target: "/shop.Payments/Charge", When: when.Nth(1), Fault: fault.LoseReply()},
//		chaos.Rule{Target: "/shop.Orders/*", Fault: chaosgrpc.Status(codes.ResourceExhausted, "quota")},
//	)
//	reply, err := payments.Charge(chaos.NewContext(ctx, plan.Injector("my test", nil)), request)
//
// A call finds its injector in its context; without one it goes straight on. A server is bound to one, by [Options].
//
// # The points
//
// The target of a call is its full method name, with its slash. [Options].Name comes before it. Arguments and results
// are a [*Message]; the key of a call is a hash of its request. A unary call has layer grpc.
//
// A streaming call is one call, too, of layer stream: its items are the messages of the server. A failure ends its
// opening, a wait is before it. Where the client sends one request, that is the argument, and the call begins when it
// is sent. Where it sends several there are no arguments, and what it sends is not changed.
//
// # Statuses
//
// What a fault fails is a status for its caller, and nothing else can be matched but [chaos.ErrInjected]. An error that
// is a status stays what it is. Those of package fault have the code that a real one has: what waits ends as
// DeadlineExceeded, what breaks or is refused as Unavailable. A lost reply is Unavailable unless the caller's deadline
// ends first, since that is how a client of gRPC learns of it. Other errors are Unknown, as of a handler.
//
// # Faults
//
// All faults of package fault act here, and those of package lies on messages. This package adds [Status] and [GoAway].
// On streams, messages that arrive twice, in another order, late or not at all are [fault.DuplicateItem],
// [fault.ReorderItems], [fault.SlowFirstItem], [fault.EndAfter] and [fault.CutAfter].
//
// A reply that a fault replaces is copied into the caller's. One of another type is refused, as the event says.
//
// # What gRPC does by itself
//
// A client's retries and its waiting for a connection are behind its interceptors: a fault there is what the caller
// sees in the end. At a server each retry of a client is a call of its own, with its own [chaos.Event].Attempt.
// Metadata, deadlines, peers, trailers and compression pass unchanged. A server cannot have a stream of requests again,
// so such a call is not executed twice there; a client sends up to a thousand again.
//
// # Virtual time
//
// Client and server have goroutines. Make and close both in the world of a cell, over a listener in memory
// (google.golang.org/grpc/test/bufconn): see the example.
//
// Stability: may change.
package chaosgrpc

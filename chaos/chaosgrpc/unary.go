package chaosgrpc

import (
	"context"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/shakedown-go/shakedown/chaos"
)

func (p *points) unaryClient(ctx context.Context, method string, request, reply any, cc *grpc.ClientConn,
	invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	in, target := p.point(ctx, method)
	if in == nil {
		return invoker(ctx, method, request, reply, cc, opts...)
	}
	x := p.arrive(ctx, in, target, chaos.LayerGRPC, request)
	if x.PassesThrough() {
		return x.ended(invoker(ctx, method, request, reply, cc, opts...))
	}
	var made []*execution
	out, err, injected := cross(ctx, x, request, func() any { return reply },
		func(ctx context.Context, request any, late bool) (*Message, error) {
			by, own := newExecution(opts), empty(reply) // the caller's is filled by what it gets
			if !late {
				made = append(made, by)
			}
			return &Message{own, by}, by.failed(ctx, invoker(ctx, method, request, own, cc, by.opts...))
		})
	if len(made) > 0 && !injected {
		by := made[len(made)-1]
		if out != nil && slices.Contains(made, out.by) {
			by = out.by
		}
		err = by.said(err)
		by.give()
	}
	if err == nil {
		err = assign(reply, out.Value)
	}
	finished(opts, err)
	return err
}

func (p *points) unaryServer(ctx context.Context, request any, info *grpc.UnaryServerInfo,
	handler grpc.UnaryHandler) (any, error) {
	in, target := p.point(ctx, info.FullMethod)
	if in == nil {
		return handler(ctx, request)
	}
	x := p.arrive(ctx, in, target, chaos.LayerGRPC, request)
	if x.PassesThrough() {
		reply, err := handler(ctx, request)
		return reply, x.ended(err)
	}
	_, last := typesOf(info.FullMethod)
	out, err, _ := cross(ctx, x, request, func() any { return last },
		func(ctx context.Context, request any, late bool) (*Message, error) {
			reply, err := handler(ctx, request)
			if reply == nil { // which gRPC sends as an empty message
				_, reply = typesOf(info.FullMethod)
			}
			if !late && reply != nil {
				last = reply
			}
			return &Message{Value: reply}, err
		})
	if err != nil {
		return nil, err
	}
	return out.Value, nil
}

// cross takes a call with one request and one reply through its rules. like is a message of the type of the reply, nil
// if that is not known. do asks the callee, possibly several times; late: from within a later call, and perhaps beside
// this one. injected reports whether a fault made the error.
func cross(ctx context.Context, x arrival, request any, like func() any,
	do func(ctx context.Context, request any, late bool) (*Message, error)) (out *Message, err error, injected bool) {
	reached := false
	own := &reached
	out, err = chaos.WrapWith(x.target, func(ctx context.Context, m *Message) (*Message, error) {
		m, err := box(m, request)
		if err != nil {
			return nil, err
		}
		late := ctx.Value(ownCall{}) != any(own)
		if !late {
			reached = true
		}
		if m, err = do(ctx, m.Value, late); err != nil {
			return nil, err
		}
		return m, nil
	}, &chaos.WrapOptions[*Message]{Crossing: &x.Crossing, Fit: func(v any) (any, error) { return box(v, like()) }})(
		context.WithValue(ctx, ownCall{}, own), &Message{Value: request})
	err, injected = seen(err, x.target, reached)
	return out, err, injected
}

// ownCall is the key of a context's value that says of which call it is.
type ownCall struct{}

// execution is one of the times that a client's call is sent. What its options are given reaches the caller only with
// what else comes of it.
type execution struct {
	opts  []grpc.CallOption
	gives []func()
	over  bool  // of a stream: gRPC has ended it, and writes to nothing any more
	left  bool  // of a stream: faults want no more of it, while its caller still gets what they kept
	ended error // the status of gRPC for the end of the context; nil: it ended otherwise
}

// failed is the error of the call for faults: the context's own where that ended it, so that a fault which only waits
// for that end is not taken for its reason.
func (e *execution) failed(ctx context.Context, err error) error {
	end := ctx.Err()
	if err == nil || end == nil || status.Code(err) != status.FromContextError(end).Code() {
		return err
	}
	e.ended = err
	return end
}

// said is the error of the call for its caller.
func (e *execution) said(err error) error {
	if e.ended != nil && (err == context.Canceled || err == context.DeadlineExceeded) {
		return e.ended
	}
	return err
}

func newExecution(opts []grpc.CallOption) *execution {
	e := &execution{opts: slices.Clone(opts)}
	for i, o := range opts {
		switch o := o.(type) {
		case grpc.HeaderCallOption:
			var md metadata.MD
			e.opts[i], e.gives = grpc.Header(&md), append(e.gives, func() { *o.HeaderAddr = md })
		case grpc.TrailerCallOption:
			var md metadata.MD
			e.opts[i], e.gives = grpc.Trailer(&md), append(e.gives, func() { *o.TrailerAddr = md })
		case grpc.PeerCallOption:
			var from peer.Peer
			e.opts[i], e.gives = grpc.Peer(&from), append(e.gives, func() { *o.PeerAddr = from })
		case grpc.OnFinishCallOption: // for finished
			e.opts[i] = grpc.EmptyCallOption{}
		}
	}
	return e
}

func (e *execution) give() {
	for _, give := range e.gives {
		give()
	}
}

// finished tells those that want to know it how a call ended.
func finished(opts []grpc.CallOption, err error) {
	for _, o := range opts {
		if o, ok := o.(grpc.OnFinishCallOption); ok {
			o.OnFinish(err)
		}
	}
}

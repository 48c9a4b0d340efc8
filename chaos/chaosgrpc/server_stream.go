package chaosgrpc

import (
	"context"
	"io"
	"iter"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/shakedown-go/shakedown/chaos"
)

func (p *points) streamServer(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo,
	handler grpc.StreamHandler) error {
	in, target := p.point(ss.Context(), info.FullMethod)
	if in == nil {
		return handler(srv, ss)
	}
	var request any
	if !info.IsClientStream { // its one request says which faults the call meets
		if request, _ = typesOf(info.FullMethod); request != nil {
			if err := ss.RecvMsg(request); err != nil {
				return err
			}
		}
	}
	x := p.arrive(ss.Context(), in, target, chaos.LayerStream, request)
	if x.PassesThrough() {
		if request != nil {
			ss = &serverStream{ServerStream: ss, ctx: ss.Context(), request: request}
		}
		return x.ended(handler(srv, ss))
	}
	c := &servedCall{ss: ss, info: info, handle: func(s grpc.ServerStream) error { return handler(srv, s) }}
	_, c.last = typesOf(info.FullMethod)
	return c.cross(x, request)
}

// servedCall is a streaming call of a server on which faults act, or which is recorded.
type servedCall struct {
	ss      grpc.ServerStream
	info    *grpc.StreamServerInfo
	handle  func(grpc.ServerStream) error
	last    any   // what the handler sent last, or an empty message; nil: the type is not known
	reached bool  // the handler was asked
	failed  error // its last error
}

// cross takes the call through its rules.
func (c *servedCall) cross(x arrival, request any) error {
	items := chaos.WrapStreamWith(x.target, c.source, &chaos.WrapOptions[*Message]{Crossing: &x.Crossing,
		Fit: func(v any) (any, error) { return box(v, c.last) }})
	gone := false
	for m, err := range items(context.WithValue(c.ss.Context(), ownCall{}, c), &Message{Value: request}) {
		if err != nil {
			err, _ = seen(err, x.target, c.reached)
			return err
		}
		if gone = c.ss.SendMsg(m.Value) != nil; gone {
			break
		}
	}
	if gone {
		return c.failed
	}
	return nil
}

// source asks the handler and yields what it sends.
func (c *servedCall) source(ctx context.Context, request *Message) iter.Seq2[*Message, error] {
	return func(yield func(*Message, error) bool) {
		late := ctx.Value(ownCall{}) != any(c)
		if (late || c.reached) && c.info.IsClientStream {
			yield(nil, errNotAgain{})
			return
		}
		c := c
		if late {
			c = &servedCall{ss: c.ss, info: c.info, handle: c.handle}
		}
		c.reached = true
		s := &serverStream{ServerStream: c.ss, call: c, yield: yield, request: request.Value}
		s.turn = make(chan struct{}, 1)
		s.ctx, s.cancel = context.WithCancel(ctx)
		defer s.cancel()
		err := c.handle(s)
		s.turn <- struct{}{}
		defer func() { <-s.turn }()
		if c.failed = err; err != nil && !s.over {
			yield(nil, err)
		}
		s.over = true
	}
}

// serverStream is what the handler of a streaming call is given.
type serverStream struct {
	grpc.ServerStream
	ctx      context.Context
	request  any // which was received before the call began; nil: none was
	received bool

	call   *servedCall                // nil: no fault acts on what is sent
	yield  func(*Message, error) bool // of call
	cancel context.CancelFunc
	turn   chan struct{} // has an element while somebody is at over; see clientStream
	over   bool          // nobody wants more
}

// Context is that of the call, for what the handler calls.
func (s *serverStream) Context() context.Context { return s.ctx }

// RecvMsg receives a message of the client.
func (s *serverStream) RecvMsg(m any) error {
	switch {
	case s.request == nil:
		return s.ServerStream.RecvMsg(m)
	case s.received:
		return io.EOF
	}
	s.received = true
	return assign(m, s.request)
}

// SendMsg sends a message to the client.
func (s *serverStream) SendMsg(m any) error {
	if s.call == nil {
		return s.ServerStream.SendMsg(m)
	}
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if !s.over {
		s.call.last = m
		s.over = !s.yield(&Message{Value: m}, nil)
	}
	if s.over {
		s.cancel()
		return status.Error(codes.Unavailable, "transport is closing")
	}
	return nil
}

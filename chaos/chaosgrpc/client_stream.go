package chaosgrpc

import (
	"context"
	"io"
	"iter"
	"slices"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/shakedown-go/shakedown/chaos"
)

// streamCall is a streaming call of a client, before it begins.
type streamCall struct {
	points   *points
	ctx      context.Context
	in       *chaos.Injector
	target   string
	desc     *grpc.StreamDesc
	cc       *grpc.ClientConn
	method   string
	streamer grpc.Streamer
	opts     []grpc.CallOption
}

func (p *points) streamClient(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string,
	streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	in, target := p.point(ctx, method)
	if in == nil {
		return streamer(ctx, desc, cc, method, opts...)
	}
	c := streamCall{p, ctx, in, target, desc, cc, method, streamer, opts}
	if desc.ClientStreams {
		return c.begin(nil)
	}
	s := &laterStream{none: unopened{ctx}, call: c}
	s.ClientStream = &s.none
	return s, nil
}

// begin begins the call, with its only request, or nil: there will be several.
func (c streamCall) begin(request any) (grpc.ClientStream, error) {
	x := c.points.arrive(c.ctx, c.in, c.target, chaos.LayerStream, request)
	if !x.PassesThrough() {
		return newClientStream(c, x, request)
	}
	base, err := c.open(c.ctx, c.opts)
	x.ended(err)
	if err == nil && request != nil {
		err = base.SendMsg(request)
	}
	return base, err
}

func (c *streamCall) open(ctx context.Context, opts []grpc.CallOption) (grpc.ClientStream, error) {
	return c.streamer(ctx, c.desc, c.cc, c.method, opts...)
}

// laterStream is a stream that opens when its one request is sent, since that says which faults the call meets.
type laterStream struct {
	grpc.ClientStream
	none unopened
	call streamCall
}

// SendMsg sends the request.
func (s *laterStream) SendMsg(m any) error {
	opened, err := s.call.begin(m)
	if opened != nil {
		s.ClientStream = opened
	}
	return err
}

// unopened is a stream of which the server knows nothing.
type unopened struct{ ctx context.Context }

func (unopened) Header() (metadata.MD, error) { return nil, nil }
func (unopened) Trailer() metadata.MD         { return nil }
func (unopened) CloseSend() error             { return nil }
func (unopened) SendMsg(any) error            { return nil }
func (unopened) RecvMsg(any) error            { return status.Error(codes.Internal, "the request was not sent") }
func (u unopened) Context() context.Context   { return u.ctx }

// clientStream is a streaming call on which faults act, or which is recorded. What the server sends is a stream of a
// coroutine, which stands still while nothing is received.
type clientStream struct {
	grpc.ClientStream // that of the first execution, or unopened
	streamCall
	x       arrival
	by      *execution      // the first; nil: there was none
	suspend func(step) bool // stands still, in the coroutine
	next    func() (step, bool)
	stop    func()
	detach  func() bool // from the context

	turn  chan struct{} // full while somebody is at what follows; in a bubble who waits for it lets time pass
	ahead []step        // from before the stream was opened
	into  any           // what was last received into
	ended error         // nil: it goes on; io.EOF: well
	cut   bool          // a fault ended it

	mu   sync.Mutex // guards sent
	sent []any      // the first maxSent
}

// step is why the coroutine stands still: a message or an error, or the stream was opened.
type step struct {
	message *Message
	err     error
	opened  bool
}

// maxSent bounds the messages of a client that are kept to send them again.
const maxSent = 1000

// errNotAgain is the error of a further execution whose requests cannot be had again.
type errNotAgain struct{}

func (errNotAgain) Error() string { return "the requests of this call cannot be had again" }
func (errNotAgain) Unsent() bool  { return true }

// newClientStream begins a call; it returns when the stream is open, or why it is not.
func newClientStream(c streamCall, x arrival, request any) (grpc.ClientStream, error) {
	s := &clientStream{ClientStream: unopened{c.ctx}, streamCall: c, x: x, turn: make(chan struct{}, 1)}
	s.next, s.stop = iter.Pull(func(yield func(step) bool) {
		s.suspend = yield
		items := chaos.WrapStreamWith(c.target, s.source, &chaos.WrapOptions[*Message]{Crossing: &s.x.Crossing,
			Fit: func(v any) (any, error) { return box(v, s.into) }})
		for m, err := range items(context.WithValue(c.ctx, ownCall{}, s), &Message{Value: request}) {
			if !yield(step{message: m, err: err}) {
				return
			}
		}
	})
	defer s.take()()
	s.detach = context.AfterFunc(c.ctx, func() {
		defer s.take()()
		s.endWithContext()
	})
	for {
		switch first, more := s.next(); {
		case first.err != nil:
			return nil, s.end(first.err)
		case !more, first.opened:
			return s, nil
		default:
			s.ahead = append(s.ahead, first)
		}
	}
}

func (s *clientStream) take() (release func()) {
	s.turn <- struct{}{}
	return func() { <-s.turn }
}

// source makes the call and yields what the server sends.
func (s *clientStream) source(ctx context.Context, request *Message) iter.Seq2[*Message, error] {
	return func(yield func(*Message, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		s.mu.Lock()
		requests := slices.Clone(s.sent)
		s.mu.Unlock()
		late := ctx.Value(ownCall{}) != any(s)
		first := !late && s.by == nil
		if !s.desc.ClientStreams {
			requests = []any{request.Value}
		} else if late || !first && len(requests) == maxSent {
			yield(nil, errNotAgain{})
			return
		}
		by := newExecution(s.opts)
		if first {
			s.by = by
			by.opts = append(by.opts, grpc.OnFinish(s.finishedAlone(by)))
			defer func() { by.left = true }()
		}
		base, err := s.open(ctx, by.opts)
		if err != nil {
			yield(nil, by.failed(ctx, err))
			return
		}
		if first {
			s.ClientStream = base
			send(base, requests)
			if !s.suspend(step{opened: true}) {
				return
			}
		} else { // beside the receiver, for which the server may wait
			var sending sync.WaitGroup
			defer sending.Wait()
			defer cancel()
			sending.Go(func() {
				send(base, requests)
				_ = base.CloseSend()
			})
		}
		var like any = &emptypb.Empty{} // which takes any message
		for {
			if !late && s.into != nil {
				like = s.into
			}
			m := empty(like)
			err := base.RecvMsg(m)
			by.over = err != nil || !s.desc.ServerStreams
			switch {
			case err == io.EOF:
				return
			case err != nil:
				yield(nil, by.failed(ctx, err))
				return
			case !yield(&Message{Value: m}, nil), !s.desc.ServerStreams:
				return
			}
		}
	}
}

// finishedAlone ends a call that gRPC ended while nobody received, as by closing the connection: its caller need not
// receive the end.
func (s *clientStream) finishedAlone(by *execution) func(error) {
	return func(err error) {
		if err == nil {
			return
		}
		go func() { // somebody may be receiving: then the error comes that way
			defer s.take()()
			if s.ended == nil && !by.over && !by.left {
				by.over = true
				_ = s.end(err)
			}
		}()
	}
}

// send sends until the stream has ended; RecvMsg says why it has.
func send(base grpc.ClientStream, messages []any) {
	for _, m := range messages {
		if base.SendMsg(m) != nil {
			return
		}
	}
}

// end ends the call with an error, io.EOF: well, and returns the error of the caller.
func (s *clientStream) end(err error) error {
	s.detach()
	s.stop()
	s.ended, s.cut = seen(err, s.target, s.by != nil)
	if s.by != nil && !s.cut {
		s.ended = s.by.said(s.ended)
		if s.by.over { // else gRPC may still write to what is given
			s.by.give()
		}
	}
	if err = s.ended; err == io.EOF {
		err = nil
	}
	finished(s.opts, err)
	return s.ended
}

// endWithContext ends a call whose context has ended.
func (s *clientStream) endWithContext() {
	if err := s.ctx.Err(); err != nil && s.ended == nil {
		_ = s.end(status.FromContextError(err).Err())
	}
}

// RecvMsg receives the next message.
func (s *clientStream) RecvMsg(m any) error {
	defer s.take()()
	s.endWithContext() // here too: whether it is before a message that faults kept must not depend on the scheduler
	if s.ended != nil {
		return s.ended
	}
	s.into = m
	got, more := s.message()
	switch {
	case got.err != nil:
		return s.end(got.err)
	case more && s.desc.ServerStreams:
		return assign(m, got.message.Value)
	case s.desc.ServerStreams:
		return s.end(io.EOF)
	case !more:
		return s.end(cardinality("received no response message from non-server-streaming RPC"))
	}
	switch rest, more := s.message(); {
	case rest.err != nil:
		return s.end(rest.err)
	case more:
		return s.end(cardinality("expected <EOF> for non server-streaming RPCs, but received another message"))
	}
	_ = s.end(io.EOF)
	return assign(m, got.message.Value)
}

// cardinality is the error of gRPC for a server that does not send one message.
func cardinality(what string) error {
	return status.Error(codes.Internal, "cardinality violation: "+what)
}

// message is the next message or error of the stream.
func (s *clientStream) message() (got step, more bool) {
	if len(s.ahead) > 0 {
		got, s.ahead = s.ahead[0], s.ahead[1:]
		return got, true
	}
	return s.next()
}

// SendMsg sends a message.
func (s *clientStream) SendMsg(m any) error {
	s.mu.Lock()
	if len(s.sent) < maxSent {
		s.sent = append(s.sent, m)
	}
	s.mu.Unlock()
	return s.ClientStream.SendMsg(m)
}

// Trailer is that of the server; nil: a fault ended the call before it.
func (s *clientStream) Trailer() metadata.MD {
	if s.cut {
		return nil
	}
	return s.ClientStream.Trailer()
}

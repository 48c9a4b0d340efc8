package chaosgrpc_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"google.golang.org/grpc"
	pb "google.golang.org/grpc/interop/grpc_testing"

	"github.com/shakedown-go/shakedown/chaos/chaosgrpc"
	"github.com/shakedown-go/shakedown/chaos/chaostest"
)

// The four interceptors pass what package chaostest asks of any wrapper: what is delivered shows, what shows is delivered,
// and a call that no rule acts on is as one without an injector.
func TestPointsAreSound(t *testing.T) {
	replied := &pb.SimpleResponse{Username: "ann"}
	unaryClient := chaostest.Point{Target: unary, Replacement: &pb.SimpleResponse{Username: "bob"}, Replaced: "bob",
		Open: func(reached func() error) func(context.Context) (any, error) {
			i := chaosgrpc.UnaryClient(nil)
			invoke := func(_ context.Context, _ string, _, reply any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
				if err := reached(); err != nil {
					return err
				}
				reply.(*pb.SimpleResponse).Username = replied.Username
				return nil
			}
			return func(ctx context.Context) (any, error) {
				reply := &pb.SimpleResponse{}
				err := i(ctx, unary, &pb.SimpleRequest{}, reply, nil, invoke)
				return reply.GetUsername(), err
			}
		}}
	unaryServer := unaryClient
	unaryServer.Open = func(reached func() error) func(context.Context) (any, error) {
		i, info := chaosgrpc.UnaryServer(nil), &grpc.UnaryServerInfo{FullMethod: unary}
		handle := func(context.Context, any) (any, error) { return replied, reached() }
		return func(ctx context.Context) (any, error) {
			reply, err := i(ctx, &pb.SimpleRequest{}, info, handle)
			if err != nil {
				return "", err
			}
			return reply.(*pb.SimpleResponse).GetUsername(), nil
		}
	}
	streamClient := chaostest.Stream{Target: output, Items: []any{"0", "1", "2", "3"},
		Open: func(source func() iter.Seq2[any, error]) func(context.Context) iter.Seq2[any, error] {
			i := chaosgrpc.StreamClient(nil)
			return func(ctx context.Context) iter.Seq2[any, error] {
				return func(yield func(any, error) bool) {
					var stops []func()
					open := func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption) (grpc.ClientStream, error) {
						next, stop := iter.Pull2(source())
						stops = append(stops, stop)
						return sourceStream{next: next}, nil
					}
					defer func() {
						synctest.Wait() // until a call that was left has ended
						for _, stop := range stops {
							stop()
						}
					}()
					ctx, cancel := context.WithCancel(ctx)
					defer cancel()
					st, err := i(ctx, &grpc.StreamDesc{ServerStreams: true}, nil, output, open)
					if err == nil {
						err = st.SendMsg(&pb.StreamingOutputCallRequest{})
					}
					for m := (&pb.StreamingOutputCallResponse{}); err == nil; {
						if err = st.RecvMsg(m); err == nil && !yield(string(m.GetPayload().GetBody()), nil) {
							return
						}
					}
					if err != io.EOF {
						yield(nil, err)
					}
				}
			}
		}}
	streamServer := streamClient
	streamServer.Open = func(source func() iter.Seq2[any, error]) func(context.Context) iter.Seq2[any, error] {
		i, info := chaosgrpc.StreamServer(nil), &grpc.StreamServerInfo{FullMethod: output, IsServerStream: true}
		handle := func(_ any, st grpc.ServerStream) error {
			if err := st.RecvMsg(&pb.StreamingOutputCallRequest{}); err != nil {
				return err
			}
			for item, err := range source() {
				if err == nil {
					err = st.SendMsg(&pb.StreamingOutputCallResponse{Payload: text(item.(string))})
				}
				if err != nil {
					return err
				}
			}
			return nil
		}
		return func(ctx context.Context) iter.Seq2[any, error] {
			return func(yield func(any, error) bool) {
				sent := &sinkStream{ctx: ctx, yield: yield}
				if err := i(nil, sent, info, handle); err != nil && !sent.gone {
					yield(nil, err)
				}
			}
		}
	}
	synctest.Test(t, func(t *testing.T) {
		assert.NoError(t, chaostest.Wrapper(unaryClient), "client")
		assert.NoError(t, chaostest.Wrapper(unaryServer), "server")
		assert.NoError(t, chaostest.Streams(streamClient), "client")
		assert.NoError(t, chaostest.Streams(streamServer), "server")
	})
}

// sourceStream receives what a source gives.
type sourceStream struct {
	grpc.ClientStream
	next func() (any, error, bool)
}

func (sourceStream) SendMsg(any) error { return nil }
func (sourceStream) CloseSend() error  { return nil }

func (s sourceStream) RecvMsg(m any) error {
	item, err, more := s.next()
	switch reply, ok := m.(*pb.StreamingOutputCallResponse); {
	case !more:
		return io.EOF
	case err == nil && ok:
		reply.Payload = text(item.(string))
	}
	return err
}

// sinkStream passes on what a server sends.
type sinkStream struct {
	grpc.ServerStream
	ctx   context.Context
	yield func(any, error) bool
	gone  bool
}

func (s *sinkStream) Context() context.Context { return s.ctx }
func (*sinkStream) RecvMsg(any) error          { return nil }

func (s *sinkStream) SendMsg(m any) error {
	if s.gone = !s.yield(string(m.(*pb.StreamingOutputCallResponse).GetPayload().GetBody()), nil); s.gone {
		return errors.New("the client is gone")
	}
	return nil
}

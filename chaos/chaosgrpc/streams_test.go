package chaosgrpc_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaosgrpc"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/lies"
)

// streamFaults are drawn for the law below.
var streamFaults = []chaos.Fault{
	fault.CutAfter(0), fault.CutAfter(1), fault.CutAfter(3), fault.EndAfter(1), fault.EndAfter(2), fault.DropLastItem(),
	fault.DuplicateItem(0), fault.DuplicateItem(2), fault.ReorderItems(2), fault.ReorderItems(3), fault.SlowFirstItem(time.Second),
	fault.SlowItems(time.Second), fault.HangAtItem(2), fault.Delay(time.Second), fault.LoseReply(), fault.Duplicate(),
	fault.Fail(fault.ErrUnavailable), fault.SilentNoOpWith(nil),
}

// told is what the reader of a stream has, and what the event says.
type told struct {
	items     []string
	failed    bool
	took      time.Duration
	delivered bool
	reported  string
}

// The law: what a client sees of faults on a stream, and what counts as delivered, is what package chaos says of them on
// a stream of its own, whatever the side, the messages and the reader.
func TestStreamsAreThoseOfPackageChaos(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 4).Draw(rt, "messages")
		reads := rapid.IntRange(1, 8).Draw(rt, "reads") // then the reader gives up
		at := rapid.SampledFrom([]side{client, server}).Draw(rt, "side")
		faults := streamFaults
		if at == server {
			reads = 100 // how far a client reads is not known there, nor what comes at its deadline
			faults = slices.DeleteFunc(slices.Clone(faults), func(f chaos.Fault) bool {
				return f.(chaos.Described).Describe().Kind == "stream_hang"
			})
		}
		var rules []chaos.Rule
		for i, f := range rapid.SliceOfN(rapid.SampledFrom(faults), 1, 3).Draw(rt, "faults") {
			rules = append(rules, chaos.Rule{Name: fmt.Sprint("r", i), Target: "*", Fault: f})
		}
		var want, got told
		var key uint64 // of the request, which draws depend on
		synctest.Test(t, func(t *testing.T) {
			in := injector(t, rules...)
			got = overGRPC(t, at, in, n, reads)
			key = in.Events()[0].Key
		})
		synctest.Test(t, func(t *testing.T) {
			want = reference(t, injector(t, rules...), key, n, reads)
		})
		assert.Equal(rt, want, got)
		if rt.Failed() {
			rt.FailNow()
		}
	})
}

// reference reads a stream of package chaos under the same name.
func reference(t *testing.T, in *chaos.Injector, key uint64, n, reads int) (got told) {
	texts := chaos.WrapStreamWith(output, func(context.Context, int) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) {
			for i := range n {
				if !yield(fmt.Sprint(i), nil) {
					return
				}
			}
		}
	}, &chaos.WrapOptions[int]{Key: func(int) uint64 { return key }})
	ctx, cancel := context.WithTimeout(chaos.NewContext(t.Context(), in), time.Minute)
	defer cancel()
	next, stop := iter.Pull2(texts(ctx, 0))
	return read(in, reads, func() { cancel(); stop() }, func() (string, error) {
		if ctx.Err() != nil { // which ends a call of gRPC, also while faults keep items
			stop()
			return "", ctx.Err()
		}
		item, err, more := next()
		if err != nil {
			stop() // as who ranges over it does; who gives up has its context end
		}
		if !more {
			return "", io.EOF
		}
		return item, err
	})
}

func overGRPC(t *testing.T, at side, in *chaos.Injector, n, reads int) told {
	c := wrapped(t, &shop{}, at, in)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var st interface {
		Recv() (*pb.StreamingOutputCallResponse, error)
	}
	return read(in, reads, cancel, func() (string, error) {
		if st == nil {
			opened, err := c.StreamingOutputCall(ctx, &pb.StreamingOutputCallRequest{ResponseParameters: make([]*pb.ResponseParameters, n)})
			if err != nil {
				return "", err
			}
			st = opened
		}
		m, err := st.Recv()
		return string(m.GetPayload().GetBody()), err
	})
}

func read(in *chaos.Injector, reads int, leave func(), recv func() (string, error)) (got told) {
	began := time.Now()
	for range reads {
		item, err := recv()
		if err == io.EOF {
			break
		}
		if got.failed = err != nil; got.failed {
			break
		}
		got.items = append(got.items, item)
		synctest.Wait() // a reader that takes its time: what gRPC does beside must not change what it gets
	}
	got.took = time.Since(began)
	leave()
	synctest.Wait()
	for _, e := range in.Events() {
		got.delivered = got.delivered || e.Delivered
		got.reported += fmt.Sprintf("%s %s %v %v %v;", e.Rule, e.Outcome, e.Also, e.Idle, e.Masked)
	}
	return got
}

// A client that is gone before the end of a stream ends its handler, and the event is written.
func TestAnAbandonedStream(t *testing.T) {
	for _, method := range []string{output, duplex} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &shop{do: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
				in := injector(t, chaos.Rule{Name: "r", Target: "*", Fault: fault.Delay(time.Second)})
				c := wrapped(t, s, client, in)
				ctx, cancel := context.WithCancel(t.Context())
				recv := open(t, ctx, c, method)
				synctest.Wait()
				cancel()
				_, err := recv()
				assert.Equal(t, codes.Canceled, status.Code(err))
				synctest.Wait()
				require.Len(t, in.Events(), 1)
				assert.True(t, in.Events()[0].Delivered)
				assert.Equal(t, 1, len(s.seen()))
			})
		})
	}
}

// open opens a stream and sends one request.
func open(t *testing.T, ctx context.Context, c pb.TestServiceClient, method string) func() (*pb.StreamingOutputCallResponse, error) {
	request := &pb.StreamingOutputCallRequest{Payload: text("a"), ResponseParameters: make([]*pb.ResponseParameters, 3)}
	if method == output {
		st, err := c.StreamingOutputCall(ctx, request)
		require.NoError(t, err)
		return st.Recv
	}
	st, err := c.FullDuplexCall(ctx)
	require.NoError(t, err)
	require.NoError(t, st.Send(request))
	return st.Recv
}

// A conversation goes on turn by turn while rules look on: what the client sends is there before it reads.
func TestAConversation(t *testing.T) {
	for _, at := range []side{client, server} {
		synctest.Test(t, func(t *testing.T) {
			s := &shop{}
			in := injector(t, chaos.Rule{Name: "r", Target: "*", Fault: fault.SlowItems(time.Second)})
			st, err := wrapped(t, s, at, in).FullDuplexCall(t.Context())
			require.NoError(t, err)
			for i := range 3 {
				require.NoError(t, st.Send(&pb.StreamingOutputCallRequest{Payload: text(fmt.Sprint(i))}))
				synctest.Wait()
				assert.Len(t, s.seen(), i+1, "before it is asked for")
				m, err := st.Recv()
				require.NoError(t, err)
				assert.Equal(t, fmt.Sprint(i), string(m.GetPayload().GetBody()))
			}
			require.NoError(t, st.CloseSend())
			_, err = st.Recv()
			assert.Equal(t, io.EOF, err)
		})
	}
}

// The requests of a client are sent again up to a thousand; with more the call is made once, as its event says.
func TestManyRequestsAreNotSentAgain(t *testing.T) {
	for sends, want := range map[int]int{999: 2, 1001: 1} {
		synctest.Test(t, func(t *testing.T) {
			s := &shop{}
			in := injector(t, chaos.Rule{Name: "r", Target: "*", Fault: fault.Duplicate()})
			st, err := wrapped(t, s, client, in).StreamingInputCall(t.Context())
			require.NoError(t, err)
			for range sends {
				require.NoError(t, st.Send(&pb.StreamingInputCallRequest{}))
			}
			r, err := st.CloseAndRecv()
			require.NoError(t, err)
			assert.EqualValues(t, sends, r.GetAggregatedPayloadSize())
			assert.Len(t, s.seen(), want)
			e := in.Events()[0]
			assert.Equal(t, want == 2, e.Delivered)
			assert.Equal(t, want == 1, e.Note != "", e.Note)
		})
	}
}

// A handler that goes on to send to a client which is gone has its own error, for the interceptors around.
func TestAClientIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended []error
		s := &shop{do: func(ctx context.Context) error { <-ctx.Done(); return nil }}
		o := &chaosgrpc.Options{Injector: injector(t)} // which records the call
		c := connect(t, s, []grpc.ServerOption{grpc.ChainStreamInterceptor(
			func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, h grpc.StreamHandler) error {
				err := h(srv, ss)
				ended = append(ended, err)
				return err
			}, chaosgrpc.StreamServer(o))})
		ctx, cancel := context.WithCancel(t.Context())
		open(t, ctx, c, output)
		synctest.Wait()
		cancel()
		synctest.Wait()
		require.Len(t, ended, 1)
		assert.Error(t, ended[0])
	})
}

// A request that comes late, within the next call, is executed whole, and its reply reaches nobody.
func TestALateRequest(t *testing.T) {
	for _, at := range []side{client, server} {
		for method, want := range map[string][]string{
			unary: {"unary a", "unary a"}, output: {"output a", "output a"},
			input: {"input aaa"}, // its requests cannot be had again
		} {
			synctest.Test(t, func(t *testing.T) {
				s := &shop{}
				in := injector(t, chaos.Rule{Name: "r", Target: method, Fault: fault.LateResult(method, 5*time.Second, 10*time.Second)})
				c := wrapped(t, s, at, in)
				_, err := ask(t.Context(), c, method, "a")
				assert.Equal(t, codes.DeadlineExceeded, status.Code(err))
				time.Sleep(10 * time.Second)
				got, err := ask(t.Context(), c, method, "a")
				require.NoError(t, err)
				assert.Equal(t, calm[method], got)
				synctest.Wait()
				assert.Equal(t, want, s.seen(), "%s of %s", at, method)
			})
		}
	}
}

// Faults that remember messages give them back.
func TestFrozenMessages(t *testing.T) {
	for _, at := range []side{client, server} {
		synctest.Test(t, func(t *testing.T) {
			in := injector(t, chaos.Rule{Name: "r", Target: "*", Fault: lies.Frozen()})
			got, err := ask(t.Context(), wrapped(t, &shop{}, at, in), output, "a")
			require.NoError(t, err)
			assert.Equal(t, []string{"0", "0", "0"}, got)
		})
	}
}

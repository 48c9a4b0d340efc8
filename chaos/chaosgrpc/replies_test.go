package chaosgrpc_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaosgrpc"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/lies"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// real is the reply to ask.
func real() *pb.SimpleResponse {
	return &pb.SimpleResponse{Username: "ann", Payload: text("re: a")}
}

// sent is a message after it was encoded, which leaves its mark in it.
func sent(r *pb.SimpleResponse) *pb.SimpleResponse { _, _ = proto.Marshal(r); return r }

// named is the real reply with another name.
func named(name string) *pb.SimpleResponse { r := real(); r.Username = name; return r }

// A fault that replaces a reply is delivered where the caller reads another one, and nowhere else.
func TestReplies(t *testing.T) {
	for _, c := range []struct {
		why       string
		fault     chaos.Fault
		want      *pb.SimpleResponse
		delivered bool
		note      string
	}{
		{"another message", fault.Replace(named("eve")), named("eve"), true, ""},
		{"JSON of Protocol Buffers", fault.Replace(json.RawMessage(`{"username":"eve","serverId":"7"}`)), &pb.SimpleResponse{Username: "eve", ServerId: "7"}, true, ""},
		{"nothing", fault.Replace(nil), &pb.SimpleResponse{}, true, ""},
		{"an equal message", fault.Replace(real()), real(), false, ""},
		{"an equal message that was sent before", fault.Replace(sent(real())), real(), false, ""},
		{"a message of another type", fault.Replace(&pb.Empty{}), real(), false, "a message of type grpc.testing.Empty; allowed: grpc.testing.SimpleResponse"},
		{"JSON of another type", fault.Replace(json.RawMessage(`{"cents":7}`)), real(), false, `unknown field "cents"`},
		{"no message", fault.Replace("eve"), real(), false, "wrong type"},
		{"a function over the message", fault.Mutate("rename", func(r *pb.SimpleResponse) *pb.SimpleResponse {
			r = proto.CloneOf(r)
			r.Username = "eve"
			return r
		}), named("eve"), true, ""},
		{"one that writes to it", fault.Mutate("rename", func(r *pb.SimpleResponse) *pb.SimpleResponse { r.Username = "eve"; return r }), named("eve"), true, "its word is taken"},
		{"one that changes nothing", fault.Mutate("rename", func(r *pb.SimpleResponse) *pb.SimpleResponse { return proto.CloneOf(r) }), real(), false, ""},
		{"one over another type", fault.Mutate("rename", func(r *pb.Empty) *pb.Empty { return r }), real(), false, "does not fit"},
		{"a lie about a field", lies.Missing("$.username"), named(""), true, ""},
		{"a success without the callee", fault.SilentNoOpWith(named("eve")), named("eve"), true, ""},
		{"a success without the callee, empty", fault.SilentNoOpWith(nil), &pb.SimpleResponse{}, true, ""},
		{"one of another type", fault.SilentNoOpWith(&pb.Empty{}), real(), false, "allowed: grpc.testing.SimpleResponse"},
	} {
		for _, at := range []side{client, server} {
			t.Run(c.why+" at the "+string(at), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					in := injector(t, chaos.Rule{Name: "r", Target: unary, Fault: c.fault})
					got, err := wrapped(t, &shop{}, at, in).UnaryCall(t.Context(), &pb.SimpleRequest{Payload: text("a")})
					require.NoError(t, err)
					assert.True(t, proto.Equal(c.want, got), "%v", got)
					synctest.Wait()
					e := in.Events()[0]
					assert.Equal(t, c.delivered, e.Delivered, "%+v", e)
					if c.note == "" {
						assert.Empty(t, e.Note)
					} else {
						assert.Contains(t, e.Note, c.note)
					}
				})
			})
		}
	}
}

// What a caller asked to have filled stays as it was when the call fails, whatever came before.
func TestAReplyIsFilledOnlyBySuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := injector(t, chaos.Rule{Name: "r", Target: unary, Fault: fault.LoseReply()})
		o := &chaosgrpc.Options{Injector: in}
		reply := named("before")
		c := connect(t, &shop{}, nil, dialUnary(chaosgrpc.UnaryClient(o), reply)...)
		_, err := c.UnaryCall(t.Context(), &pb.SimpleRequest{})
		assert.Equal(t, codes.Unavailable, status.Code(err))
		assert.Equal(t, "before", reply.Username)
	})
}

// Triggers and events have the message: by its own type, and as JSON of Protocol Buffers.
func TestRequestsAsArguments(t *testing.T) {
	for _, at := range []side{client, server} {
		synctest.Test(t, func(t *testing.T) {
			big := func(n int32) func(*pb.SimpleRequest) bool {
				return func(r *pb.SimpleRequest) bool { return r.GetResponseSize() >= n }
			}
			plan, err := chaos.NewPlan(7, chaos.Rule{Name: "r", Target: unary, When: when.Args("big", big(100)), Fault: fault.Fail(fault.ErrUnavailable)})
			require.NoError(t, err)
			in := plan.Injector("cell", &chaos.InjectorOptions{RecordAll: true, KeepValues: true})
			c := wrapped(t, &shop{}, at, in)
			for size, want := range map[int32]codes.Code{99: codes.OK, 100: codes.Unavailable} {
				_, err = c.UnaryCall(t.Context(), &pb.SimpleRequest{ResponseSize: size, Payload: text("a")})
				assert.Equal(t, want, status.Code(err))
			}
			synctest.Wait()
			for _, e := range in.Events() {
				var doc struct {
					ResponseSize int
					Payload      struct{ Body []byte }
				}
				require.NoError(t, json.Unmarshal(e.Args, &doc))
				assert.Equal(t, "a", string(doc.Payload.Body))
				assert.Contains(t, string(e.Args), `"fillUsername"`, "fields that are unset, too")
				assert.Equal(t, e.Outcome != chaos.OutcomeOK, doc.ResponseSize == 100)
			}
		})
	}
}

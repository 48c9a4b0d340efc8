package incident

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// shown is the resource of a server after some number of faults, of which it keeps
// the last.
func shown(t *testing.T, server string, last, kept int) faults {
	t.Helper()
	doc := fmt.Sprintf(`{"last":"%d","omitted":%d,"faults":[`, last, last-kept)
	for n := last - kept + 1; n <= last; n++ {
		if n > last-kept+1 {
			doc += ","
		}
		doc += fmt.Sprintf(`{"sequence":"%d","faultType":"error","context":"%s-%d"}`, n, server, n)
	}
	var f faults
	require.NoError(t, json.Unmarshal([]byte(doc+"]}"), &f))
	return f
}

// TestNothingTwiceAndNothingLostSilently reads the resource again and again.
func TestNothingTwiceAndNothingLostSilently(t *testing.T) {
	for _, tc := range []struct {
		why      string
		readings []faults
		want     []string
		problems []string
		missed   uint64
	}{
		{"what happened before is no news", []faults{shown(t, "a", 3, 3), shown(t, "a", 3, 3)}, nil, nil, 0},
		{"each new one once", []faults{shown(t, "a", 0, 0), shown(t, "a", 2, 2), shown(t, "a", 2, 2), shown(t, "a", 3, 3)}, []string{"a-1", "a-2", "a-3"}, nil, 0},
		{"those that are gone are counted", []faults{shown(t, "a", 1, 1), shown(t, "a", 9, 3)}, []string{"a-7", "a-8", "a-9"}, []string{"5 events were gone"}, 5},
		{"the event of the mark has gone, and no other", []faults{shown(t, "a", 2, 2), shown(t, "a", 5, 3)}, []string{"a-3", "a-4", "a-5"}, nil, 0},
		{"a new server with fewer", []faults{shown(t, "a", 5, 3), shown(t, "b", 2, 2)}, []string{"b-1", "b-2"}, []string{"started anew"}, 0},
		{"a new server with more", []faults{shown(t, "a", 2, 2), shown(t, "b", 4, 4)}, []string{"b-1", "b-2", "b-3", "b-4"}, []string{"started anew"}, 0},
		{"a new server with as many", []faults{shown(t, "a", 2, 2), shown(t, "b", 2, 2)}, []string{"b-1", "b-2"}, []string{"started anew"}, 0},
		{"a new server that keeps no more than its last", []faults{shown(t, "a", 9, 3), shown(t, "b", 4, 2)}, []string{"b-3", "b-4"}, []string{"started anew", "2 events were gone"}, 2},
	} {
		t.Run(tc.why, func(t *testing.T) {
			var got, problems []string
			s := &Subscriber{
				Sink: func(logger string, data json.RawMessage) error {
					assert.Equal(t, "chaos/resource-faults", logger)
					var p payload
					require.NoError(t, json.Unmarshal(data, &p))
					got = append(got, p.Context)
					return nil
				},
				OnError: func(err error) { problems = append(problems, err.Error()) },
			}
			m := new(mark)
			for _, doc := range tc.readings {
				s.passNew(doc, m)
			}
			assert.Equal(t, tc.want, got)
			assert.Equal(t, tc.missed, s.Missed())
			require.Len(t, problems, len(tc.problems))
			for i, want := range tc.problems {
				assert.Contains(t, problems[i], want)
			}
		})
	}
}

// TestASecretCutInTwo: what is left of one is not recognised, so that the line
// in which the kept output begins goes.
func TestASecretCutInTwo(t *testing.T) {
	out := newTail(20)
	_, _ = out.Write([]byte("token=" + "s3cr3t-s3cr3t-s3cr3t\nthe end of it\n"))
	assert.Equal(t, "[27 bytes before this]\nthe end of it\n", out.text())
}

func FuzzFaultsResource(f *testing.F) {
	f.Add([]byte(`{"last":"2","omitted":1,"faults":[{"sequence":"2"}]}`), uint64(1))
	f.Add([]byte(`{"last":"0","faults":[{},{}]}`), uint64(0))
	f.Fuzz(func(t *testing.T, text []byte, seen uint64) {
		doc, err := decodeFaults(text)
		if err != nil {
			return
		}
		handed := 0
		s := &Subscriber{Sink: func(string, json.RawMessage) error { handed++; return nil }}
		m := &mark{set: true, sequence: seen}
		s.passNew(doc, m)
		assert.LessOrEqual(t, handed, len(doc.Faults))
		assert.Equal(t, doc.Last, m.sequence)
		assert.LessOrEqual(t, s.Missed(), doc.Last)
		s.passNew(doc, m)
		assert.LessOrEqual(t, handed, len(doc.Faults), "nothing comes twice")
	})
}

func TestResourcesThatCouldNotBe(t *testing.T) {
	for _, text := range []string{``, `[]`, `{"last":7}`, `{"last":"-1"}`, `{"last":"1","faults":[{},{}]}`, `{"last":"18446744073709551615","faults":[]}`} {
		_, err := decodeFaults([]byte(text))
		assert.ErrorContains(t, err, "chaos://faults", text)
	}
}

// A subscription that hangs is given up, and the resource is read instead.
func TestASubscriptionThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		texts := []string{`{"last":"0","faults":[]}`, `{"last":"1","faults":[{"faultType":"error"}]}`}
		server := mcp.NewServer(&mcp.Implementation{Name: "slow", Version: "1"}, &mcp.ServerOptions{
			SubscribeHandler:   func(ctx context.Context, _ *mcp.SubscribeRequest) error { <-ctx.Done(); return ctx.Err() },
			UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
		})
		server.AddResource(&mcp.Resource{Name: "faults", URI: faultsResource}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			text := texts[0]
			texts = texts[min(1, len(texts)-1):]
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: faultsResource, Text: text}}}, nil
		})
		here, there := mcp.NewInMemoryTransports()
		serving, err := server.Connect(t.Context(), there, nil)
		require.NoError(t, err)
		session, err := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil).Connect(t.Context(), here, &mcp.ClientSessionOptions{ProtocolVersion: pushingRevision})
		require.NoError(t, err)
		events := make(chan string, 10)
		s := &Subscriber{Sink: func(_ string, data json.RawMessage) error { events <- string(data); return nil }}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		watched := s.watch(ctx, session, nil, new(mark))
		assert.ErrorIs(t, watched, context.DeadlineExceeded)
		assert.Len(t, events, 1)
		assert.NoError(t, session.Close())
		_ = serving.Wait()
	})
}

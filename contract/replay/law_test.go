package replay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract/findings"
	"github.com/shakedown-go/shakedown/contract/replay"
)

// sessionOf draws a session of a few tools, arguments and lanes, so that many calls are
// equal, and every answer is told apart from every other.
func sessionOf(t *rapid.T) *replay.Session {
	s := &replay.Session{Name: "drawn"}
	for i := range rapid.IntRange(0, 40).Draw(t, "calls") {
		c := findings.Call{
			Tool: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "tool"),
			Lane: rapid.SampledFrom([]string{"", "x", "y", "z"}).Draw(t, "lane"),
			Args: json.RawMessage(rapid.SampledFrom([]string{`{"n":1,"m":[2]}`, `{"n":2}`, `null`}).Draw(t, "args")),
		}
		if rapid.IntRange(0, 3).Draw(t, "fails") == 0 {
			c.Error = &findings.CallError{Text: fmt.Sprintf("down %d", i)}
		} else {
			c.Result = json.RawMessage(fmt.Sprint(i))
		}
		s.Calls = append(s.Calls, c)
	}
	return s
}

// respelled are the same arguments in another spelling.
func respelled(args json.RawMessage) json.RawMessage {
	switch string(args) {
	case `null`:
		return nil
	case `{"n":2}`:
		return json.RawMessage(` { "n" : 2.0 } `)
	}
	return json.RawMessage(`{"m":[2e0],"\u006e":1}`)
}

// sameAnswer reports whether a call got the answer that was recorded.
func sameAnswer(c *findings.Call, got json.RawMessage, err error) bool {
	if c.Error != nil {
		return err != nil && err.Error() == c.Error.Text && got == nil
	}
	return err == nil && slices.Equal(got, c.Result)
}

// A played session gives each call the answer that it had, from any interleaving of the
// lanes, and also if equal calls of different lanes had different answers.
func TestEachCallGetsTheAnswerItHad(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := sessionOf(t)
		data, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if s, err = replay.Read(data); err != nil {
			t.Fatal(err)
		}
		p, err := s.Player(nil)
		if err != nil {
			t.Fatal(err)
		}
		lanes := map[string][]int{}
		for i, c := range s.Calls {
			lanes[c.Lane] = append(lanes[c.Lane], i)
		}
		open := make([]string, 0, len(lanes))
		for lane := range lanes {
			open = append(open, lane)
		}
		slices.Sort(open)
		for len(open) > 0 {
			k := rapid.IntRange(0, len(open)-1).Draw(t, "next")
			lane := open[k]
			i := lanes[lane][0]
			if lanes[lane] = lanes[lane][1:]; len(lanes[lane]) == 0 {
				open = slices.Delete(open, k, k+1)
			}
			c := &s.Calls[i]
			got, err := p.CallTool(chaos.WithLane(t.Context(), lane), c.Tool, respelled(c.Args))
			if !sameAnswer(c, got, err) {
				t.Fatalf("call %d got %s, %v", i+1, got, err)
			}
		}
		if p.Err() != nil || p.Unplayed() != nil {
			t.Fatalf("%v; not played: %v", p.Err(), p.Unplayed())
		}
	})
}

// The same, with a goroutine a lane and an unmatched call now and then.
func TestLanesMayPlayAtTheSameTime(t *testing.T) {
	s := &replay.Session{Name: "wide"}
	for i := range 400 {
		s.Calls = append(s.Calls, findings.Call{Tool: "a", Lane: fmt.Sprint(i % 8), Args: json.RawMessage(fmt.Sprint(i % 3)),
			Result: json.RawMessage(fmt.Sprint(i)), Effect: findings.Done})
	}
	p, err := s.Player(nil)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for lane := range 8 {
		wg.Go(func() {
			ctx := chaos.WithLane(t.Context(), fmt.Sprint(lane))
			for i := lane; i < len(s.Calls); i += 8 {
				got, err := p.CallTool(ctx, "a", s.Calls[i].Args)
				if !sameAnswer(&s.Calls[i], got, err) {
					t.Errorf("call %d got %s, %v", i+1, got, err)
				}
				if i%10 == 0 {
					var miss *replay.MissError
					if _, err := p.CallTool(ctx, "b", nil); !errors.As(err, &miss) {
						t.Errorf("no miss: %v", err)
					}
					_, _, _ = p.Err(), p.Effects(), p.Unplayed()
				}
			}
		})
	}
	wg.Wait()
	if n := len(p.Effects()); n != 400 {
		t.Errorf("%d effects", n)
	}
}

func TestAllocations(t *testing.T) {
	s, p := priced(t)
	ctx := chaos.WithLane(t.Context(), "x")
	if n := testing.AllocsPerRun(1000, func() { _, _ = p.CallTool(ctx, "orders.get", s.Calls[0].Args) }); n != 0 {
		t.Errorf("a played call allocates %v times", n)
	}
}

// priced is a session of a hundred calls, with arguments of about a hundred bytes.
func priced(tb testing.TB) (*replay.Session, *replay.Player) {
	s := &replay.Session{Name: "priced"}
	for i := range 100 {
		s.Calls = append(s.Calls, findings.Call{Tool: "orders.get", Lane: "x", Result: json.RawMessage(`{"id":"1042","status":"paid"}`),
			Args: json.RawMessage(fmt.Sprintf(`{"order":"%d","fields":["status","customer","items"],"page":1,"verbose":false,"reason":"arrived damaged"}`, i))})
	}
	p, err := s.Player(nil)
	if err != nil {
		tb.Fatal(err)
	}
	return s, p
}

// BenchmarkPlay is the price of a played call: bare, and wrapped and recorded as in a
// cell; beside it that of checking the syntax of its arguments.
func BenchmarkPlay(b *testing.B) {
	s, p := priced(b)
	b.Run("json.Valid", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if !json.Valid(s.Calls[i%len(s.Calls)].Args) {
				b.Fatal("not JSON")
			}
		}
	})
	run := func(name string, tools chaos.ToolRegistry, ctx context.Context) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := tools.CallTool(ctx, "orders.get", s.Calls[i%len(s.Calls)].Args); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	run("bare", p, chaos.WithLane(b.Context(), "x"))
	in := chaos.NewInjector(1, &chaos.InjectorOptions{RecordAll: true, MaxLog: 1024})
	ctx := chaos.WithLane(chaos.NewContext(b.Context(), in), "x")
	run("recorded", chaos.WrapRegistry(p, in), ctx)
	keeping := chaos.NewInjector(1, &chaos.InjectorOptions{RecordAll: true, KeepValues: true, MaxLog: 1024})
	run("recorded with values", chaos.WrapRegistry(p, keeping), chaos.NewContext(chaos.WithLane(b.Context(), "x"), keeping))
}

package chaos_test

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
)

// However calls interleave, and whether their keys are 0 or not: the ordinals of
// a lane and the occurrences of each key are 0, 1, 2… without a gap or a repetition.
func TestCoordinatesHaveNoGaps(t *testing.T) {
	none := plan(t)
	rapid.Check(t, func(rt *rapid.T) {
		callers := rapid.SliceOfN(rapid.SliceOfN(rapid.Uint64Range(0, 2), 1, 3), 2, 4).Draw(rt, "keys, by caller")
		for range 100 { // the fault is one of timing
			in := none.Injector("", &chaos.InjectorOptions{RecordAll: true})
			ctx := chaos.NewContext(context.Background(), in)
			work := chaos.WrapWith("work", func(context.Context, uint64) (int, error) { return 0, nil },
				&chaos.WrapOptions[uint64]{Key: func(key uint64) uint64 { return key }})
			var group sync.WaitGroup
			start := make(chan struct{})
			for _, keys := range callers {
				group.Go(func() {
					<-start
					for _, key := range keys {
						_, _ = work(ctx, key)
					}
				})
			}
			close(start)
			group.Wait()
			var ordinals []uint64
			occurrences := map[uint64][]uint64{}
			for _, e := range in.Events() {
				ordinals = append(ordinals, e.Ordinal)
				occurrences[e.Key] = append(occurrences[e.Key], e.Occurrence)
			}
			occurrences[1<<63] = ordinals // held to the same, under a key that no call has
			for key, counts := range occurrences {
				slices.Sort(counts)
				for i, n := range counts {
					require.Equal(rt, uint64(i), n, "counts of key %d: %v", key, counts)
				}
			}
		}
	})
}

// attempted is a call of the property below: it begins and ends at moments that no other call shares.
type attempted struct {
	key        int
	begin, end time.Duration
	fails      bool
}

// A call's attempt is 1 plus the failures in a row, of equal calls, that had
// ended when it began: equal calls that are under way at one time are no retries.
func TestAttemptsCountWhatHadEnded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(rt, "calls")
		moments := rapid.Permutation(slices.Collect(func(yield func(int) bool) {
			for i := 1; i <= 2*n && yield(i); i++ {
			}
		})).Draw(rt, "moments")
		calls := make([]attempted, n)
		for i := range calls {
			a, b := time.Duration(moments[2*i])*time.Second, time.Duration(moments[2*i+1])*time.Second
			calls[i] = attempted{rapid.IntRange(0, 1).Draw(rt, "key"), min(a, b), max(a, b), rapid.IntRange(0, 3).Draw(rt, "fails") > 0}
		}
		record := rapid.Bool().Draw(rt, "record")
		slices.SortFunc(calls, func(a, b attempted) int { return cmp.Compare(a.begin, b.begin) })
		var want []int
		for _, c := range calls {
			earlier := slices.DeleteFunc(slices.Clone(calls), func(e attempted) bool { return e.key != c.key || e.end >= c.begin })
			slices.SortFunc(earlier, func(a, b attempted) int { return -cmp.Compare(a.end, b.end) })
			row := slices.IndexFunc(earlier, func(e attempted) bool { return !e.fails })
			if row < 0 {
				row = len(earlier)
			}
			want = append(want, 1+row)
		}
		synctest.Test(t, func(t *testing.T) {
			p := plan(t)
			if !record { // each call leaves an event by a fault that does nothing to it
				p = plan(t, chaos.Rule{Target: "work", Fault: replace(1)})
			}
			in := p.Injector("", &chaos.InjectorOptions{RecordAll: record})
			work := chaos.WrapWith("work", func(_ context.Context, c attempted) (int, error) {
				time.Sleep(c.end - c.begin)
				if c.fails {
					return 0, errDown
				}
				return 1, nil
			}, &chaos.WrapOptions[attempted]{Key: func(c attempted) uint64 { return uint64(c.key) }})
			var group sync.WaitGroup
			for _, c := range calls {
				group.Go(func() {
					time.Sleep(c.begin)
					_, _ = work(chaos.NewContext(context.Background(), in), c)
				})
			}
			group.Wait()
			var got []int
			for _, e := range in.Events() {
				got = append(got, e.Attempt)
			}
			assert.Equal(rt, want, got, "%+v", calls)
		})
	})
}

// A stream without an injection or an event counts for the attempts too. It failed if
// the last item that its consumer took was an error.
func TestCalmStreamsCountForAttempts(t *testing.T) {
	for _, c := range []struct {
		why   string
		items []error
		takes int
		want  int
	}{
		{"it ends with an error", []error{nil, errDown}, 9, 2},
		{"it goes on after an error", []error{errDown, nil}, 9, 1},
		{"the consumer stops at an error", []error{errDown, nil}, 1, 2},
		{"the consumer stops before the error", []error{nil, errDown}, 1, 1},
		{"it has no items", nil, 9, 1},
	} {
		t.Run(c.why, func(t *testing.T) {
			in := plan(t, chaos.Rule{Target: "work", When: ordinals(1), Fault: down()}).Injector("", nil)
			ctx := chaos.NewContext(context.Background(), in)
			stream := chaos.WrapStream("work", func(context.Context, int) iter.Seq2[int, error] {
				return func(yield func(int, error) bool) {
					for i, err := range c.items {
						if !yield(i, err) {
							return
						}
					}
				}
			})
			n := 0
			for range stream(ctx, 1) {
				if n++; n == c.takes {
					break
				}
			}
			assert.Equal(t, min(c.takes, len(c.items)), n)
			for _, err := range stream(ctx, 1) {
				assert.ErrorIs(t, err, errDown, "the second call is injected")
			}
			assert.Equal(t, c.want, only(t, in).Attempt)
		})
	}
}

// If a call leaves an event, it names the rules that their limit or cool-down held
// back.
func TestRulesThatRestAreHeldBackNotMasked(t *testing.T) {
	once := func(name string, f chaos.Fault) chaos.Rule {
		return chaos.Rule{Name: name, Target: "work", Limit: 1, Fault: f}
	}
	for _, c := range []struct {
		why        string
		rules      []chaos.Rule
		rule       string
		held, mask []string
	}{
		{"alone", []chaos.Rule{once("a", down())}, "", []string{"a"}, nil},
		{"the next failure decides", []chaos.Rule{once("a", down()), {Name: "b", Target: "work", Fault: down()}}, "b", []string{"a"}, nil},
		{"behind the one that decides", []chaos.Rule{{Name: "b", Target: "work", When: ordinals(1), Fault: down()}, once("a", down())}, "b", []string{"a"}, nil},
		{"hidden, but not used up", []chaos.Rule{{Name: "b", Target: "work", When: ordinals(1), Fault: down()}, {Name: "a", Target: "work", Limit: 2, Fault: down()}}, "b", nil, []string{"a"}},
		{"a change", []chaos.Rule{once("a", replace(7)), {Name: "b", Target: "work", When: ordinals(1), Fault: replace(8)}}, "b", []string{"a"}, nil},
		{"it cools down", []chaos.Rule{{Name: "a", Target: "work", CoolDown: time.Hour, Fault: down()}}, "", []string{"a"}, nil},
	} {
		t.Run(c.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in, ctx := recording(t, c.rules...)
				work := chaos.Wrap("work", double)
				for range 2 {
					_, _ = work(ctx, 1)
				}
				e := in.Events()[1]
				assert.Equal(t, c.rule, e.Rule)
				assert.Equal(t, c.held, e.HeldBack)
				assert.Equal(t, c.mask, e.Masked)
				assert.Empty(t, e.Note, "only safeguards are named in a note")
			})
		})
	}
}

// countsTo is an OrdinalWhen that keeps the ordinals it gets.
type countsTo struct{ asked *[]uint64 }

func (countsTo) Match(chaos.Call) bool { panic("Match of a trigger that looks at the ordinal alone") }
func (w countsTo) MatchOrdinal(ordinal uint64) bool {
	*w.asked = append(*w.asked, ordinal)
	return ordinal == 1
}

// MatchOrdinal gets Call.Ordinal: counted since the registration of the rule, and in
// a group that of the group.
func TestOrdinalTriggersAreGivenTheOrdinal(t *testing.T) {
	for _, c := range []struct {
		why    string
		others []chaos.Rule
		group  string
	}{
		{"alone", nil, ""},
		{"beside a trigger that is asked with a Call", []chaos.Rule{{Name: "other", Target: "work", When: ordinals(), Fault: down()}}, ""},
		{"in a group", nil, "g"},
	} {
		t.Run(c.why, func(t *testing.T) {
			in := chaos.NewInjector(1, nil)
			ctx := chaos.NewContext(context.Background(), in)
			require.NoError(t, in.Register(chaos.Rule{Name: "first", Target: "work", Group: c.group, When: ordinals(), Fault: down()}))
			for range 3 {
				require.NoError(t, chaos.Point(ctx, "work"))
			}
			for _, r := range c.others {
				require.NoError(t, in.Register(r))
			}
			var asked []uint64
			require.NoError(t, in.Register(chaos.Rule{Name: "counts", Target: "w*", Group: c.group, When: countsTo{&asked}, Fault: down()}))
			assert.NoError(t, chaos.Point(ctx, "work"))
			if c.group != "" {
				assert.Error(t, chaos.Point(ctx, "walk"), "the group's second call")
			} else {
				assert.NoError(t, chaos.Point(ctx, "walk"), "a target of its own")
				assert.Error(t, chaos.Point(ctx, "work"))
			}
			slices.Sort(asked)
			asked = slices.Compact(asked)
			assert.Equal(t, []uint64{0, 1}, asked)
		})
	}
}

// A []byte is a document where it is JSON, a text where it is other UTF-8, and base64 where it is neither.
func TestBytesAreKeptAsWhatTheyAre(t *testing.T) {
	for _, c := range []struct{ why, bytes, kept string }{
		{"a document, as it is written", `{"id": 1, "sum":59.90}`, `{"id": 1, "sum":59.90}`},
		{"a number", `7`, `7`},
		{"text", "hello \"friend\"", `"hello \"friend\""`},
		{"a document that was cut off", `{"id":`, `"{\"id\":"`},
		{"nothing", "", `""`},
		{"binary", "\x00\xff", `"AP8="`},
	} {
		t.Run(c.why, func(t *testing.T) {
			for name, rules := range map[string][]chaos.Rule{"not injected": nil, "failed": {{Target: "*", Fault: down()}}, "changed": {{Target: "*", Fault: twice()}}} {
				in := plan(t, rules...).Injector("", &chaos.InjectorOptions{RecordAll: true, KeepValues: true})
				dispatch := chaos.WrapDispatch(func(_ context.Context, _ string, args []byte) ([]byte, error) { return args, nil })
				_, err := dispatch(chaos.NewContext(context.Background(), in), "read", []byte(c.bytes))
				e := only(t, in)
				assert.Equal(t, c.kept, string(e.Args), name)
				if err == nil {
					assert.Equal(t, c.kept, string(e.Result), name)
				}
			}
		})
	}
	in := plan(t).Injector("", &chaos.InjectorOptions{RecordAll: true, KeepValues: true})
	mine := []byte(`{"a":1}`)
	_, _ = chaos.WrapDispatch(func(_ context.Context, _ string, args []byte) ([]byte, error) {
		args[1] = '!'
		return nil, nil
	})(chaos.NewContext(context.Background(), in), "read", mine)
	e := only(t, in)
	assert.Equal(t, []json.RawMessage{json.RawMessage(`{"a":1}`), json.RawMessage(`null`)}, []json.RawMessage{e.Args, e.Result}, "a copy; nil is null")
}

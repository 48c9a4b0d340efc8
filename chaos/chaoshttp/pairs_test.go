package chaoshttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/lies"
)

// onBodies are faults that act on the body of an answer, or on its header for the
// sake of the body.
func onBodies() map[string]chaos.Fault {
	faults := map[string]chaos.Fault{
		"CutBody 0": chaoshttp.CutBody(0), "CutBody 2": chaoshttp.CutBody(2), "CutBody 20": chaoshttp.CutBody(20), "CutBody far": chaoshttp.CutBody(10_000),
		"ShortBody 0": chaoshttp.ShortBody(0), "ShortBody 2": chaoshttp.ShortBody(2), "ShortBody 20": chaoshttp.ShortBody(20),
		"SlowBody": chaoshttp.SlowBody(10, time.Second), "WrongEncoding": chaoshttp.WrongEncoding(),
		"HTMLPage": chaoshttp.HTMLPage(), "ErrorInOK": chaoshttp.ErrorInOK("", ""),
		"OnBody": onBody(fault.Replace(json.RawMessage(`{"id":8}`))), "FlipSign": lies.FlipSign("$.n"), "OffByOne": lies.OffByOne("$.id"),
		"Malformed": lies.Malformed(), "CutText": lies.CutText(0.5), "Mojibake": lies.Mojibake(), "Replace": fault.Replace(json.RawMessage(`{"id":9}`)),
		"GarbleCompletion": chaoshttp.GarbleCompletion(), "CutCompletion": chaoshttp.CutCompletion(3), "EmptyCompletion": chaoshttp.EmptyCompletion(),
		"RefuseCompletion": chaoshttp.RefuseCompletion("no"), "DriftFormat": chaoshttp.DriftCompletion(chaoshttp.DriftFormat),
		"SpoilTruncate": chaoshttp.SpoilCompletion(chaoshttp.PartContent, chaoshttp.SpoilTruncate), "StripToolCalls": chaoshttp.StripToolCalls(),
		"SlowFirstEvent": chaoshttp.SlowFirstEvent(time.Minute), "SlowEvents": chaoshttp.SlowEvents(time.Second),
		"HangStream 0": chaoshttp.HangStream(0), "HangStream 1": chaoshttp.HangStream(1), "DropTerminator": chaoshttp.DropTerminator(),
		"ErrorEvent": chaoshttp.ErrorEvent(chaoshttp.OpenAI, chaoshttp.KindServer, 1),
		"More":       onBody(fault.Mutate("more", func(v map[string]any) map[string]any { v["more"] = true; return v })),
		"Less":       onBody(fault.Mutate("less", func(v map[string]any) map[string]any { delete(v, "more"); return v })),
	}
	for n := range 3 {
		of := " " + strconv.Itoa(n)
		faults["CutEvent"+of], faults["CutStream"+of] = chaoshttp.CutEvent(n), chaoshttp.CutStream(n)
		faults["MalformEvent"+of], faults["DuplicateEvent"+of] = chaoshttp.MalformEvent(n), chaoshttp.DuplicateEvent(n)
		faults["SwapEvents"+of] = chaoshttp.SwapEvents(n)
	}
	return faults
}

// answerOf is an answer whose body the faults act on.
type answerOf struct {
	name, kind, body string
	sized            bool // the header says how long it is
}

func answersOf() []answerOf {
	const j, events = "application/json", "text/event-stream"
	words := said{text: "Order 7 was shipped to Zoë, -4 left.", reason: "stop"}
	chat := strings.Replace(wires()["chat"].write(words, []int{5}), "{", `{"n":5,`, 1)
	stream := wires()["chat stream"].write(words, []int{5})
	short := "data: {\"n\":0}\n\ndata: {\"n\":1}\n\ndata: {\"n\":2}\n\ndata: [DONE]\n\n"
	return []answerOf{
		{"chat", j, chat, true}, {"chat of unknown length", j, chat, false},
		{"chat events", events, stream, false}, {"chat events of known length", events, stream, true},
		{"short events", events, short, false}, {"document", j, `{"id":7,"n":-5,"to":"Zoë"}`, true},
		{"plain", "text/plain", "Zoë's order has 40 bytes, or some more.", false},
		{"one byte", j, "5", true}, {"empty", j, "", true},
		{"one member", j, `{"n":5}`, true}, {"one member of unknown length", j, `{"n":5}`, false},
	}
}

// perceived is what the client sees of an exchange, and when.
type perceived struct {
	status       int
	length       int64
	header, body string
	end          string // how reading ended, if the client came to the end
	times        string // when it came
	took         time.Duration
}

// untimed is the same at once.
func (p perceived) untimed() perceived {
	p.times, p.took = "", 0
	return p
}

// metered counts what is read of the callee's answer.
type metered struct {
	io.Reader
	n *int
}

func (c metered) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	*c.n += n
	return n, err
}

// perceive makes one exchange with faults, of which the client reads so many bytes, -1:
// all. left: it does not close the body before its cell ends. A fault that is nil is left
// out. delivered are the places of those that were delivered; from says how many bytes of
// the callee's answer were read.
func perceive(t *testing.T, a answerOf, read int, left bool,
	faults ...chaos.Fault) (p perceived, delivered []int, from int) {
	var rules []chaos.Rule
	for i, f := range faults {
		if f != nil {
			rules = append(rules, chaos.Rule{Name: strconv.Itoa(i), Fault: f, Target: "*"})
		}
	}
	plan, err := chaos.NewPlan(1, rules...)
	require.NoError(t, err)
	in := plan.Injector("cell", nil)
	server := base(func(r *http.Request) (*http.Response, error) {
		length := int64(-1)
		h := http.Header{"Content-Type": {a.kind}}
		if a.sized {
			length = int64(len(a.body))
			h.Set("Content-Length", strconv.Itoa(len(a.body)))
		}
		return &http.Response{StatusCode: 200, Header: h, Request: r, ContentLength: length, Body: io.NopCloser(metered{strings.NewReader(a.body), &from})}, nil
	})
	ctx, cancel := context.WithTimeout(chaos.NewContext(t.Context(), in), time.Hour)
	defer cancel()
	req := request(t, ctx, http.MethodGet, "http://example.com/v1/chat/completions", nil)
	began := time.Now()
	resp, err := chaoshttp.NewTransport(server, nil).RoundTrip(req)
	require.NoError(t, err)
	if p.status, p.length = resp.StatusCode, resp.ContentLength; strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		resp.Header.Del("Content-Length")
		p.length = 0 // readers of events do not go by it
	}
	p.header = fmt.Sprint(resp.Header)
	for one := make([]byte, 1); read < 0 || len(p.body) < read; {
		n, err := resp.Body.Read(one)
		p.body += string(one[:n])
		if at := time.Since(began); at != p.took {
			p.took = at
			p.times += fmt.Sprint(len(p.body), " ", at, " ")
		}
		if err != nil {
			p.end = err.Error()
			break
		}
	}
	p.took = time.Since(began)
	if left {
		in.End()
	}
	require.NoError(t, resp.Body.Close())
	if len(rules) == 0 {
		return p, nil, from
	}
	require.Len(t, in.Events(), 1)
	if e := in.Events()[0]; e.Delivered {
		for _, name := range append(slices.Clone(e.Also), e.Rule) {
			i, err := strconv.Atoi(name)
			require.NoError(t, err)
			delivered = append(delivered, i)
		}
	}
	slices.Sort(delivered)
	return p, delivered, from
}

// waits reports whether a fault makes the client wait. That it did counts by itself.
func waits(name string) bool {
	return strings.HasPrefix(name, "Slow") || strings.HasPrefix(name, "Hang")
}

// pair are two faults on one answer, of which so many bytes are read.
type pair struct {
	answer answerOf
	read   int
	names  [2]string // the inner and the outer one
	left   bool      // the body is not closed before the cell ends
}

// judged is what two faults showed, together and alone.
type judged struct {
	none, both perceived
	alone      [2]perceived
	delivered  []int
	unread     bool // more of the callee's answer would have to be known
}

func (p pair) judge(t *testing.T, faults map[string]chaos.Fault) (j judged) {
	j.none, _, _ = perceive(t, p.answer, p.read, p.left)
	j.alone[0], _, _ = perceive(t, p.answer, p.read, p.left, faults[p.names[0]])
	j.alone[1], _, _ = perceive(t, p.answer, p.read, p.left, nil, faults[p.names[1]])
	var from int
	j.both, j.delivered, from = perceive(t, p.answer, p.read, p.left, faults[p.names[0]], faults[p.names[1]])
	j.unread = from < len(p.answer.body)
	return j
}

// wrong says which sentence of the law does not hold; empty: all do.
func (p pair) wrong(j judged) string {
	is := func(want ...int) bool { return slices.Equal(j.delivered, want) }
	waited := j.both.took > 0 && (waits(p.names[0]) || waits(p.names[1]))
	switch first, second := j.both == j.alone[0], j.both == j.alone[1]; {
	case j.both == j.none && !is():
		return "nothing was seen, and one was delivered"
	case j.both != j.none && is():
		return "something was seen, and none was delivered"
	case j.both == j.none:
	case waited:
		for i, name := range p.names {
			other, same := j.alone[1-i].untimed(), j.both.untimed()
			if !waits(name) && slices.Contains(j.delivered, i) && !j.unread && same == other && same != j.alone[i].untimed() {
				return "it was a wait that was seen, and the other one was delivered too"
			}
		}
	case j.unread && (first || second):
	case first && !second && !is(0), second && !first && !is(1):
		return "what was seen is what one shows alone, and the other was delivered"
	case !first && !second && j.alone[0] != j.none && j.alone[1] != j.none && !is(0, 1):
		return "both were seen, and one was not delivered"
	}
	return ""
}

// Two faults on the body of one answer, however much of it the client reads before it
// leaves: those are delivered that explain what it got. The oracle makes the exchange
// without faults and with each of them alone. Where the callee's answer was not read, as
// another was put in its place, what one fault would have made of it is not known, and the
// faults' own word stands.
func TestTheDeliveredOfTwoFaultsExplainWhatTheClientGot(t *testing.T) {
	faults := onBodies()
	names, answers, reads := slices.Sorted(maps.Keys(faults)), answersOf(), []int{0, 1, 3, 30, -1}
	counts, first := map[string]int{}, []string{} // a bubble that failed would end the test
	check := func(t *testing.T, p pair) {
		j := p.judge(t, faults)
		counts["pairs"]++
		if j.unread && len(j.delivered) == 2 && (j.both == j.alone[0] || j.both == j.alone[1]) {
			counts["the callee's answer was not read"]++
		}
		if wrong := p.wrong(j); wrong != "" {
			if counts[wrong]++; len(first) < 10 {
				first = append(first, fmt.Sprintf("%s: %s, %d bytes read, left %t: %s, then %s: %v\n%+v", wrong,
					p.answer.name, p.read, p.left, p.names[0], p.names[1], j.delivered, j))
			}
		}
	}
	if os.Getenv("SHAKEDOWN_DEEP") == "all" { // two minutes; under the race detector it would be a quarter of an hour
		for _, a := range answers {
			for _, read := range reads {
				for _, x := range names {
					synctest.Test(t, func(t *testing.T) {
						for _, y := range names {
							check(t, pair{a, read, [2]string{x, y}, false})
							check(t, pair{a, read, [2]string{x, y}, true})
						}
					})
				}
			}
		}
	} else {
		const sample = 3000
		draw := rand.New(rand.NewPCG(24, 3))
		any := func() string { return names[draw.IntN(len(names))] }
		synctest.Test(t, func(t *testing.T) {
			for range sample {
				answer, read := answers[draw.IntN(len(answers))], reads[draw.IntN(len(reads))]
				check(t, pair{answer, read, [2]string{any(), any()}, draw.IntN(3) == 0})
			}
		})
	}
	t.Logf("%v", counts)
	for _, wrong := range first {
		assert.Fail(t, wrong)
	}
}

// What hides a fault from the client: a case each.
func TestAFaultThatTheClientDidNotSeeIsNotDelivered(t *testing.T) {
	const all = -1
	faults := onBodies()
	answers := map[string]answerOf{}
	for _, a := range answersOf() {
		answers[a.name] = a
	}
	for name, tt := range map[string]struct {
		answer    string
		read      int
		faults    []string
		delivered []int
	}{
		"two swaps give the order back":                                 {"short events", all, []string{"SwapEvents 0", "SwapEvents 0"}, nil},
		"a cut shows of three, two take each other back":                {"short events", all, []string{"SwapEvents 0", "SwapEvents 0", "CutStream 2"}, []int{2}},
		"the outer one reads ahead of the client":                       {"short events", 3, []string{"MalformEvent 1", "DuplicateEvent 0"}, nil},
		"the outer one cuts before it":                                  {"short events", all, []string{"MalformEvent 2", "CutStream 1"}, []int{1}},
		"the outer one shows what the inner one did":                    {"short events", 25, []string{"MalformEvent 1", "SwapEvents 0"}, []int{0, 1}},
		"the error of the inner one is read ahead":                      {"document", 1, []string{"CutBody 20", "FlipSign"}, nil},
		"a page in the place of what was changed":                       {"document", all, []string{"OffByOne", "FlipSign", "HTMLPage"}, []int{2}},
		"the same page twice":                                           {"document", all, []string{"HTMLPage", "HTMLPage"}, []int{0}},
		"an answer in the place of the callee's, and a page in its own": {"document", all, []string{"Replace", "HTMLPage"}, []int{1}},
		"two changes side by side":                                      {"document", all, []string{"OffByOne", "FlipSign"}, []int{0, 1}},
		"a change and back":                                             {"document", all, []string{"FlipSign", "FlipSign"}, nil},
		"a change and back, of unknown length":                          {"chat of unknown length", all, []string{"FlipSign", "FlipSign"}, nil},
		"a change of the length and back":                               {"one member", all, []string{"More", "Less"}, nil},
		"a change of an unknown length and back":                        {"one member of unknown length", all, []string{"More", "Less"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var list []chaos.Fault
			for _, f := range tt.faults {
				require.Contains(t, faults, f)
				list = append(list, faults[f])
			}
			for _, left := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					p, delivered, _ := perceive(t, answers[tt.answer], tt.read, left, list...)
					assert.Equal(t, tt.delivered, delivered, "%+v", p)
					if none, _, _ := perceive(t, answers[tt.answer], tt.read, left); delivered == nil {
						assert.Equal(t, none, p)
					}
				})
			}
		})
	}
}

// demanding changes an order, and ends its goroutine if the order is not as it wants it.
type demanding struct{ wants string }

func (demanding) Phase() chaos.Phase { return chaos.PhaseChange }
func (f demanding) Inject(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
	result, err := next(ctx, args)
	if doc, _ := result.(json.RawMessage); !strings.Contains(string(doc), f.wants) {
		runtime.Goexit()
	}
	chaos.Changed(ctx)
	return json.RawMessage(`{"id":9}`), err
}

// A fault of the user's runs once more to find out what the client got, on an order that it
// was never given. How it ends then is no concern of the client's.
func TestAFaultThatEndsItsGoroutineLateHarmsNobody(t *testing.T) {
	order := answerOf{name: "document", kind: "application/json", body: `{"id":7,"n":-5}`, sized: true}
	for _, left := range []bool{false, true} {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, delivered, _ := perceive(t, order, 10, left, lies.FlipSign("$.n"), onBody(demanding{`"n":5`}))
			assert.Equal(t, []int{0, 1}, delivered, "left %t", left)
			ended <- struct{}{}
		}()
		_, returned := <-ended
		assert.True(t, returned, "left %t", left)
	}
}

// onHTTP are the faults that an HTTP call can meet: of each family one and
// of those that spoil bodies all.
func onHTTP() map[string]chaos.Fault {
	faults := map[string]chaos.Fault{
		"SlowFirstEvent": chaoshttp.SlowFirstEvent(time.Minute), "SlowEvents": chaoshttp.SlowEvents(time.Second), "CutEvent": chaoshttp.CutEvent(1),
		"CutStream": chaoshttp.CutStream(1), "MalformEvent": chaoshttp.MalformEvent(1), "DuplicateEvent": chaoshttp.DuplicateEvent(1),
		"SwapEvents": chaoshttp.SwapEvents(1), "DropTerminator": chaoshttp.DropTerminator(),
		"ErrorEvent":     chaoshttp.ErrorEvent(chaoshttp.OpenAI, chaoshttp.KindServer, 1),
		"CutCompletion":  chaoshttp.CutCompletion(3),
		"CutCompletion9": chaoshttp.CutCompletion(999), "GarbleCompletion": chaoshttp.GarbleCompletion(),
		"OnBody": onBody(fault.Replace(json.RawMessage(`{"id":8}`))), "OnBodyOfNothing": onBody(lies.FlipSign("$.absent")),
		"Delay": fault.Delay(time.Second), "Fail": fault.Fail(errors.New("down")), "Timeout": fault.Timeout(time.Second),
		"LoseReply": fault.LoseReply(), "Duplicate": fault.Duplicate(), "DeliverTwice": fault.DeliverTwice(),
		"SilentNoOp": fault.SilentNoOp(), "SilentNoOpWith": fault.SilentNoOpWith(json.RawMessage(`{"id":9}`)),
		"Replace": fault.Replace(json.RawMessage(`{"id":9}`)), "LateResult": fault.LateResult("POST *", time.Second, time.Second),
		"IgnoreCancel": fault.IgnoreCancel(), "DelayedVisibility": fault.DelayedVisibility("GET *", time.Hour, nil),
		"TokenBudget": fault.TokenBudget(1<<30, fault.OpenAIUsage, 0), "FlipSign": lies.FlipSign(), "Stale": lies.Stale(1), "HTMLPageLie": lies.HTMLPage(),
	}
	for _, r := range catalogue() {
		if !strings.HasPrefix(r.name, "Status ") || r.name == "Status Bad Gateway" {
			faults[r.name] = r.fault
		}
	}
	return faults
}

// rulesOf are the names that an event knows.
func rulesOf(e chaos.Event) []string {
	names := slices.Concat(e.Also, e.Idle, e.Masked)
	if e.Rule != "" {
		names = append(names, e.Rule)
	}
	slices.Sort(names)
	return names
}

// A fault whose answer another one replaced was not seen, whatever its header
// said.
func TestAnAnswerThatWasReplacedIsNotDelivered(t *testing.T) {
	for name, f := range map[string]chaos.Fault{
		"HTMLPage": chaoshttp.HTMLPage(), "ShortBody": chaoshttp.ShortBody(3), "CutBody": chaoshttp.CutBody(1),
		"OnBody": onBody(fault.Replace(json.RawMessage(`{"id":8}`))), "TokenBudget": fault.TokenBudget(1, fault.OpenAIUsage, 0),
	} {
		in := injectorOf(t, chaos.Rule{Name: "inner", Fault: f, Limit: 1}, chaos.Rule{Name: "outer", Fault: fault.Replace(json.RawMessage(`{"id":9}`))})
		g := ask(chaos.NewContext(t.Context(), in), t, inProcess(t, desk), "https://example.com/", "{}")
		require.NoError(t, g.err, name)
		assert.Equal(t, `{"id":9}`, g.body, name)
		assert.Equal(t, []string{"inner"}, in.Undelivered(), name)
		assert.Equal(t, "outer", onlyEvent(t, in).Rule, name)
	}
}

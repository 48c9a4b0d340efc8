package findings_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract/findings"
)

const ms = time.Millisecond

// tools declare what the calls of these tests need.
func tools() []chaos.Tool {
	return []chaos.Tool{
		{Name: "refund", Effect: chaos.EffectDone},
		{Name: "pay", Effect: chaos.EffectDone, IdempotencyKey: "/key"},
		{Name: "get", Effect: chaos.EffectNone},
		{Name: "odd", Effect: chaos.EffectUnknown},
	}
}

func ok(tool, args string) findings.Call {
	return findings.Call{Tool: tool, Args: json.RawMessage(args), Result: json.RawMessage(`"ok"`)}
}

func fails(tool, args, text string) findings.Call {
	return findings.Call{Tool: tool, Args: json.RawMessage(args), Error: &findings.CallError{Text: text}}
}

func with(c findings.Call, change func(*findings.Call)) findings.Call {
	change(&c)
	return c
}

func effect(e findings.Effect) func(*findings.Call) { return func(c *findings.Call) { c.Effect = e } }

func lane(l string) func(*findings.Call) { return func(c *findings.Call) { c.Lane = l } }

func at(begin, took time.Duration) func(*findings.Call) {
	return func(c *findings.Call) { c.At, c.Took = begin, took }
}

func without(parts ...findings.Part) func(*findings.Call) {
	return func(c *findings.Call) {
		c.Missing = parts
		for _, p := range parts {
			switch p {
			case findings.Args:
				c.Args = nil
			case findings.Result, findings.End:
				c.Result = nil
			}
		}
	}
}

const (
	order   = `{"order":1042}`
	other   = `{"order":1043}`
	timeout = "i/o timeout"
	gone    = "404 Not Found"
)

// shown is what a report says of one kind: the calls of each finding, or why it is null.
func shown(r *findings.Report, kind findings.Kind) string {
	text := ""
	for _, f := range r.Of(kind) {
		text += fmt.Sprint(f.Calls)
	}
	if r.Counts[kind] == nil {
		text += "null"
	}
	return text
}

func TestFind(t *testing.T) {
	const (
		retry, storm, loop = findings.Retry, findings.Storm, findings.Loop
		duplicate, final   = findings.DuplicateEffect, findings.AfterFinal
		abandoned          = findings.Abandoned
		secret             = `{"password":"[redacted]"}`
	)
	seq := func(calls ...findings.Call) []findings.Call { return calls }
	for _, tc := range []struct {
		why   string
		kind  findings.Kind
		want  string
		calls []findings.Call
	}{
		{"no call, no finding", retry, "", nil},
		{"a call after a failed one of its tool", retry, "[1 2]", seq(fails("get", order, timeout), ok("get", order))},
		{"another lane is another operation", retry, "",
			seq(fails("get", order, timeout), with(ok("get", order), lane("b")))},
		{"a call before the failed one had ended is none", retry, "",
			seq(with(fails("get", order, timeout), at(0, 9*ms)), with(ok("get", order), at(5*ms, ms)))},
		{"the call before is the last that had ended", retry, "[1 3]", seq(with(fails("get", order, timeout), at(0, 3*ms)),
			with(ok("get", order), at(ms, 9*ms)), with(ok("get", order), at(5*ms, ms)))},
		{"each row of retries is a finding", retry, "[1 2][3 4]", seq(fails("get", order, timeout), ok("get", order),
			fails("get", order, timeout), ok("get", order))},
		{"three in a row are a storm, not a retry", retry, "", seq(fails("get", order, timeout),
			fails("get", other, timeout), fails("get", order, timeout), ok("get", other))},
		{"three in a row", storm, "[1 2 3 4]", seq(fails("get", order, timeout),
			fails("get", other, timeout), fails("get", order, timeout), ok("get", other))},
		{"a failure in words is one", retry, "[1 2]",
			seq(with(ok("get", order), func(c *findings.Call) { c.Suspected = true }), ok("get", order))},
		{"a doubt accuses nobody", retry, "null",
			seq(with(ok("get", order), func(c *findings.Call) { c.Missing = []findings.Part{findings.Outcome} }), ok("get", order))},
		{"models are not judged", retry, "", seq(with(fails("gpt", "", timeout), func(c *findings.Call) { c.Type = findings.Model }),
			with(ok("gpt", ""), func(c *findings.Call) { c.Type = findings.Model }))},

		{"three equal calls", loop, "[1 2 3]", seq(ok("get", order), ok("get", order), ok("get", order))},
		{"arguments are compared by value", loop, "[1 2 3]",
			seq(ok("get", `{"a":1,"b":2}`), ok("get", `{"b":2,"a":1.0}`), ok("get", ` {"a":1, "b":2}`))},
		{"a sequence of eight", loop, "[1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24]", rounds(8, 3)},
		{"a sequence of nine is too long", loop, "", rounds(9, 3)},
		{"the last time may be cut", loop, "[1 2 3 4 5 6 7]", append(rounds(2, 3), rounds(2, 1)[0])},
		{"what breaks the sequence ends the loop", loop, "", seq(ok("get", order), ok("get", order), ok("get", other),
			ok("get", order))},
		{"calls within other calls are apart", loop, "[1 3 5]", seq(ok("get", order),
			with(ok("http", `1`), func(c *findings.Call) { c.Parent = 1 }), ok("get", order),
			with(ok("http", `2`), func(c *findings.Call) { c.Parent = 3 }), ok("get", order))},
		{"without arguments it may be one", loop, "null", seq(ok("get", order), with(ok("get", order), without(findings.Args)),
			ok("get", order))},
		{"by hashes", loop, "[1 2 3]", seq(hashed("get", "a1"), hashed("get", "a1"), hashed("get", "a1"))},
		{"truncated arguments are not whole", loop, "null", seq(cut("get"), cut("get"), cut("get"))},

		{"an effect twice for equal arguments", duplicate, "[1 2]", seq(ok("refund", order), ok("refund", order))},
		{"the reply was lost, and it was done", duplicate, "[1 2]",
			seq(with(fails("refund", order, timeout), effect(findings.Done)), ok("refund", order))},
		{"it was not done", duplicate, "",
			seq(with(fails("refund", order, timeout), effect(findings.NotDone)), ok("refund", order))},
		{"nobody knows whether it was done", duplicate, "null", seq(fails("refund", order, timeout), ok("refund", order))},
		{"one key, one effect", duplicate, "", seq(ok("pay", `{"order":1,"key":"a"}`), ok("pay", `{"key":"a","order":1}`))},
		{"equal but for the key", duplicate, "[1 2]", seq(ok("pay", `{"order":1,"key":"a"}`), ok("pay", `{"order":1,"key":"b"}`))},
		{"one key, and perhaps done before", duplicate, "", seq(fails("pay", `{"order":1,"key":"a"}`, timeout),
			ok("pay", `{"order":1,"key":"a"}`))},
		{"another key, and perhaps done before", duplicate, "null", seq(fails("pay", `{"order":1,"key":"a"}`, timeout),
			ok("pay", `{"order":1,"key":"b"}`))},
		{"lanes are together: the world is one", duplicate, "[1 2]", seq(ok("refund", order), with(ok("refund", order), lane("b")))},
		{"a tool that declares nothing", duplicate, "null", seq(ok("write", order), ok("write", order))},
		{"two secrets may have been redacted to one", duplicate, "null", seq(ok("refund", secret), ok("refund", secret))},
		{"arguments were not recorded", duplicate, "null", seq(ok("refund", order), with(ok("refund", ""), without(findings.Args)))},

		{"equal arguments after a permanent failure", final, "[1 2]", seq(fails("get", order, gone), fails("get", order, gone))},
		{"other arguments", final, "", seq(fails("get", order, gone), fails("get", other, gone))},
		{"transient, then permanent", final, "[2 3]", seq(fails("get", order, timeout), fails("get", order, gone),
			fails("get", order, gone))},
		{"it succeeded: the failure was not permanent", final, "", seq(fails("get", order, gone), ok("get", order))},
		{"the callee asked to come again", final, "", seq(with(fails("get", order, gone), func(c *findings.Call) {
			c.Error.RetryAfter = time.Second
		}), fails("get", order, gone))},
		{"nobody knows whether it is permanent", final, "null", seq(fails("get", order, "oops"), fails("get", order, gone))},
		{"something was changed in between", final, "null", seq(fails("get", order, gone), ok("refund", order),
			fails("get", order, gone))},
		{"at the same time", final, "", seq(with(fails("get", order, gone), at(0, 9*ms)), with(fails("get", order, gone), at(5*ms, ms)))},
		{"another password, for all we know", final, "null", seq(fails("get", secret, gone), fails("get", secret, gone))},
		{"arguments were not recorded", final, "null", seq(fails("get", order, gone),
			with(fails("get", "", gone), without(findings.Args)))},

		{"a failure, and nothing after", abandoned, "[1]", seq(fails("refund", order, timeout))},
		{"the callee may have refused it", abandoned, "null", seq(fails("refund", order, "401 Unauthorized"))},
		{"refused, and known to have been done", abandoned, "[1]",
			seq(with(fails("refund", order, "401 Unauthorized"), effect(findings.Done)))},
		{"it succeeded", abandoned, "", seq(ok("refund", order))},
		{"a tool without effects", abandoned, "", seq(fails("get", order, timeout))},
		{"repeated, and open again", abandoned, "[2]", seq(fails("refund", order, timeout), fails("refund", order, timeout))},
		{"repeated with another key", abandoned, "", seq(fails("pay", `{"order":1,"key":"a"}`, timeout),
			ok("pay", `{"order":1,"key":"b"}`))},
		{"looked up by a value of its arguments", abandoned, "", seq(fails("refund", order, timeout), ok("get", `{"id":1042}`))},
		{"looked up by a name and a small value", abandoned, "",
			seq(fails("refund", `{"order":7}`, timeout), ok("get", `{"order":7}`))},
		{"small values are shared by chance", abandoned, "null",
			seq(fails("refund", `{"order":7}`, timeout), ok("get", `{"page":7}`))},
		{"the look-up failed", abandoned, "null", seq(fails("refund", order, timeout), fails("get", order, timeout))},
		{"nobody knows what was looked up", abandoned, "null", seq(fails("refund", order, timeout), ok("get", `{}`))},
		{"tried with other arguments", abandoned, "null", seq(fails("refund", order, timeout), ok("refund", other))},
		{"what was redacted is no value that two calls share", abandoned, "null", seq(fails("refund", secret, timeout), ok("get", secret))},
		{"what began before it had ended is none", abandoned, "[1]",
			seq(with(fails("refund", order, timeout), at(0, 9*ms)), with(ok("get", order), at(5*ms, ms)))},
		{"a tool that declares nothing", abandoned, "null", seq(fails("write", order, timeout))},
		{"what a tool that declares its effect does within", abandoned, "", seq(ok("get", order),
			with(fails("http", other, timeout), func(c *findings.Call) { c.Parent = 1 }))},
		{"a tool that declares that its effect is unknown covers nothing", abandoned, "null", seq(ok("odd", order),
			with(fails("http", other, timeout), func(c *findings.Call) { c.Parent = 1 }))},
		{"whose work was known to be done elsewhere", abandoned, "[2]",
			seq(with(ok("write", other), effect(findings.Done)), fails("write", order, timeout))},
	} {
		t.Run(string(tc.kind)+": "+tc.why, func(t *testing.T) {
			r, err := findings.Find(tc.calls, &findings.Options{Tools: tools()})
			require.NoError(t, err)
			assert.Equal(t, tc.want, shown(r, tc.kind), "%+v %+v", r.Findings, r.Unjudged)
			for k, n := range r.Counts {
				assert.Equal(t, n == nil, r.Unjudged[k] != "", "what is null has a reason")
				if n != nil {
					assert.Len(t, r.Of(k), *n)
				}
			}
		})
	}
}

// rounds makes a sequence of different calls several times.
func rounds(length, times int) (calls []findings.Call) {
	for i := range length * times {
		calls = append(calls, ok("get", fmt.Sprintf(`{"page":%d}`, i%length)))
	}
	return calls
}

func hashed(tool, hash string) findings.Call { return findings.Call{Tool: tool, ArgsHash: hash} }

func cut(tool string) findings.Call {
	return with(ok(tool, order), func(c *findings.Call) { c.Truncated = true })
}

func TestVerdict(t *testing.T) {
	bad, good := fails("get", order, timeout), ok("get", order)
	unknown := with(ok("get", order), without(findings.End))
	stopped, retried, runaway := findings.Stopped, findings.Retried, findings.Runaway
	for _, tc := range []struct {
		why   string
		calls []findings.Call
		want  *findings.Verdict
	}{
		{"no call says nothing", nil, nil},
		{"calls without failures", []findings.Call{good, good, good, good}, &stopped},
		{"three, not in a row", []findings.Call{bad, good, bad, good, bad, good}, &runaway},
		{"the worst operation decides", []findings.Call{bad, good, fails("pay", order, timeout), fails("pay", order, timeout),
			fails("pay", order, timeout), ok("pay", order)}, &runaway},
		{"perhaps a retry", []findings.Call{unknown, good}, nil},
		{"one retry, and perhaps another", []findings.Call{bad, unknown, good}, &retried},
		{"two, and perhaps a third", []findings.Call{bad, bad, unknown, good}, nil},
	} {
		t.Run(tc.why, func(t *testing.T) {
			r, err := findings.Find(tc.calls, nil)
			require.NoError(t, err)
			assert.Equal(t, tc.want, r.Verdict)
		})
	}
}

// A call that failed in words is quoted, and is permanent by them.
func TestFailuresInWords(t *testing.T) {
	suspected := with(ok("get", order), func(c *findings.Call) {
		c.Result, c.Suspected = json.RawMessage(`{"error":{"message":"order 1042 not found"}}`), true
	})
	r, err := findings.Find([]findings.Call{suspected, suspected}, nil)
	require.NoError(t, err)
	require.Len(t, r.Of(findings.AfterFinal), 1)
	assert.Equal(t, `get was called again once after it had failed with "order 1042 not found".`, r.Of(findings.Retry)[0].Text)
}

// Calls that were not imported could change everything but what is certain.
func TestCallsThatWereNotImported(t *testing.T) {
	find := func(o findings.Options, calls ...findings.Call) *findings.Report {
		r, err := findings.Find(calls, &o)
		require.NoError(t, err)
		return r
	}
	failed := fails("get", order, timeout)
	o := findings.Options{NotImported: 2}
	for _, r := range []*findings.Report{find(findings.Options{}), find(o, ok("get", order)), find(o, failed, ok("get", order))} {
		assert.Nil(t, r.Verdict)
	}
	r := find(o, failed, failed, failed, failed)
	assert.Equal(t, findings.Runaway, *r.Verdict, "more calls take nothing back")
	assert.Nil(t, r.Operations[0].Retries)
	assert.Len(t, r.Of(findings.Storm), 1)
	for kind, count := range r.Counts {
		assert.Nil(t, count, kind)
		assert.Contains(t, r.Unjudged[kind], "2 calls that the record names", kind)
	}
	_, err := findings.Find(nil, &findings.Options{NotImported: -1})
	assert.ErrorContains(t, err, "findings: Options.NotImported is -1; allowed: 0 or more")
}

func TestWhatWasNotJudgedIsNull(t *testing.T) {
	r, err := findings.Find([]findings.Call{hashed("write", "a1"), with(ok("write", ""), without(findings.End))},
		&findings.Options{Kinds: []findings.Kind{findings.Retry, findings.Abandoned, findings.FalseSuccess, findings.Fabricated}})
	require.NoError(t, err)
	doc, err := json.Marshal(r)
	require.NoError(t, err)
	assert.JSONEq(t, `{"verdict":"stopped","operations":[{"tool":"write","calls":2,"failures":0,"retries":0}],"findings":[],
		"models":0,
		"counts":{"retry":0,"storm":null,"loop":null,"duplicate-effect":null,"after-final":null,"abandoned":null,
			"false-success":null,"fabricated":null},
		"unjudged":{"storm":"It was not looked for.","loop":"It was not looked for.","duplicate-effect":"It was not looked for.",
			"after-final":"It was not looked for.","abandoned":"How write ended was not recorded.",
			"false-success":"The answer is not known.","fabricated":"The answer is not known."}}`, string(doc))
}

func TestBadInput(t *testing.T) {
	calls := []findings.Call{{Tool: "a", Parent: 2, Type: "robot", Effect: "some"}, {}}
	_, err := findings.Find(calls, &findings.Options{
		Kinds: []findings.Kind{"retries"},
		Tools: []chaos.Tool{{Name: "a", IdempotencyKey: "key", Effect: "much"}},
		Claims: []findings.Claim{{}, {Says: "(", Unless: ")", Tool: "["},
			{Says: "a", Bare: true, Unless: "b", Tool: "*"}},
	})
	var problem *findings.FieldError
	require.ErrorAs(t, err, &problem)
	for _, says := range []string{
		`findings: Options.Kinds[0] is "retries"`, `Options.Tools[0].IdempotencyKey is "key"`, `Options.Tools[0].Effect is "much"`,
		`calls[0].Type is "robot"`, `calls[0].Effect is "some"`, `Options.Claims[0].Says is ""`, `Options.Claims[1].Says is "("`,
		`Options.Claims[1].Unless is ")"`, `Options.Claims[1].Tool is "["`, `Options.Claims[2].Unless is "b"`,
		`calls[1].Tool is ""`,
	} {
		assert.ErrorContains(t, err, says)
	}
}

// What an audit found is said with what the calls show, and where they leave it open.
func TestAudit(t *testing.T) {
	const found = "an audit found that it doubles."
	o := &findings.Options{Tools: []chaos.Tool{{Name: "refund", Effect: chaos.EffectDone, Audit: "it doubles"}}}
	r, err := findings.Find([]findings.Call{ok("refund", order), ok("refund", order)}, o)
	require.NoError(t, err)
	assert.Equal(t, "the effect of refund was done 2 times for equal arguments; "+found, r.Findings[0].Text)
	r, err = findings.Find([]findings.Call{fails("refund", order, timeout), ok("refund", order)}, o)
	require.NoError(t, err)
	assert.Contains(t, r.Unjudged[findings.DuplicateEffect], "called more than once with equal arguments; "+found)
}

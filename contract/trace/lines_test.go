package trace_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/contract/trace"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

const head = `{"format":"shakedown/samples","version":1,"epoch":"2026-05-04T03:02:01Z"}` + "\n"

func anySample() *rapid.Generator[timeline.Sample] {
	return rapid.Custom(func(t *rapid.T) timeline.Sample {
		name := rapid.SampledFrom([]string{"", "agent", "llm.chat", "söker 🔍", "a\"b\\c", "<&>", "line\nbreak", "\x00"})
		start := time.Duration(rapid.Int64Range(0, math.MaxInt64/2).Draw(t, "start"))
		return timeline.Sample{
			Caller: name.Draw(t, "caller"), Target: "x" + name.Draw(t, "target"), Class: name.Draw(t, "class"), Lane: name.Draw(t, "lane"),
			Key: rapid.Uint64().Draw(t, "key"), Start: start, End: start + time.Duration(rapid.Int64Range(0, math.MaxInt64/2).Draw(t, "length")),
			Type:   rapid.SampledFrom([]timeline.NodeType{"", timeline.NodeAgent, timeline.NodeTool, timeline.NodeLLM, timeline.NodeHTTP, timeline.NodePoint}).Draw(t, "type"),
			Failed: rapid.Bool().Draw(t, "failed"), Attempt: rapid.IntRange(0, math.MaxInt).Draw(t, "attempt"), Final: rapid.Bool().Draw(t, "final"),
			Fault: name.Draw(t, "fault"), Rule: name.Draw(t, "rule"),
		}
	})
}

func TestLinesComeBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		epoch := time.Unix(rapid.Int64Range(-1<<35, 1<<37).Draw(t, "epoch"), rapid.Int64Range(0, 999999999).Draw(t, "ns")).UTC()
		want := &trace.SampleList{Epoch: epoch, Samples: rapid.SliceOf(anySample()).Draw(t, "samples")}
		var text bytes.Buffer
		require.NoError(t, want.WriteLines(&text))
		got, err := trace.ReadLines(iotest.OneByteReader(&text), nil)
		require.NoError(t, err)
		require.Equal(t, want.Epoch, got.Epoch)
		require.Len(t, got.Samples, len(want.Samples))
		for i := range want.Samples {
			require.Equal(t, want.Samples[i], got.Samples[i])
		}
	})
}

func TestWrongLinesAreLocated(t *testing.T) {
	for _, tt := range []struct{ why, text, want string }{
		{"nothing at all", "", `trace: line 1: header is missing; allowed: a first line {"format":"shakedown/samples","version":1,"epoch":"…"} with a time in RFC 3339`},
		{"no header", `{"target":"a","startNs":0,"endNs":1}` + "\n", `trace: line 1: target is unknown field; allowed: one of format, version, epoch`},
		{"the header of a later version", strings.Replace(head, "1,", "2,", 1), `trace: line 1: header is "{\"format\"`},
		{"a header without an epoch", `{"format":"shakedown/samples","version":1}`, `trace: line 1: epoch is missing`},
		{"a wrong epoch", `{"format":"shakedown/samples","version":1,"epoch":"noon"}`, `trace: line 1: epoch is "noon"; allowed: a time in RFC 3339`},
		{"an epoch that is before the year 0 in UTC", `{"format":"shakedown/samples","version":1,"epoch":"0000-01-01T00:00:00+23:59"}`, `trace: line 1: epoch is "0000`},
		{"not JSON", head + "target=a\n", `trace: line 2: line 1, column 2: invalid character 'a'`},
		{"a line cut short", head + `{"target":"a","startNs":0`, `trace: line 2: line 1, column 25: unexpected end`},
		{"an empty line", head + "\n" + `{"target":"a","startNs":0,"endNs":1}`, `trace: line 2: line 1, column 1: unexpected end of JSON input`},
		{"an array", head + "[1]\n", `trace: line 2 is wrong type a list; allowed: an object`},
		{"two objects on a line", head + `{"target":"a","startNs":0,"endNs":1}{}`, `invalid character '{' after top-level value`},
		{"not UTF-8", head + "{\"target\":\"\xff\"}\n", `trace: line 2: the document is not UTF-8`},
		{"a nested value", head + `{"target":{"name":"a"}}`, `trace: line 2: target is wrong type an object; allowed: a string`},
		{"what a run would refuse", head + `{"target":"a","startNs":5,"endNs":1}`, `trace: line 2: sample is "a": timeline: end is 1ns; allowed: 5ns or more, where it starts`},
		{"an unknown type", head + `{"target":"a","startNs":5,"endNs":5,"type":"cron"}`, `timeline: type is "cron"; allowed: agent, tool, llm, http or point`},
		{"an unknown member", head + `{"target":"a","startNs":0,"endNs":1,"color":"red"}`, `trace: line 2: color is unknown field; allowed: one of caller, target, `},
		{"a member in other letters", head + `{"Target":"a","startNs":0,"endNs":1}`, `did you mean target?`},
		{"a member twice", head + `{"target":"a","target":"b","startNs":0,"endNs":1}`, `trace: line 2: target is duplicate; allowed: each member of an object once`},
		{"a missing member", head + `{"target":"a","endNs":1}`, `trace: line 2: startNs is missing`},
		{"null", head + `{"target":"a","startNs":0,"endNs":1,"lane":null}`, `trace: line 2: lane is wrong type null; allowed: a string`},
		{"a key that readers may round", head + `{"target":"a","startNs":0,"endNs":1,"key":9007199254740992}`, `trace: line 2: key is bad value 9007199254740992`},
		{"a fraction of a nanosecond", head + `{"target":"a","startNs":0.5,"endNs":1}`, `trace: line 2: startNs is wrong type a number; allowed: an integer of nanoseconds since the epoch`},
		{"truth in words", head + `{"target":"a","startNs":0,"endNs":1,"failed":"yes"}`, `trace: line 2: failed is wrong type a string; allowed: true or false`},
		{"an attempt in words", head + `{"target":"a","startNs":0,"endNs":1,"attempt":"2"}`, `trace: line 2: attempt is wrong type a string; allowed: an integer`},
	} {
		t.Run(tt.why, func(t *testing.T) {
			got, err := trace.ReadLines(strings.NewReader(tt.text), nil)
			assert.Nil(t, got)
			require.ErrorContains(t, err, tt.want)
			var input *trace.FieldError
			require.ErrorAs(t, err, &input)
			assert.Positive(t, input.Line)
		})
	}
}

func TestSpellingsThatMeanTheSame(t *testing.T) {
	r, err := trace.ReadLines(strings.NewReader(head+"\t{ \"tar\\u0067et\" :\"a\\\"\\u00e4\", \"endNs\":1 ,\"startNs\":0,\"lane\":\"\\\\\" } \r\n"), nil)
	require.NoError(t, err)
	assert.Equal(t, []timeline.Sample{{Target: "a\"ä", Lane: `\`, End: 1}}, r.Samples)
}

func TestAllWrongLinesAreReported(t *testing.T) {
	_, err := trace.ReadLines(strings.NewReader(head+strings.Repeat("{}\n", 10)), nil)
	assert.ErrorContains(t, err, "trace: line 7: target is missing")
	assert.ErrorContains(t, err, "trace: and 14 more problems")
	assert.NotContains(t, err.Error(), "line 9")
}

func TestLimitsOfReading(t *testing.T) {
	line := `{"target":"a","startNs":0,"endNs":1}` + "\n"
	long := `{"target":"` + strings.Repeat("a", 70<<10) + `","startNs":0,"endNs":1}` + "\n"
	for _, tt := range []struct {
		why, text string
		options   trace.ReadOptions
		want      string
	}{
		{why: "just enough samples", text: head + line + line, options: trace.ReadOptions{MaxSamples: 2}},
		{why: "a sample too many", text: head + line + line + line, options: trace.ReadOptions{MaxSamples: 2}, want: "trace: line 4: input is too long; allowed: at most 2 samples"},
		{why: "just enough bytes", text: head + line, options: trace.ReadOptions{MaxBytes: int64(len(head + line))}},
		{why: "a byte too many", text: head + line + "\n", options: trace.ReadOptions{MaxBytes: int64(len(head + line))}, want: "allowed: at most MaxBytes bytes in all"},
		{why: "a line too long ends the reading", text: head + long + "{}\n", want: "trace: line 2: line is too long; allowed: at most 65536 bytes"},
		{why: "a line too long at the end", text: head + strings.TrimSuffix(long, "\n"), want: "trace: line 2: line is too long; allowed: at most 65536 bytes"},
		{why: "a negative limit", options: trace.ReadOptions{MaxBytes: -1, MaxSamples: -1}, want: "trace: maxBytes is -1; allowed: at most 1 TiB, or 0 for 64 MiB\ntrace: maxSamples is -1"},
		{why: "no end of the last line", text: head + strings.TrimSuffix(line, "\n")},
		{why: "lines that end as in Windows", text: strings.ReplaceAll(head+line, "\n", "\r\n")},
		{why: "no samples", text: head},
	} {
		t.Run(tt.why, func(t *testing.T) {
			_, err := trace.ReadLines(strings.NewReader(tt.text), &tt.options)
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestReadersThatFail(t *testing.T) {
	broken := errors.New("the disk is gone")
	_, err := trace.ReadLines(iotest.ErrReader(broken), nil)
	require.ErrorIs(t, err, broken)
	_, err = trace.ReadOTLP(iotest.ErrReader(broken), nil)
	require.ErrorIs(t, err, broken)
}

func TestWhatCannotBeWritten(t *testing.T) {
	fine := timeline.Sample{Target: "a"}
	for _, tt := range []struct {
		why  string
		r    trace.SampleList
		want string
	}{
		{"a name that is not UTF-8", trace.SampleList{Samples: []timeline.Sample{fine, {Target: "\xff"}}}, `trace: line 3: sample is "\xff": "\xff" is not UTF-8`},
		{"a sample that would be refused", trace.SampleList{Samples: []timeline.Sample{{}}}, `trace: line 2: sample is "": timeline: target`},
		{"a year of five digits", trace.SampleList{Epoch: time.Date(12345, 1, 1, 0, 0, 0, 0, time.UTC)}, `trace: line 1: epoch is "12345`},
		{"a name of megabytes", trace.SampleList{Samples: []timeline.Sample{{Target: strings.Repeat("a", 1<<20)}}}, "allowed: at most 65536"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			var text bytes.Buffer
			require.ErrorContains(t, tt.r.WriteLines(&text), tt.want)
		})
	}
}

func FuzzReadLines(f *testing.F) {
	f.Add(head + `{"target":"a","startNs":0,"endNs":1}`)
	f.Add(head + `{"caller":"agent","target":"llm.chat","class":"c","lane":"l","key":"18446744073709551615","type":"llm","startNs":1,"endNs":2,"failed":true,"attempt":2,"final":true,"fault":"f","rule":"r"}` + "\n{}\n")
	f.Add(head + ` { "tar\u0067et" : "a\"b\u00e4" , "startNs" : 0,"endNs":1,"lane":"" } `)
	f.Add(`{"format":"shakedown/samples","version":1,"epoch":"0000-01-01T00:00:00+23:59"}`)
	f.Add("")
	f.Add(head + "\xff\n[[[")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := trace.ReadLines(strings.NewReader(text), &trace.ReadOptions{MaxSamples: 100})
		if err != nil {
			assert.Nil(t, got)
			return
		}
		var again bytes.Buffer
		require.NoError(t, got.WriteLines(&again), "what was read can be written")
		back, err := trace.ReadLines(&again, nil)
		require.NoError(t, err)
		require.Equal(t, got, back)
		for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n")[1:] {
			var s timeline.Sample
			require.NoError(t, json.Unmarshal([]byte(line), &s))
			require.Equal(t, s, got.Samples[i], "what others read of it")
		}
		_, err = got.Run(&timeline.RunOptions{MaxBins: 4})
		require.NoError(t, err, "and judged")
	})
}

package trace

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
)

func someEvent() chaos.Event {
	return chaos.Event{
		Lane: "checkout/worker-3", Target: "orders.lookup", Caller: "llm.chat", Key: 42, Attempt: 1,
		Start: time.Second, End: time.Second + 20*time.Millisecond, Outcome: chaos.OutcomeOK, Effect: chaos.EffectDone,
	}
}

func newRecorder(tb testing.TB, o *Options) *Recorder {
	tb.Helper()
	r, err := NewRecorder(o)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func BenchmarkSample(b *testing.B) {
	r, e := newRecorder(b, nil), someEvent()
	b.ReportAllocs()
	for b.Loop() {
		_ = r.sample(&e)
	}
}

func BenchmarkSampleParallel(b *testing.B) {
	r := newRecorder(b, nil)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		e := someEvent()
		for pb.Next() {
			_ = r.sample(&e)
		}
	})
}

func BenchmarkRecord(b *testing.B) {
	e := someEvent()
	b.Run("alone", func(b *testing.B) {
		r := newRecorder(b, nil)
		r.Record(context.Background(), e)
		b.ReportAllocs()
		for b.Loop() {
			r.Record(context.Background(), e)
		}
	})
	b.Run("parallel", func(b *testing.B) {
		r := newRecorder(b, nil)
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			e := someEvent()
			for pb.Next() {
				r.Record(context.Background(), e)
			}
		})
	})
}

// What a recorded call costs from end to end: without a recorder, and with one.
func BenchmarkRecordedCall(b *testing.B) {
	for _, with := range []bool{false, true} {
		name, o := "events only", &chaos.InjectorOptions{RecordAll: true, MaxLog: -1}
		if with {
			name, o.OnEvent = "recorder", newRecorder(b, nil).Record
		}
		b.Run(name, func(b *testing.B) {
			ctx := chaos.NewContext(context.Background(), chaos.NewInjector(1, o))
			b.ReportAllocs()
			for b.Loop() {
				_ = chaos.Point(ctx, "orders.lookup")
			}
		})
	}
}

func BenchmarkReadOTLP(b *testing.B) {
	var text bytes.Buffer
	text.WriteString(`{"resourceSpans":[{"scopeSpans":[{"spans":[`)
	for i := range 10000 {
		if i > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, `{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"%016x","parentSpanId":"%016x","name":"execute_tool lookup",`+
			`"startTimeUnixNano":"%d","endTimeUnixNano":"%d","attributes":[{"key":"gen_ai.tool.name","value":{"stringValue":"lookup"}}]}`, i+1, i/10+20000, 1+i, 5+i)
	}
	text.WriteString("]}]}]}")
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ReadOTLP(bytes.NewReader(text.Bytes()), nil); err != nil {
			b.Fatal(err)
		}
	}
}

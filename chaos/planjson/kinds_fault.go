package planjson

import (
	"encoding/json"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
)

type (
	latency struct {
		Distribution string        `json:"distribution" bounds:"enum=fixed|uniform|normal|exponential|spike|degrading|degrading_over"`
		Duration     time.Duration `json:"duration,omitempty" doc:"of fixed: the delay"`
		Lo           time.Duration `json:"lo,omitempty" doc:"of uniform: the least, included"`
		Hi           time.Duration `json:"hi,omitempty" doc:"of uniform: the most, excluded"`
		Mean         time.Duration `json:"mean,omitempty" doc:"of normal and exponential: the mean"`
		Stddev       time.Duration `json:"stddev,omitempty" doc:"of normal: the standard deviation"`
		Usual        time.Duration `json:"usual,omitempty" doc:"of spike: the delay of most calls"`
		Spike        time.Duration `json:"spike,omitempty" doc:"of spike: the delay of the others"`
		Share        float64       `json:"share,omitempty" bounds:"min=0,max=1" doc:"of spike: the share of the others"`
		Step         time.Duration `json:"step,omitempty" doc:"of degrading: the delay that each call adds"`
		Most         time.Duration `json:"most,omitempty" doc:"of degrading and degrading_over: the longest delay"`
		Over         time.Duration `json:"over,omitempty" doc:"of degrading_over: the time until the longest delay"`
	}
	message struct {
		Message string `json:"message" doc:"text of the error; the text of a ready-made error gives that error"`
	}
	maybeMessage struct {
		Message *string `json:"message,omitempty" doc:"the value of the panic; left out: an index out of range"`
	}
	wait struct {
		Duration time.Duration `json:"duration" doc:"time until the caller learns of it"`
	}
	waitWith struct {
		Duration time.Duration `json:"duration" doc:"time until the caller learns of it"`
		Message  string        `json:"message,omitempty" doc:"text of the error; left out: that of a time-out"`
	}
	anyValue struct {
		Value json.RawMessage `json:"value" doc:"what the caller gets instead"`
	}
	times struct {
		Times int `json:"times" bounds:"min=2" doc:"number of executions"`
	}
)

func faultKinds() []Kind {
	return []Kind{
		faultRow("latency", "fault.Delay(d), fault.Uniform(lo, hi), fault.Normal(mean, stddev), fault.Exponential(mean), fault.Spike(usual, spike, share), fault.RampUp(step, most), fault.RampUpWith(most, over)",
			"The call takes longer.", `{"distribution":"fixed","duration":"2s"}`, latency.fault),
		failing("error", "fault.Fail(err)", "The call fails.", `{"message":"service unavailable"}`,
			func(err error, _ message) chaos.Fault { return fault.Fail(err) },
			func(p message) string { return p.Message }),
		faultRow("resource_exhaustion", "fault.ResourceExhausted()", "The call fails with \"resource exhausted\".", `{}`,
			func(none) chaos.Fault { return fault.ResourceExhausted() }),
		faultRow("network_partition", "fault.Partition()", "The call fails with \"no route to host\".", `{}`,
			func(none) chaos.Fault { return fault.Partition() }),
		faultRow("panic", "fault.Panic(v)", "The call panics.", `{"message":"index out of bounds"}`, maybeMessage.fault),
		failing("timeout", "fault.Timeout(d), fault.TimeoutWith(d, err)", "The call times out before it reaches its callee.",
			`{"duration":"10s"}`, func(err error, p waitWith) chaos.Fault {
				if p.Message == "" {
					return fault.Timeout(p.Duration)
				}
				return fault.TimeoutWith(p.Duration, err)
			}, func(p waitWith) string { return p.Message }),
		faultRow("lost_reply", "fault.LoseReply(), fault.LoseReplyAfter(d)", "The callee does its work and the reply is lost.", `{"duration":"1s"}`,
			func(p wait) chaos.Fault { return fault.LoseReplyAfter(p.Duration) }),
		faultRow("hang", "fault.Hang()", "The call hangs until its context ends.", `{}`,
			func(none) chaos.Fault { return fault.Hang() }),
		faultRow("replace", "fault.Replace(v)", "The caller gets another result than the callee's.", `{"value":{"status":"shipped"}}`,
			func(p anyValue) chaos.Fault { return fault.Replace(p.Value) }),
		inCode[named](false, "mutate", "fault.Mutate(name, fn)", "The caller gets what a Go function makes of the result.",
			`{"name":"double the amount","type":"int"}`),
		faultRow("duplicate", "fault.Duplicate(), fault.Repeat(n)", "The call is executed several times.", `{"times":2}`,
			func(p times) chaos.Fault { return fault.Repeat(p.Times) }),
	}
}

// failing is a row of a fault with an error among its parameters.
func failing[P any](name, code, doc, example string, build func(error, P) chaos.Fault, text func(P) string) Kind {
	k := newKind(false, name, doc, func(p P, t *table) (any, error) { return build(t.named(text(p)), p), nil })
	k.code, k.example = code, example
	return k
}

func (p latency) fault() chaos.Fault {
	switch p.Distribution {
	case "uniform":
		return fault.Uniform(p.Lo, p.Hi)
	case "normal":
		return fault.Normal(p.Mean, p.Stddev)
	case "exponential":
		return fault.Exponential(p.Mean)
	case "spike":
		return fault.Spike(p.Usual, p.Spike, p.Share)
	case "degrading":
		return fault.RampUp(p.Step, p.Most)
	case "degrading_over":
		return fault.RampUpWith(p.Most, p.Over)
	}
	return fault.Delay(p.Duration)
}

func (p maybeMessage) fault() chaos.Fault {
	if p.Message == nil {
		return fault.Panic(nil)
	}
	return fault.Panic(*p.Message)
}

package planjson

import (
	"encoding/json"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
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
		Err error `json:"message" doc:"text of the error; the text of a ready-made error gives that error"`
	}
	maybeMessage struct {
		Message *string `json:"message,omitempty" doc:"the value of the panic; left out: an index out of range"`
	}
	wait struct {
		Duration time.Duration `json:"duration" doc:"time until the caller learns of it"`
	}
	waitWith struct {
		Duration time.Duration `json:"duration" doc:"time until the caller learns of it"`
		Err      error         `json:"message,omitempty" doc:"text of the error; left out: that of a time-out"`
	}
	anyValue struct {
		Value json.RawMessage `json:"value" doc:"what the caller gets instead"`
	}
	times struct {
		Times int `json:"times" bounds:"min=2" doc:"number of executions"`
	}
)

func faultKinds() []*catalog.Row {
	return []*catalog.Row{
		faultRow("latency", "fault.Delay(d), fault.Uniform(lo, hi), fault.Normal(mean, stddev), fault.Exponential(mean), fault.Spike(usual, spike, share), fault.RampUp(step, most), fault.RampUpWith(most, over)",
			"The call takes longer.", `{"distribution":"fixed","duration":"2s"}`, latency.fault),
		faultRow("error", "fault.Fail(err)", "The call fails.", `{"message":"service unavailable"}`,
			func(p message) chaos.Fault { return fault.Fail(p.Err) }),
		faultRow("resource_exhaustion", "fault.ResourceExhausted()", "The call fails with \"resource exhausted\".", `{}`,
			func(none) chaos.Fault { return fault.ResourceExhausted() }),
		faultRow("network_partition", "fault.Partition()", "The call fails with \"no route to host\".", `{}`,
			func(none) chaos.Fault { return fault.Partition() }),
		catalog.Fault(catalog.Row{Kind: "panic", Go: "fault.Panic(v)", Doc: "The call panics.", Example: `{"message":"index out of bounds"}`, AsText: true}, maybeMessage.fault),
		faultRow("timeout", "fault.Timeout(d), fault.TimeoutWith(d, err)", "The call times out before it reaches its callee.",
			`{"duration":"10s"}`, func(p waitWith) chaos.Fault {
				if p.Err == nil {
					return fault.Timeout(p.Duration)
				}
				return fault.TimeoutWith(p.Duration, p.Err)
			}),
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

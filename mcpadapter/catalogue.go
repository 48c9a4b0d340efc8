package mcpadapter

import (
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
)

// A catalogued fault is one kind of fault, described by an example of it.
type catalogued struct {
	chaos.Description
	Does       string `json:"does"`
	ClientType string `json:"clientType,omitempty"` // what chaos_inject_fault calls it
}

// catalogue lists the faults of package chaos/fault, each with the parameters of
// an example.
func catalogue() []catalogued {
	rows := []struct {
		fault      chaos.Fault
		does       string
		clientType string
	}{
		{fault.Fail(fault.ErrUnavailable), "the call fails with an error; the callee is not reached", typeError},
		{fault.Panic("out of range"), "the call panics in its caller's goroutine", ""},
		{fault.ResourceExhausted(), "the call fails because a resource is used up", typeExhausted},
		{fault.Partition(), "the call fails because the network is cut; a set of targets at once", typePartition},
		{fault.Delay(time.Second), "the call takes longer", typeLatency},
		{fault.Uniform(time.Second, 2*time.Second), "the call takes longer by a time drawn evenly", ""},
		{fault.Normal(time.Second, time.Second), "the call takes longer by a time drawn from a bell curve", ""},
		{fault.Exponential(time.Second), "the call takes longer by a time that is mostly short and sometimes long", ""},
		{fault.Hang(), "the call hangs until its caller gives up", ""},
		{fault.Timeout(time.Second), "the call times out before it reaches its callee", typeTimeout},
		{fault.LoseReplyAfter(time.Second), "the callee does its work and the reply is lost", ""},
		{fault.Replace("stale"), "the callee does its work and the caller gets another result", ""},
		{fault.Duplicate(), "the call is executed twice, the second reply is thrown away", ""},
	}
	list := make([]catalogued, 0, len(rows))
	for _, r := range rows {
		if d, ok := r.fault.(chaos.Described); ok {
			list = append(list, catalogued{d.Describe(), r.does, r.clientType})
		}
	}
	return list
}

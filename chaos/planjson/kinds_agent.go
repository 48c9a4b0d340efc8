package planjson

import (
	"encoding/json"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/chaos/fault"
)

type (
	patch struct {
		Patch json.RawMessage `json:"patch" doc:"a JSON merge patch of the arguments (RFC 7396), an object"`
	}
	misroute struct {
		Member string `json:"member" doc:"of the arguments, which names the agent"`
		Agent  string `json:"agent" doc:"the other agent"`
	}
)

// agentKinds are the faults of what surrounds an agent: guardrails and other
// agents.
func agentKinds() []*catalog.Row {
	return []*catalog.Row{
		faultRow("guardrail_down", "fault.GuardrailDown(err)", "A guardrail fails.", `{"message":"service unavailable"}`,
			func(p message) chaos.Fault { return fault.GuardrailDown(p.Err) }),
		faultRow("guardrail_hang", "fault.GuardrailHang()", "A guardrail hangs.", `{}`, func(none) chaos.Fault { return fault.GuardrailHang() }),
		faultRow("forced_verdict", "fault.ForceVerdict(v)", "A guardrail's verdict is replaced.", `{"value":{"allowed":true}}`,
			func(p anyValue) chaos.Fault { return fault.ForceVerdict(p.Value) }),
		faultRow("stale_approval", "fault.StaleApproval(approval)", "A rejected request gets the approval of an earlier one.", `{"value":{"allowed":true,"rule":"payments"}}`,
			func(p anyValue) chaos.Fault { return fault.StaleApproval(p.Value) }),
		faultRow("handoff_corrupt", "fault.CorruptHandoff(patch), fault.CorruptHandoffWith(name, fn)", "The arguments of a hand-off are changed.", `{"patch":{"order":"A9"}}`,
			func(p patch) chaos.Fault { return fault.CorruptHandoff(p.Patch) }),
		faultRow("misroute", "fault.Misroute(member, agent), fault.MisrouteWith(name, to)", "A hand-off goes to another agent.", `{"member":"agent","agent":"shipping"}`,
			func(p misroute) chaos.Fault { return fault.Misroute(p.Member, p.Agent) }),
		faultRow("handoff_dropped", "fault.DropHandoff(reply)", "A hand-off is lost, and its caller gets a reply all the same.", `{"value":"done"}`,
			func(p anyValue) chaos.Fault { return fault.DropHandoff(p.Value) }),
		faultRow("handoff_cycle", "fault.CycleHandoff(reply)", "A hand-off is handed straight back.", `{"value":"please take over"}`,
			func(p anyValue) chaos.Fault { return fault.CycleHandoff(p.Value) }),
		faultRow("handoff_delayed", "fault.DelayHandoff(d)", "A hand-off takes longer.", `{"duration":"30s"}`,
			func(p lateItems) chaos.Fault { return fault.DelayHandoff(p.Duration) }),
		faultRow("message_storm", "fault.MessageStorm(n)", "The other agent gets the message many times.", `{"times":5}`,
			func(p times) chaos.Fault { return fault.MessageStorm(p.Times) }),
		faultRow("delegation_rejected", "fault.RejectDelegation(err)", "The other agent does not take the task.", `{"message":"the agent declined the task"}`,
			func(p message) chaos.Fault { return fault.RejectDelegation(p.Err) }),
	}
}

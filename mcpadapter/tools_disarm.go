package mcpadapter

import (
	"context"

	"github.com/shakedown-go/shakedown/contract/experiment/gameday"
)

type disarmInput struct{}

type disarmOutput struct {
	Status       string                `json:"status" enum:"disarmed,error"`
	ActiveFaults []gameday.ActiveFault `json:"active_faults" jsonschema:"the faults that were registered, as chaos_status listed them; all of them are removed"`
	Problem      *problem              `json:"problem,omitempty" jsonschema:"why the status is error"`
}

func disarm() (*tool, error) {
	return define(tool{
		name: "chaos_disarm", title: "Stop all faults", area: "chaos", unlimited: true,
		description: `Stops everything at once: removes every fault, whoever registered it, and ends every delay that a fault is imposing; those calls go through.
It needs no arguments and no confirmation, and is never rate-limited: call it whenever the program suffers more than was meant. The answer lists what was there. The injector stays armed, so a fault that is registered afterwards is in force. An experiment under way goes on without its faults and rolls back as usual; cancel its call to end it.`,
		kind:    kind{write: true, idempotent: true},
		onError: func(_ *call, p *problem) any { return disarmOutput{"error", []gameday.ActiveFault{}, p} },
	}, func(_ context.Context, c *call, _ disarmInput) (disarmOutput, error) {
		out := disarmOutput{Status: "disarmed", ActiveFaults: []gameday.ActiveFault{}}
		for _, r := range c.server.host.Injector.RemoveAll() {
			out.ActiveFaults = append(out.ActiveFaults, activeFault(r))
		}
		return out, nil
	})
}

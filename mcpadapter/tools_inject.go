package mcpadapter

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/experiment/gameday"
	"github.com/shakedown-go/shakedown/chaos/remote"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/toolschema"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

type injectInput struct {
	FaultName       string   `json:"fault_name" jsonschema:"name of the fault; registering a name again replaces it" len:"1,128"`
	Action          string   `json:"action" jsonschema:"register puts the fault in force, inject fires it once, remove takes it away" enum:"register,inject,remove"`
	FaultType       string   `json:"fault_type,omitempty" jsonschema:"required for register: latency delays a call, timeout and error replace it, the others fail it with a typed error" enum:"latency,error,timeout,resource_exhaustion,network_partition"`
	Probability     *float64 `json:"probability,omitempty" jsonschema:"share of the matching calls that the fault is injected into; one draw a call" range:"0,1" default:"0.1"`
	DurationSeconds *float64 `json:"duration_seconds,omitempty" jsonschema:"for latency and timeout: how long the caller waits, in seconds; 1 if left out" range:"0,86400"`
	ErrorMessage    string   `json:"error_message,omitempty" jsonschema:"for error and timeout: text of the error that the caller gets" len:"1,1000" default:"\"service unavailable\""`
	Target          string   `json:"target,omitempty" jsonschema:"glob of the injection points (* any characters, {a,b} alternatives); the fault's own name if left out" len:"1,512"`
	Seed            string   `json:"seed,omitempty" jsonschema:"decimal number, as a string, that moves the draws of this fault; with the same seed the fault is injected into the same calls" len:"1,20"`
	ArmNext         bool     `json:"arm_next,omitempty" jsonschema:"for inject: inject the fault into the next matching call instead of firing now" default:"false"`
	Limit           int      `json:"limit,omitempty" jsonschema:"for register: rest for good after so many deliveries; no limit if left out" range:"1,1000000000"`
	ExpiresSeconds  *float64 `json:"expires_seconds,omitempty" jsonschema:"for register and arm_next: remove the fault after so many seconds; left out: the host's default, 900 unless it says otherwise; 0: never, only if the host allows it" range:"0,86400"`
	Keep            bool     `json:"keep,omitempty" jsonschema:"for register and arm_next: leave the fault in force when this session ends; clients without sessions have the time limit alone" default:"false"`
}

type injectOutput struct {
	Status         string        `json:"status" jsonschema:"what was done" enum:"registered,injected,removed,error"`
	FaultName      string        `json:"fault_name"`
	FaultType      string        `json:"fault_type,omitempty" jsonschema:"kind of the fault; left out where there is none"`
	WasTriggered   *bool         `json:"was_triggered,omitempty" jsonschema:"for inject: whether the fault fired"`
	InjectedError  string        `json:"injected_error,omitempty" jsonschema:"text of the error that the fault made"`
	MatchedTargets []string      `json:"matched_targets,omitzero" jsonschema:"known injection points that the fault reaches now"`
	Probability    *float64      `json:"probability,omitempty" jsonschema:"the one in force" range:"0,1"`
	InForce        *bool         `json:"in_force,omitempty" jsonschema:"whether the fault can be injected now; reason says why not"`
	Reason         string        `json:"reason,omitempty" jsonschema:"why the fault is not in force"`
	ExpiresAt      *time.Time    `json:"expires_at" jsonschema:"when the fault is removed; null: never, or there is no fault"`
	Note           string        `json:"note,omitempty" jsonschema:"what to mind"`
	Problem        *policy.Error `json:"problem,omitempty" jsonschema:"why the status is error"`
}

func injectFault() (*tool, error) {
	return define(tool{
		Name: "chaos_inject_fault", Title: "Inject a fault", Area: "chaos", Target: "fault_name",
		Description: `Puts a fault in force at injection points of the live program, fires it once, or takes it away.
register: from now on the fault is injected into each call of a point that target matches with the probability, drawn for each call on its own, until remove, limit, expires_seconds or the end of this session (keep true: not that). Registering a name again replaces the fault and its time limit. in_force false means that it is injected nowhere now; reason says why.
inject: draws a registered fault once at its probability and, when drawn, fires it there and then, with nothing behind it: a latency is waited out, an error is made and reported in injected_error. was_triggered reports whether it was drawn; that it fired is no failure of this call. With arm_next it is injected into the next matching call instead, with certainty, once.
remove: takes the fault away and ends the delays it is imposing; those calls go through. Removing what is not there succeeds. A partition heals so. chaos_disarm removes all faults at once.
Durations are in seconds. Keep the target narrow (one point rather than *), the probability low, and set a limit.`,
		Kind:    kind{Write: true, Destructive: true, Idempotent: false},
		OnError: injectFailed,
	}, func(ctx context.Context, c *call, in injectInput) (injectOutput, error) {
		s := c.Server
		if in.Action != "remove" {
			if err := s.rules.guard(in.Action); err != nil {
				return injectOutput{}, err
			}
		}
		s.rules.sweep()
		switch in.Action {
		case "register":
			return s.register(c.Req, in)
		case "remove":
			out := injectOutput{Status: "removed", FaultName: in.FaultName, FaultType: s.rules.remove(in.FaultName)}
			if out.FaultType == "" {
				out.Note = fmt.Sprintf("No fault is called %q, so nothing was removed. Registered: %s.",
					text.Clip(in.FaultName, maxShown), s.rules.names())
			}
			return out, nil
		}
		if in.ArmNext {
			return s.armNext(c.Req, in)
		}
		return s.trigger(ctx, in)
	})
}

func (s *Server) register(req *mcp.CallToolRequest, in injectInput) (injectOutput, error) {
	switch {
	case in.FaultType == "":
		return injectOutput{}, badArguments("fault_type is missing; allowed: "+strings.Join(remote.Types(), ", "),
			"fault_type is required for register.")
	case hasControl(in.FaultName):
		return injectOutput{}, badArguments(fmt.Sprintf("fault_name is %q; allowed: text without control characters",
			text.Clip(in.FaultName, maxShown)), "Names of faults stand in logs and answers.")
	case strings.HasPrefix(in.FaultName, planPrefix):
		return injectOutput{}, badArguments(fmt.Sprintf("fault_name is %q; allowed: a name that does not begin with %s",
			text.Clip(in.FaultName, maxShown), planPrefix),
			"Such names are those of the rules of plans: chaos_apply_plan registers and replaces them.")
	}
	spec, err := in.spec()
	if err != nil {
		return injectOutput{}, err
	}
	rule, note, err := spec.Rule()
	if err != nil {
		return injectOutput{}, err
	}
	life, err := s.rules.lifetime(in.ExpiresSeconds)
	if err = cmp.Or(err, s.rules.free(in.FaultName)); err != nil {
		return injectOutput{}, err
	}
	if err := s.rules.put(req, in.Keep, rule, life); err != nil {
		return injectOutput{}, err
	}
	out := injectOutput{Status: "registered", FaultName: in.FaultName}
	s.describe(&out, in.FaultName, rule.Target)
	out.FaultType = in.FaultType
	out.Note = text.Sentences(note, out.Note)
	return out, nil
}

// trigger injects a rule's fault now. An error that the fault made is a success
// of the call.
func (s *Server) trigger(ctx context.Context, in injectInput) (injectOutput, error) {
	rule, known := s.rules.state(in.FaultName)
	injected, err := s.host.Injector.InjectNow(ctx, in.FaultName)
	out := injectOutput{Status: "injected", FaultName: in.FaultName, WasTriggered: &injected}
	switch {
	case err != nil && errors.Is(err, chaos.ErrInjected) && ctx.Err() == nil:
		out.InjectedError = err.Error()
	case err != nil:
		return injectOutput{}, err
	}
	if known {
		out.setState(rule)
		out.MatchedTargets, out.Note = remote.Reach(rule.Target, s.host.Injector.Targets())
	}
	return out, nil
}

// armNext registers a rule whose fault is injected into the next call that a registered one
// matches.
func (s *Server) armNext(req *mcp.CallToolRequest, in injectInput) (injectOutput, error) {
	of, known := s.rules.state(in.FaultName)
	if !known {
		return injectOutput{}, notFound(fmt.Sprintf("unknown fault %q; registered: %s", in.FaultName, s.rules.names()),
			"Register it first.")
	}
	life, err := s.rules.lifetime(in.ExpiresSeconds)
	if err != nil {
		return injectOutput{}, err
	}
	s.rules.arming.Lock()
	defer s.rules.arming.Unlock()
	next := remote.NextCall(of.Rule, s.host.Injector.Rules())
	if err := s.rules.put(req, in.Keep, next, remote.Until(life, of.Expires)); err != nil {
		return injectOutput{}, err
	}
	out := injectOutput{Status: "injected", FaultName: in.FaultName, FaultType: remote.KindOf(of.Fault),
		WasTriggered: new(false)}
	s.describe(&out, next.Name, of.Target)
	out.Note = text.Sentences("Armed: the fault is injected into the next matching call.", out.Note)
	return out, nil
}

// describe fills in the state of a rule that was just registered, and the known injection
// points that its target matches. The rule may be gone: its time was short, or another
// caller has removed it.
func (s *Server) describe(out *injectOutput, name, target string) {
	out.MatchedTargets, out.Note = remote.Reach(target, s.host.Injector.Targets())
	if r, ok := s.rules.state(name); ok {
		out.setState(r)
		return
	}
	out.InForce, out.Reason = new(false), goneAlready
}

// injectFailed is the answer of a failed call, in this tool's own words.
func injectFailed(args json.RawMessage, p *policy.Error) any {
	var given struct {
		FaultName any `json:"fault_name"`
		FaultType any `json:"fault_type"`
	}
	_ = json.Unmarshal(args, &given) // what cannot be read is not repeated
	name, _ := given.FaultName.(string)
	out := injectOutput{Status: "error", FaultName: text.Clip(name, 128), Problem: p}
	if kind, ok := given.FaultType.(string); ok && slices.Contains(remote.Types(), kind) {
		out.FaultType = kind
	}
	return out
}

func (in injectInput) spec() (remote.Spec, error) {
	s := remote.Spec{Name: in.FaultName, Type: in.FaultType, Probability: in.Probability, Message: in.ErrorMessage,
		Target: in.Target, Limit: in.Limit}
	if in.DurationSeconds != nil {
		s.Duration = new(time.Duration(*in.DurationSeconds * float64(time.Second)))
	}
	if in.Seed == "" {
		return s, nil
	}
	seed, err := toolschema.Seed("seed", in.Seed)
	s.Seed = &seed
	return s, err
}

func activeFault(r chaos.RuleState) gameday.ActiveFault {
	f := gameday.NewActiveFault(r)
	f.Probability = remote.ProbabilityOf(r.When)
	return f
}

type disarmOutput struct {
	Status       string                `json:"status" enum:"disarmed,error"`
	ActiveFaults []gameday.ActiveFault `json:"active_faults" jsonschema:"the faults that were registered, as chaos_status listed them; all of them are removed"`
	Problem      *policy.Error         `json:"problem,omitempty" jsonschema:"why the status is error"`
}

func disarm() (*tool, error) {
	return define(tool{
		Name: "chaos_disarm", Title: "Stop all faults", Area: "chaos", Unlimited: true,
		Description: `Stops everything at once: removes every fault, whoever registered it, and ends every delay that a fault is imposing; those calls go through.
It needs no arguments and no confirmation, and is never rate-limited: call it whenever the program suffers more than was meant. The answer lists what was there. The injector stays armed, so a fault that is registered afterwards is in force. An experiment under way goes on without its faults and rolls back as usual; cancel its call to end it.`,
		Kind: kind{Write: true, Idempotent: true},
		OnError: func(_ json.RawMessage, p *policy.Error) any {
			return disarmOutput{"error", []gameday.ActiveFault{}, p}
		},
	}, func(_ context.Context, c *call, _ struct{}) (disarmOutput, error) {
		out := disarmOutput{Status: "disarmed", ActiveFaults: []gameday.ActiveFault{}}
		for _, r := range c.Server.host.Injector.RemoveAll() {
			out.ActiveFaults = append(out.ActiveFaults, activeFault(r))
		}
		return out, nil
	})
}

// goneAlready is why a rule that was registered a moment ago is not there.
const goneAlready = "it has expired or was removed already"

func (out *injectOutput) setState(r chaos.RuleState) {
	f := activeFault(r)
	out.FaultType, out.Probability, out.InForce, out.Reason, out.ExpiresAt = f.FaultType, &f.Probability, &f.InForce,
		f.Reason, f.ExpiresAt
}

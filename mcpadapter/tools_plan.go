package mcpadapter

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/experiment/gameday"
	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/chaos/remote"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

type planInput struct {
	Name           string          `json:"name" jsonschema:"name of the plan, without a slash; applying a name again replaces that plan" len:"1,64"`
	Plan           json.RawMessage `json:"plan,omitempty" jsonschema:"required unless remove is true: an object with rules, and with seed (a decimal string; 0 if left out); the resource shakedown://faults has every kind of fault and trigger with an example"`
	Remove         bool            `json:"remove,omitempty" jsonschema:"take the plan back instead" default:"false"`
	ExpiresSeconds *float64        `json:"expires_seconds,omitempty" jsonschema:"remove the rules after so many seconds; left out: the host's default, 900 unless it says otherwise; 0: never, only if the host allows it" range:"0,86400"`
	Keep           bool            `json:"keep,omitempty" jsonschema:"leave the rules in force when this session ends; clients without sessions have the time limit alone" default:"false"`
}

type planOutput struct {
	Status  string        `json:"status" jsonschema:"what was done" enum:"applied,removed,error"`
	Name    string        `json:"name"`
	Rules   []ruleOut     `json:"rules" jsonschema:"the rules that are in force now, or for remove those that were, in the order of the plan"`
	Omitted int           `json:"omitted,omitempty" jsonschema:"rules that this answer leaves out; they are in force all the same"`
	Note    string        `json:"note,omitempty" jsonschema:"what to mind"`
	Problem *policy.Error `json:"problem,omitempty" jsonschema:"why the status is error"`
}

// ruleOut is a rule of a plan as clients see it.
type ruleOut struct {
	gameday.ActiveFault
	MatchedTargets []string `json:"matched_targets" jsonschema:"known injection points that the rule reaches now"`
	Note           string   `json:"note,omitempty" jsonschema:"what to mind"`
}

// planPrefix begins the names of the rules of plans: plan/NAME/RULE.
const planPrefix = "plan/"

// maxPlanRules bounds the rules that one answer lists.
const maxPlanRules = 200

func applyPlan() (*tool, error) {
	return define(tool{
		Name: "chaos_apply_plan", Title: "Apply a plan of faults", Area: "chaos", Target: "name",
		Description: `Puts the rules of a whole plan in force in the live program, or takes them back: any kind of fault with any trigger, not only the five of chaos_inject_fault.
All rules come into force at once, or none: every problem is reported with its place in the arguments, such as /plan/rules/0/fault/params/duration. They are registered as plan/NAME/RULE; chaos_status lists them, chaos_inject_fault removes one of them by that name and fires it, chaos_disarm removes all. Applying a name again replaces the former rules of that name and starts them afresh; with remove true they are taken back, which also succeeds if there are none.
A rule has target (a glob) and fault, {"kind", "params"}, and may have name, when (a trigger of the same form; left out, every call), limit, coolDown (such as "1.5s") and group. Draws are those of the program's injector: the plan's seed does not move them. Keep targets narrow, and set limits.`,
		Kind: kind{Write: true, Destructive: true},
		OnError: func(args json.RawMessage, p *policy.Error) any {
			var given struct{ Name any }
			_ = json.Unmarshal(args, &given) // what cannot be read is not repeated
			name, _ := given.Name.(string)
			return planOutput{Status: "error", Name: text.Clip(name, 64), Rules: []ruleOut{}, Problem: p}
		},
	}, func(_ context.Context, c *call, in planInput) (planOutput, error) {
		s := c.Server
		s.rules.sweep()
		switch {
		case strings.Contains(in.Name, "/") || hasControl(in.Name):
			return planOutput{}, badArguments(fmt.Sprintf(
				"name is %q; allowed: text without slashes and control characters", text.Clip(in.Name, maxShown)),
				"The rules are called plan/NAME/RULE.")
		case in.Remove && in.Plan != nil:
			return planOutput{}, badArguments("plan is given with remove; allowed: one of them",
				"Leave the plan out to take it back.")
		case in.Remove:
			return s.removePlan(in)
		case in.Plan == nil:
			return planOutput{}, badArguments("plan is missing; allowed: an object with rules",
				"plan is required unless remove is true.")
		}
		return s.applyPlan(c, in)
	})
}

func (s *Server) applyPlan(c *call, in planInput) (planOutput, error) {
	if err := s.rules.guard("applying a plan"); err != nil {
		return planOutput{}, err
	}
	life, err := s.rules.lifetime(in.ExpiresSeconds)
	if err != nil {
		return planOutput{}, err
	}
	plan, err := planjson.Decode(in.Plan, s.plans)
	if err != nil {
		return planOutput{}, planProblem(err)
	}
	for i, r := range plan.Rules() {
		if hasControl(r.Name) {
			return planOutput{}, badArguments(fmt.Sprintf(
				"/plan/rules/%d/name is %q; allowed: text without control characters", i, text.Clip(r.Name, maxShown)),
				"Names of rules stand in logs and answers.")
		}
	}
	prefix := planPrefix + in.Name + "/"
	own := func(name string) bool { return strings.HasPrefix(name, prefix) }
	if err := s.rules.room(len(plan.Rules()), own); err != nil {
		return planOutput{}, err
	}
	remove, err := s.host.Injector.RegisterPlan(prefix, plan, life)
	if err != nil {
		return planOutput{}, planProblem(err)
	}
	rules, leased := plan.Rules(), make(map[string]func() bool)
	for i := range rules {
		rules[i].Name = prefix + rules[i].Name
		leased[rules[i].Name] = remove[i]
	}
	s.rules.lease(c.Req, in.Keep, leased)
	out := planOutput{Status: "applied", Name: in.Name}
	if len(rules) == 0 {
		out.Note = "The plan has no rules, so nothing is in force."
	}
	states := s.host.Injector.States()
	s.list(&out, rules, func(r chaos.Rule) gameday.ActiveFault {
		if i := slices.IndexFunc(states, func(state chaos.RuleState) bool { return state.Name == r.Name }); i >= 0 {
			return activeFault(states[i])
		}
		return inactive(r, goneAlready)
	})
	return out, nil
}

// hasControl reports whether a name has control characters, separators of lines or marks of
// direction, which would forge the lines of a log.
func hasControl(name string) bool {
	return strings.ContainsFunc(name, func(r rune) bool {
		return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
	})
}

func (s *Server) removePlan(in planInput) (planOutput, error) {
	prefix := planPrefix + in.Name + "/"
	var rules []chaos.Rule
	for _, r := range s.host.Injector.Rules() {
		if strings.HasPrefix(r.Name, prefix) {
			rules = append(rules, r)
		}
	}
	nothing, err := chaos.NewPlan(0)
	if err == nil {
		_, err = s.host.Injector.RegisterPlan(prefix, nothing, 0)
	}
	out := planOutput{Status: "removed", Name: in.Name}
	s.list(&out, rules, func(r chaos.Rule) gameday.ActiveFault { return inactive(r, "it was removed") })
	return out, err
}

func inactive(r chaos.Rule, why string) gameday.ActiveFault {
	return gameday.ActiveFault{Name: r.Name, FaultType: remote.KindOf(r.Fault),
		Probability: remote.ProbabilityOf(r.When), Reason: why}
}

func (s *Server) list(out *planOutput, rules []chaos.Rule, state func(chaos.Rule) gameday.ActiveFault) {
	out.Rules = []ruleOut{}
	known := s.host.Injector.Targets()
	for _, r := range rules[:min(len(rules), maxPlanRules)] {
		one := ruleOut{ActiveFault: state(r)}
		one.MatchedTargets, one.Note = remote.Reach(r.Target, known)
		out.Rules = append(out.Rules, one)
	}
	out.Omitted = len(rules) - len(out.Rules)
}

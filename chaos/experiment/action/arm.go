// Package action has ready-made actions for the method of an experiment.
//
//	Method: []experiment.Activity{
//		{Name: "slow database",
//			Start: action.Arm(in, 0, chaos.Rule{Target: "db.*", Fault: fault.Delay(time.Second)})},
//		{Name: "shop cut off", Background: true, Start: action.Arm(in, time.Minute,
//			chaos.Rule{Target: "{db.*,search}", Group: "shop", Fault: fault.Partition()})},
//		{Name: "worker dies", Start: func(context.Context) (any, experiment.Undo, error) {
//			return nil, startWorker, worker.Process.Kill() // a function of your own is an action too
//		}},
//	}
//
// Each returns its own rollback. An action with a duration lasts that long and then
// reverts itself; run it in the background to do something else meanwhile. With the
// duration 0 it lasts until it is rolled back.
//
// Stability: may change.
package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/experiment"
)

// A Start is the type of [experiment.Activity].Start.
type Start = func(ctx context.Context) (output any, undo experiment.Undo, err error)

// Arm registers rules on a live injector for the time d; 0: until it is rolled
// back. It registers all or none: a wrong rule, or one whose name is registered
// already, is an error. The output has the names of the rules. When a rule is
// removed, the calls that it delays continue. A rule that has replaced it since
// stays.
func Arm(in *chaos.Injector, d time.Duration, rules ...chaos.Rule) Start {
	rules = slices.Clone(rules)
	return func(ctx context.Context) (any, experiment.Undo, error) {
		names, remove, err := arm(in, rules)
		if err != nil {
			return nil, nil, fmt.Errorf("action: arm: %w", err)
		}
		disarm := func(context.Context) error {
			remove()
			return nil
		}
		return map[string]any{"rules": names}, disarm, heal(ctx, d, disarm)
	}
}

// arm registers the rules and returns their names, and a function that removes
// them.
func arm(in *chaos.Injector, rules []chaos.Rule) (names []string, remove func(), err error) {
	if in == nil {
		return nil, nil, errors.New("the injector is nil; allowed: a live one, made by chaos.NewInjector")
	}
	plan, err := chaos.NewPlan(0, rules...) // finds all problems, and names the rules
	if err != nil {
		return nil, nil, err
	}
	taken := in.Rules()
	for _, r := range plan.Rules() {
		if slices.ContainsFunc(taken, func(t chaos.Rule) bool { return t.Name == r.Name }) {
			return nil, nil, fmt.Errorf("rule %q is registered already; allowed: a name of its own", r.Name)
		}
	}
	var ours []func() bool
	remove = func() {
		for _, one := range ours {
			one()
		}
	}
	for _, r := range plan.Rules() {
		one, err := in.RegisterFor(r, 0)
		if err != nil {
			remove()
			return nil, nil, err
		}
		names, ours = append(names, r.Name), append(ours, one)
	}
	return names, remove, nil
}

// heal waits for d and reverts the action. With d = 0 it does nothing.
func heal(ctx context.Context, d time.Duration, undo experiment.Undo) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d) // a context that shows a deadline may outlive it
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
	return errors.Join(ctx.Err(), undo(context.WithoutCancel(ctx)))
}

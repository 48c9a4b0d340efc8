package contracttest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/internal/text"
)

// Inject returns a context under which the rules are in force, made from t.Context:
// calls of wrapped functions, clients and tools with it meet their faults. seed is the
// seed of every random number. If the rules are not valid, Inject fails t and stops it.
//
// At the end of the test t fails if the fault of a rule was delivered to no call, unless it has
// failed or was skipped anyway. After the test, calls get [chaos.ErrCellEnded].
//
// In a bubble of testing/synctest call it with the t of the bubble: the context of a test
// outside of it ends the process. Inject must be called from the goroutine of t.
func Inject(t testing.TB, seed uint64, rules ...chaos.Rule) context.Context {
	t.Helper()
	plan, err := chaos.NewPlan(seed, rules...)
	if err != nil {
		t.Fatalf("contracttest: the rules are not valid: %v", err)
	}
	in := plan.Injector(t.Name(), nil)
	t.Cleanup(func() {
		t.Helper() // so that the line is that of the call of Inject
		in.End()
		if t.Failed() || t.Skipped() {
			return
		}
		for _, name := range in.Undelivered() {
			t.Errorf("contracttest: no call got the fault of rule %q: %s", name, whyNone(in, name))
		}
	})
	return chaos.NewContext(t.Context(), in)
}

func whyNone(in *chaos.Injector, name string) string {
	rules := in.Rules()
	at := slices.IndexFunc(rules, func(r chaos.Rule) bool { return r.Name == name })
	target := rules[at].Target
	for _, e := range in.Events() {
		switch {
		case (e.Rule == name || slices.Contains(e.Idle, name)) && e.Note != "":
			return fmt.Sprintf("it was injected into a call of %s and changed nothing (%s)", e.Target, e.Note)
		case e.Rule == name || slices.Contains(e.Idle, name):
			return fmt.Sprintf("it was injected into a call of %s and changed nothing", e.Target)
		case slices.Contains(e.Masked, name):
			return fmt.Sprintf("another rule decided the call of %s that it matched", e.Target)
		}
	}
	called := in.Targets()
	if len(called) == 0 {
		return fmt.Sprintf("its target is %s, and the test called no injection point with this context", target)
	}
	names, err := glob.Compile(target)
	if met := slices.IndexFunc(called, func(name string) bool { return err == nil && names.Match(name) }); met >= 0 {
		return fmt.Sprintf("its target is %s, and it matched no call of %s: its trigger, or a condition of the rule, was never true", target, called[met])
	}
	return fmt.Sprintf("its target is %s, and the test called %s with this context", target, text.Some(called, 20))
}

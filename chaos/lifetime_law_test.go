package chaos_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
)

// leased is what the model knows of a rule.
type leased struct {
	name    string
	expires time.Time // zero: never
	remove  func() bool
}

// comeAndGo takes the same steps with an injector and with the model, a list with
// times. It returns the first difference; "": there is none.
func comeAndGo(steps []leaseStep) string {
	in := chaos.NewInjector(1, nil)
	var model, gone []leased
	drop := func(i int) bool {
		if i >= 0 {
			gone = append(gone, model[i])
			model = slices.Delete(model, i, i+1)
		}
		return i >= 0
	}
	for n, step := range steps {
		same := true
		at := slices.IndexFunc(model, func(l leased) bool { return l.name == step.name })
		switch step.do {
		case "register":
			l := leased{name: step.name}
			if step.life > 0 {
				l.expires = time.Now().Add(step.life)
			}
			var err error
			l.remove, err = in.RegisterFor(chaos.Rule{Name: step.name, Target: "work", Fault: down()}, step.life)
			same = err == nil
			if at >= 0 {
				gone = append(gone, model[at])
				model[at] = l
			} else {
				model = append(model, l)
			}
		case "remove":
			same = drop(at) == in.Remove(step.name)
		case "its own handle":
			same = at < 0 || model[at].remove()
			drop(at)
		case "a stale handle":
			same = len(gone) == 0 || !gone[step.pick%len(gone)].remove()
		case "all":
			same = slices.EqualFunc(in.RemoveAll(), model, func(s chaos.RuleState, l leased) bool { return s.Name == l.name })
			for len(model) > 0 {
				drop(0)
			}
		case "sleep":
			time.Sleep(step.life)
			model = slices.DeleteFunc(model, func(l leased) bool { return !l.expires.IsZero() && !time.Now().Before(l.expires) })
		}
		_, err := took(in)
		same = same && (err != nil) == (len(model) > 0) && slices.EqualFunc(in.States(), model, func(s chaos.RuleState, l leased) bool {
			return s.Name == l.name && s.Expires.Equal(l.expires) && s.Reason == ""
		})
		if !same {
			return fmt.Sprintf("after step %d of %v: %v in place of %v", n, steps, in.States(), model)
		}
	}
	return ""
}

type leaseStep struct {
	do, name string
	life     time.Duration
	pick     int
}

// In whatever order rules are registered, replaced, removed and expire, the rules
// left are those of the model.
func TestRulesComeAndGoAsAListWithTimesSays(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) leaseStep {
			return leaseStep{
				do:   rapid.SampledFrom([]string{"register", "register", "remove", "its own handle", "a stale handle", "all", "sleep", "sleep"}).Draw(rt, "do"),
				name: fmt.Sprint("rule ", rapid.IntRange(0, 4).Draw(rt, "name")),
				life: time.Duration(rapid.IntRange(0, 5).Draw(rt, "seconds")) * time.Second,
				pick: rapid.IntRange(0, 100).Draw(rt, "pick"),
			}
		}), 1, 40).Draw(rt, "steps")
		var parted string
		synctest.Test(t, func(*testing.T) { parted = comeAndGo(steps) })
		if parted != "" {
			rt.Fatal(parted)
		}
	})
}

// At whatever moment the rule of a waiting call ends, the call ends too. A call left
// waiting would be a deadlock, which fails the test.
func TestNoWaitOutlivesItsRule(t *testing.T) {
	ends := map[string]func(in *chaos.Injector){
		"removed": func(in *chaos.Injector) { in.Remove("slow") }, "all removed": func(in *chaos.Injector) { in.RemoveAll() },
		"replaced and removed": func(in *chaos.Injector) {
			_ = in.Register(chaos.Rule{Name: "slow", Target: "never", Fault: down()})
			in.Remove("slow")
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for range 100 {
					in := chaos.NewInjector(1, nil)
					require.NoError(t, in.Register(chaos.Rule{Name: "slow", Target: "work", Fault: hang()}))
					var calls sync.WaitGroup
					for range 4 {
						calls.Go(func() {
							_, err := took(in)
							assert.NoError(t, err)
						})
					}
					calls.Go(func() { _, _ = in.InjectNow(t.Context(), "slow") })
					calls.Go(func() { end(in) })
					calls.Wait()
					assert.Empty(t, in.Rules())
				}
			})
		})
	}
}

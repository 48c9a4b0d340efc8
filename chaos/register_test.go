package chaos_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
)

// everyOther is a trigger that counts.
type everyOther struct{}

func (everyOther) Match(c chaos.Call) bool          { return c.Ordinal%2 == 1 }
func (everyOther) MatchOrdinal(ordinal uint64) bool { return ordinal%2 == 1 }

// Rules that are registered, removed and replaced one by one, after the first calls,
// match as the same list registered at once.
func TestRulesThatCameOneByOne(t *testing.T) {
	targets := []string{"a", "b", "b/long"}
	calls := func(in *chaos.Injector, lanes ...string) (lines []string) {
		for range 4 {
			for _, lane := range lanes {
				for _, target := range targets {
					_ = chaos.Point(chaos.WithLane(chaos.NewContext(context.Background(), in), lane), target)
				}
			}
		}
		for _, e := range in.Events() {
			lines = append(lines, fmt.Sprint(e.Lane, " ", e.Target, " ", e.Ordinal, ": ", e.Rule, e.Masked, e.HeldBack))
		}
		return lines
	}
	rapid.Check(t, func(t *rapid.T) {
		in := chaos.NewInjector(7, nil)
		known := rapid.SampledFrom([][]string{nil, {""}, {"", "lane"}}).Draw(t, "known lanes")
		calls(in, known...) // nothing is counted where there is no rule
		var list []chaos.Rule
		for range rapid.IntRange(0, 12).Draw(t, "steps") {
			r := chaos.Rule{
				Name:   rapid.SampledFrom([]string{"1", "2", "3", "4"}).Draw(t, "name"),
				Target: rapid.SampledFrom([]string{"*", "a", "b*", "none"}).Draw(t, "target"),
				When:   rapid.SampledFrom([]chaos.When{nil, chance(0.5), everyOther{}, ordinals(0, 2)}).Draw(t, "when"),
				Group:  rapid.SampledFrom([]string{"", "", "g", "h"}).Draw(t, "group"), Fault: down(),
			}
			if r.Group != "" {
				r.Limit = rapid.IntRange(2, 3).Draw(t, "limit")
			}
			i := slices.IndexFunc(list, func(former chaos.Rule) bool { return former.Name == r.Name })
			if rapid.IntRange(0, 3).Draw(t, "remove") == 0 {
				assert.Equal(t, i >= 0, in.Remove(r.Name))
				if i >= 0 {
					list = slices.Delete(list, i, i+1)
				}
				continue
			}
			conflict := slices.ContainsFunc(list, func(other chaos.Rule) bool {
				return r.Group != "" && other.Group == r.Group && other.Name != r.Name && other.Limit != r.Limit
			})
			err := in.Register(r)
			require.Equal(t, conflict, err != nil, "%v", err)
			switch {
			case conflict:
			case i >= 0:
				list[i] = r
			default:
				list = append(list, r)
			}
		}
		atOnce := chaos.NewInjector(7, nil)
		for _, r := range list {
			require.NoError(t, atOnce.Register(r))
		}
		assert.Equal(t, len(list), len(in.Rules()))
		assert.Equal(t, calls(atOnce, "", "lane"), calls(in, "", "lane"))
		for _, r := range list {
			assert.True(t, in.Remove(r.Name))
		}
		_, _, groups := chaos.KeyCount(in)
		assert.Zero(t, groups, "a group goes with its last rule")
	})
}

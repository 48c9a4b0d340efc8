package catalog_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

type slow struct {
	Share  float64       `json:"share" bounds:"over=0,max=1" allowed:"a share above 0, up to 1"`
	Calls  []int         `json:"calls" bounds:"min=1,max=3,over=0" allowed:"one to three call numbers"`
	Modes  *[]string     `json:"modes,omitempty" bounds:"enum=soft|hard"`
	Wait   time.Duration `json:"wait,omitempty" bounds:"min=1ms"`
	Within chaos.Fault   `json:"within,omitempty"`
}

func slowRow() *catalog.Row {
	return catalog.Fault(catalog.Row{Kind: "slow"}, func(p slow) chaos.Fault { return p })
}

func (slow) Inject(context.Context, chaos.Call, any, chaos.Next) (any, error) { return nil, nil }

// The bounds of a row hold for each parameter, and for each element of a list.
func TestBoundsOfParameters(t *testing.T) {
	row := slowRow()
	for _, c := range []struct {
		why    string
		params slow
		want   string // the problems; empty: none
	}{
		{"all within, and what is optional left out", slow{Share: 1, Calls: []int{1}}, ""},
		{"not a number", slow{Share: math.NaN(), Calls: []int{1}}, "chaos: slow: share is NaN; allowed: a share above 0, up to 1"},
		{"too few elements", slow{Share: 1}, "chaos: slow: calls is []; allowed: one to three call numbers"},
		{"too many, of which one is wrong: the length comes first", slow{Share: 1, Calls: []int{1, 2, 3, 0}},
			"chaos: slow: calls is [1 2 3 0]; allowed: one to three call numbers"},
		{"two of the elements", slow{Share: 1, Calls: []int{0, 1, -1}}, "chaos: slow: calls[0] is 0; allowed: one to three call numbers\n" +
			"chaos: slow: calls[2] is -1; allowed: one to three call numbers"},
		{"an element behind a pointer", slow{Share: 1, Calls: []int{1}, Modes: &[]string{"soft", "mild"}},
			"chaos: slow: modes[1] is mild; allowed: one of soft, hard"},
		{"several parameters, in the order of the fields", slow{Wait: time.Microsecond, Calls: []int{1}},
			"chaos: slow: share is 0; allowed: a share above 0, up to 1\nchaos: slow: wait is 1µs; allowed: a duration of 1ms or more"},
	} {
		t.Run(c.why, func(t *testing.T) {
			err := row.Check(c.params).Err()
			if c.want == "" {
				assert.NoError(t, err)
				return
			}
			assert.EqualError(t, err, c.want)
		})
	}
}

func (s slow) Describe() chaos.Description { return slowRow().Describe(s) }

// A fault may be its own parameters. A part without a description is named by
// its type.
func TestDescriptionOfParts(t *testing.T) {
	d := slow{Share: 0.5, Calls: []int{1}, Within: plain{}}.Describe()
	assert.JSONEq(t, `{"share":0.5,"calls":[1],"within":{"kind":"catalog_test.plain"}}`, string(d.Params))
	d = slow{Share: 1, Within: slow{Calls: []int{2}}}.Describe()
	assert.JSONEq(t, `{"share":1,"calls":[],"within":{"kind":"slow","params":{"share":0,"calls":[2]}}}`, string(d.Params))
}

type plain struct{}

func (plain) Inject(context.Context, chaos.Call, any, chaos.Next) (any, error) { return nil, nil }

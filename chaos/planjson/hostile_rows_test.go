package planjson_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/lies"
	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// inert is a fault that does nothing; its row checks it.
type inert struct{}

func (inert) Inject(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
	return next(ctx, args)
}

func rowFor[P any]() *catalog.Row {
	return catalog.Fault(catalog.Row{Kind: "own"}, func(P) chaos.Fault { return inert{} })
}

type (
	counted struct {
		N int `json:"n" bounds:"min=1"`
	}
	Counted   struct{ N int }
	recursive struct {
		Next []recursive `json:"next,omitempty"`
	}
)

// A row whose parameters cannot mean what they say is refused before a document is
// read, and the error says why.
func TestRowsThatCannotBeRead(t *testing.T) {
	for _, c := range []struct {
		why  string
		row  *catalog.Row
		want string
	}{
		{"no struct", rowFor[int](), "int is not a struct"},
		{"a pointer", rowFor[*counted](), "*planjson_test.counted is not a struct"},
		{"a map", rowFor[map[string]int](), "map[string]int is not a struct"},
		{"an interface", rowFor[any](), "interface {} is not a struct"},
		{"a struct within itself", rowFor[recursive](), "next: planjson_test.recursive contains itself"},
		{"an embedded pointer", rowFor[struct{ *Counted }](), "Counted: only a struct can be embedded"},
		{"an embedded number", rowFor[struct{ time.Duration }](), "Duration: only a struct can be embedded"},
		{"an embedded fault", rowFor[struct{ chaos.Fault }](), "Fault: only a struct can be embedded"},
		{"one name twice", rowFor[struct {
			A int `json:"n"`
			N int
		}](), "n: two fields have this name"},
		{"the name of an embedded field", rowFor[struct {
			counted
			B int `json:"n"`
		}](), "n: two fields have this name"},
		{"a struct of another package", rowFor[struct {
			At time.Time `json:"at"`
		}](), "at: time.Time has no exported fields"},
		{"a pointer to a pointer", rowFor[struct {
			N **int `json:"n"`
		}](), "n: **int is a pointer to a pointer"},
		{"a misspelled bound", rowFor[struct {
			N int `json:"n" bounds:"mni=1"`
		}](), `n: bounds: "mni=1" is unknown; allowed: min=…, over=…, max=…, enum=a|b`},
		{"a bound that is no number", rowFor[struct {
			N int `json:"n" bounds:"min=one"`
		}](), `n: bounds: "one" is no number; allowed: a number, or of a duration such as 1ms`},
		{"a bound of a struct in a list", rowFor[struct {
			L []struct {
				N int `json:"n" bounds:"min=x"`
			} `json:"l"`
		}](), `l: n: bounds: "x" is no number; allowed: a number, or of a duration such as 1ms`},
	} {
		t.Run(c.why, func(t *testing.T) {
			o := &planjson.Options{Rows: []*catalog.Row{c.row}}
			want := "planjson: wrong type kind own: " + c.want + "; allowed: the types that catalog.Made lists"
			_, err := planjson.Decode(oneRule(`{"kind":"always"}`, `{"kind":"own"}`), o)
			assert.EqualError(t, err, want)
		})
	}
}

type bounded struct {
	Wait  *time.Duration     `json:"wait,omitempty" bounds:"min=1ms"`
	Waits []time.Duration    `json:"waits,omitempty" bounds:"over=1ms"`
	Left  int                `json:"left,omitempty" bounds:"min=2"`
	Part  float64            `json:"part,omitempty" bounds:"over=0,max=1"`
	Items []counted          `json:"items,omitempty" bounds:"max=2"`
	Where map[string]counted `json:"where,omitempty" bounds:"max=1"`
	Bits  *uint64            `json:"bits,omitempty" bounds:"max=9"`
}

// Bounds hold in the same way in Check and in JSON, whatever holds the value: a pointer,
// a list, a map or a struct.
func TestBoundsInGoAndJSON(t *testing.T) {
	row := rowFor[bounded]()
	o := &planjson.Options{Rows: []*catalog.Row{row}}
	short, enough, bits := time.Microsecond, time.Second, uint64(10)
	for _, c := range []struct {
		params bounded
		doc    string
		place  string // in JSON; empty: it is allowed
		says   string
	}{
		{bounded{}, `{}`, "", ""},
		{bounded{Wait: &enough}, `{"wait":"1s"}`, "", ""},
		{bounded{Wait: &short}, `{"wait":"1µs"}`, "wait", "a duration of 1ms or more"},
		{bounded{Waits: []time.Duration{enough, short}}, `{"waits":["1s","1µs"]}`, "waits/1", "a list, each more than 1ms"},
		{bounded{Left: 0}, `{"left":0}`, "", ""}, // as if it were left out
		{bounded{Left: 1}, `{"left":1}`, "left", "an integer of 2 or more"},
		{bounded{Part: 0}, `{"part":0}`, "", ""},
		{bounded{Part: 2}, `{"part":2}`, "part", "a number of more than 0 and at most 1"},
		{bounded{Items: []counted{{1}, {0}}}, `{"items":[{"n":1},{"n":0}]}`, "items/1/n", "an integer of 1 or more"},
		{bounded{Items: []counted{{1}, {0}, {1}}}, `{"items":[{"n":1},{"n":0},{"n":1}]}`, "items", "a list of at most 2"},
		{bounded{Where: map[string]counted{"a": {0}}}, `{"where":{"a":{"n":0}}}`, "where/a/n", "an integer of 1 or more"},
		{bounded{Where: map[string]counted{"a": {1}, "b": {1}}}, `{"where":{"a":{"n":1},"b":{"n":1}}}`, "where", "an object of at most 1"},
		{bounded{Bits: &bits}, `{"bits":"10"}`, "bits", "an integer of at most 9"},
	} {
		doc := oneRule(`{"kind":"always"}`, fmt.Sprintf(`{"kind":"own","params":%s}`, c.doc))
		_, err := planjson.Decode(doc, o)
		inGo := row.Check(c.params).Err()
		if c.place == "" {
			assert.NoError(t, err, c.doc)
			assert.NoError(t, inGo, c.doc)
			continue
		}
		var problem *planjson.Error
		require.ErrorAs(t, err, &problem, c.doc)
		assert.Equal(t, "/rules/0/fault/params/"+c.place, problem.Pointer)
		assert.Equal(t, c.says, problem.Allowed)
		var param *chaos.ParamError
		require.ErrorAs(t, inGo, &param, c.doc)
		assert.Equal(t, c.says, param.Allowed)
	}
	assert.ErrorContains(t, row.Check(&bounded{}).Err(), "params is a *planjson_test.bounded; allowed: a planjson_test.bounded, as the row has it")
}

// rude is a fault whose methods panic.
type rude struct {
	inert
	where string
}

func (r *rude) Check() error {
	if r.where == "Check" {
		panic("ouch")
	}
	return nil
}

func (r *rude) Describe() chaos.Description {
	if r.where == "Describe" {
		panic("ouch")
	}
	return chaos.Description{Kind: "own"}
}

// Code of the user's that panics is an error with the place of the fault.
func TestRowsThatPanic(t *testing.T) {
	for where, f := range map[string]chaos.Fault{"Check": &rude{where: "Check"}, "Describe": &rude{where: "Describe"}} {
		row := catalog.Fault(catalog.Row{Kind: "own"}, func(catalog.None) chaos.Fault { return f })
		_, err := planjson.Decode(oneRule(`{"kind":"always"}`, `{"kind":"own"}`), &planjson.Options{Rows: []*catalog.Row{row}})
		assert.EqualError(t, err, "planjson: /rules/0/fault/params: bad value: "+where+" panicked: ouch")
	}
	row := catalog.Fault(catalog.Row{Kind: "own"}, func(catalog.None) chaos.Fault { return (*rude)(nil) })
	_, err := planjson.Decode(oneRule(`{"kind":"always"}`, `{"kind":"own"}`), &planjson.Options{Rows: []*catalog.Row{row}})
	assert.ErrorContains(t, err, "Check panicked: runtime error: invalid memory address")
}

// typed is an error of a type that its text does not stand for.
type typed struct{ code int }

func (typed) Error() string { return "typed" }

type failing struct {
	Errors []error `json:"errors"`
}

type several struct{ failing }

func (several) Inject(context.Context, chaos.Call, any, chaos.Next) (any, error) { return nil, nil }
func (several) Match(chaos.Call) bool                                            { return true }
func (f several) Describe() chaos.Description {
	return chaos.Description{Kind: "several", Params: catalog.Trigger(catalog.Row{}, func(failing) chaos.When { return nil }).Describe(f.failing).Params}
}

// An error of a type of its own is not lost silently, within a list either, and of a
// trigger neither.
func TestErrorsWithinParametersAreNotLost(t *testing.T) {
	o := &planjson.Options{Rows: []*catalog.Row{
		catalog.Fault(catalog.Row{Kind: "several"}, func(p failing) chaos.Fault { return several{p} }),
		catalog.Trigger(catalog.Row{Kind: "several"}, func(p failing) chaos.When { return several{p} }),
	}}
	for _, c := range []struct {
		err  error
		lost bool
	}{{errors.New("plain"), false}, {typed{3}, true}} {
		own := several{failing{[]error{c.err}}}
		for _, r := range []chaos.Rule{{Target: "a", Fault: own}, {Target: "a", When: own, Fault: fault.Hang()}} {
			plan, err := chaos.NewPlan(1, r)
			require.NoError(t, err)
			_, err = planjson.Encode(plan, o)
			assert.Equal(t, c.lost, err != nil, "%v", err)
		}
	}
}

// What a caller does to a list of rows, or to a row, changes nothing for others.
func TestRowsAreCopies(t *testing.T) {
	for _, rows := range []func() []*catalog.Row{fault.Rows, when.Rows, lies.Rows, chaoshttp.Rows} {
		want := rows()[0].Kind
		changed := rows()
		*changed[0] = catalog.Row{Kind: "changed"}
		changed[1] = nil
		assert.Equal(t, want, rows()[0].Kind)
		assert.NotNil(t, rows()[1])
		assert.NotNil(t, rows()[0].Params())
	}
}

// Rows, options and tables are read by many goroutines at once.
func TestConcurrentReaders(t *testing.T) {
	row := rowFor[bounded]()
	o := &planjson.Options{Rows: []*catalog.Row{row}, Faults: []chaos.Fault{fault.Mutate("double", func(n int) int { return 2 * n })}}
	doc := oneRule(`{"kind":"prob","params":{"p":0.5}}`, `{"kind":"guardrail_down","params":{"message":"service unavailable"}}`)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 5 {
				plan, err := planjson.Decode(doc, o)
				if assert.NoError(t, err) {
					_, err = planjson.Encode(plan, o)
					assert.NoError(t, err)
				}
				_, err = planjson.Decode(oneRule(`{"kind":"always"}`, `{"kind":"own","params":{"items":[{"n":0}]}}`), o)
				assert.Error(t, err)
				_ = row.Describe(bounded{Left: 2})
				fault.Rows()[0].Kind = "changed"
			}
		})
	}
	wg.Wait()
}

// The time to read a document grows with its size, however much of it is wrong. With
// time that grows as the square of the size each of these takes minutes.
func TestLargeDocumentsAreReadOnce(t *testing.T) {
	const n = 50_000
	member := func(i int) string { return fmt.Sprintf(`"k%d":1`, i) }
	many := func(part func(i int) string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = part(i)
		}
		return strings.Join(parts, ",")
	}
	value := func(v string) string {
		return `{"seed":"1","rules":[{"target":"a","fault":{"kind":"replace","params":{"value":` + v + `}}}]}`
	}
	long := strings.Repeat("k", 1<<18)
	for _, c := range []struct{ why, doc, want string }{
		{"rules without anything", `{"seed":"1","rules":[` + many(func(int) string { return `{}` }) + `]}`, "and 99900 more problems"},
		{"unknown kinds", `{"seed":"1","rules":[` + many(func(int) string { return `{"target":"a","fault":{"kind":"hagn"}}` }) + `]}`, "and 49900 more problems"},
		{"unknown members", `{"seed":"1","rules":[],` + many(member) + `}`, "and 49900 more problems"},
		{"one member over and over", `{"seed":"1","rules":[],` + many(func(int) string { return `"seed":"1"` }) + `}`, "and 49900 more problems"},
		{"an object with many members", value(`{` + many(member) + `}`), ""},
		{"a list of a member with a long name", value(`{"` + long + `":[` + many(func(int) string { return "1" }) + `]}`), ""},
		{"a list of wrong values in a member with a long name", `{"seed":"1","rules":[{"target":"a","fault":{"kind":"http_status","params":{"code":500,"header":{"` +
			long + `":[` + many(func(int) string { return "1" }) + `]}}}}]}`, "and 49900 more problems"},
	} {
		t.Run(c.why, func(t *testing.T) {
			_, err := planjson.Decode([]byte(c.doc), nil)
			if c.want == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, c.want)
			assert.Less(t, len(err.Error()), 1<<20, "the text of an error stays readable")
		})
	}
}

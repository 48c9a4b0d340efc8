package planjson

import (
	"fmt"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
	"github.com/shakedown-go/shakedown/chaos/when"
)

type (
	probability struct {
		P float64 `json:"p" bounds:"min=0,max=1" doc:"probability of each call on its own"`
	}
	callNumbers struct {
		N []int `json:"n" bounds:"min=1,over=0" doc:"numbers of calls, counted from 1"`
	}
	callCount struct {
		N int `json:"n" bounds:"min=1" doc:"number of calls"`
	}
	quota struct {
		N int `json:"n" bounds:"min=0" doc:"number of calls that are not matched"`
	}
	window struct {
		From time.Duration `json:"from" doc:"time since the injector was armed"`
		To   time.Duration `json:"to" doc:"the end, itself excluded"`
	}
	beginning struct {
		From time.Duration `json:"from" doc:"time since the injector was armed"`
	}
	calls struct {
		Calls []when.Coord `json:"calls" bounds:"min=1" doc:"the calls, by their coordinates"`
	}
	lanes struct {
		Lanes []string `json:"lanes" bounds:"min=1" doc:"globs over names of lanes; the empty one stands for the default lane"`
	}
	turns struct {
		N []int `json:"n" bounds:"min=1" doc:"turns of the agent"`
	}
	turnRange struct {
		First int `json:"first"`
		Last  int `json:"last" doc:"not before first"`
	}
	named struct {
		Name string `json:"name" doc:"what the function looks for or does"`
		Type string `json:"type" doc:"the Go type that it takes"`
	}
	burst struct {
		From int `json:"from" bounds:"min=1" doc:"the first call matched, counted from 1"`
		N    int `json:"n" bounds:"min=1" doc:"number of calls"`
	}
	burstWithin struct {
		N     int `json:"n" bounds:"min=1" doc:"number of calls matched"`
		Calls int `json:"calls" bounds:"min=1" doc:"number of calls among which they are, at least n"`
	}
	intermittent struct {
		On  int `json:"on" bounds:"min=1" doc:"number of calls matched"`
		Off int `json:"off" bounds:"min=1" doc:"number of calls not matched"`
	}
	flapping struct {
		On  time.Duration `json:"on" doc:"time down"`
		Off time.Duration `json:"off" doc:"time up"`
	}
	chain struct {
		Enter float64 `json:"enter" bounds:"over=0,max=1" doc:"probability to go down, before each call"`
		Leave float64 `json:"leave" bounds:"over=0,max=1" doc:"probability to come back, before each call"`
	}
	errorChain struct {
		chain
		Good float64 `json:"good" bounds:"min=0,max=1" doc:"probability of a call while up"`
		Bad  float64 `json:"bad" bounds:"min=0,max=1" doc:"probability of a call while down"`
	}
	expected struct {
		Calls int `json:"calls" bounds:"min=3" doc:"calls of a lane to the target that a run without faults makes"`
	}
	stage struct {
		For   time.Duration `json:"for,omitempty" doc:"how long the stage lasts; left out in the last: for good"`
		Calls int           `json:"calls,omitempty" bounds:"min=0" doc:"how many calls it lasts, where stages do not go by the clock"`
		When  chaos.When    `json:"when" doc:"which of its calls"`
	}
	stages struct {
		Stages []stage `json:"stages" bounds:"min=1" doc:"in order; all by the clock or all by calls"`
	}
	parts struct {
		Parts []chaos.When `json:"parts" bounds:"min=1" doc:"triggers that draw independently"`
	}
	onePart struct {
		Parts []chaos.When `json:"parts" bounds:"min=1,max=1" doc:"the trigger, a list of one"`
	}
)

func whenKinds() []*catalog.Row {
	return []*catalog.Row{
		whenRow("always", "when.Always()", "Every call.", `{}`, func(none) chaos.When { return when.Always() }),
		whenRow("prob", "when.Prob(p)", "Each call with a probability.", `{"p":0.3}`,
			func(p probability) chaos.When { return when.Prob(p.P) }),
		whenRow("nth", "when.Nth(n...)", "The calls of these numbers.", `{"n":[4]}`,
			func(p callNumbers) chaos.When { return when.Nth(p.N...) }),
		whenRow("first", "when.First(n)", "The first n calls.", `{"n":3}`,
			func(p callCount) chaos.When { return when.First(p.N) }),
		whenRow("after", "when.After(n)", "All calls except the first n.", `{"n":10}`,
			func(p quota) chaos.When { return when.After(p.N) }),
		whenRow("every", "when.Every(n)", "The n-th call, the 2n-th, and so on.", `{"n":5}`,
			func(p callCount) chaos.When { return when.Every(p.N) }),
		whenRow("between", "when.Between(from, to)", "Calls that begin within a time window.", `{"from":"1m0s","to":"2m0s"}`,
			func(p window) chaos.When { return when.Between(p.From, p.To) }),
		whenRow("since", "when.Since(from)", "Calls that begin after a time.", `{"from":"30s"}`,
			func(p beginning) chaos.When { return when.Since(p.From) }),
		whenRow("exactly", "when.Exactly(calls...)", "The calls of a list and no others.",
			`{"calls":[{"target":"refund","key":"17","occurrence":"1"}]}`,
			func(p calls) chaos.When { return when.Exactly(p.Calls...) }),
		whenRow("lane", "when.Lane(globs...)", "The calls of some lanes.", `{"lanes":["worker-*"]}`,
			func(p lanes) chaos.When { return when.Lane(p.Lanes...) }),
		whenRow("turn", "when.Turn(n...)", "The calls of some turns of the agent.", `{"n":[2]}`,
			func(p turns) chaos.When { return when.Turn(p.N...) }),
		whenRow("turn_between", "when.TurnBetween(first, last)", "The calls of a range of turns.", `{"first":2,"last":4}`,
			func(p turnRange) chaos.When { return when.TurnBetween(p.First, p.Last) }),
		whenRow("all", "when.All(parts...)", "The calls that all parts match.",
			`{"parts":[{"kind":"after","params":{"n":2}},{"kind":"prob","params":{"p":0.5}}]}`,
			func(p parts) chaos.When { return when.All(p.Parts...) }),
		whenRow("any", "when.Any(parts...)", "The calls that one of the parts matches.",
			`{"parts":[{"kind":"nth","params":{"n":[1]}},{"kind":"every","params":{"n":10}}]}`,
			func(p parts) chaos.When { return when.Any(p.Parts...) }),
		whenRow("not", "when.Not(part)", "The calls that the part does not match.",
			`{"parts":[{"kind":"first","params":{"n":1}}]}`,
			onePart.when),
		whenRow("burst", "when.Burst(from, n)", "A run of consecutive calls.", `{"from":4,"n":3}`,
			func(p burst) chaos.When { return when.Burst(p.From, p.N) }),
		whenRow("burst_within", "when.BurstWithin(n, calls)", "A run of consecutive calls somewhere among the first ones.", `{"n":3,"calls":12}`,
			func(p burstWithin) chaos.When { return when.BurstWithin(p.N, p.Calls) }),
		whenRow("intermittent", "when.Intermittent(on, off)", "Some calls in a row, then some not, in turn.", `{"on":2,"off":3}`,
			func(p intermittent) chaos.When { return when.Intermittent(p.On, p.Off) }),
		whenRow("flapping", "when.Flapping(on, off)", "Down for a time, up for a time, in turn.", `{"on":"10s","off":"30s"}`,
			func(p flapping) chaos.When { return when.Flapping(p.On, p.Off) }),
		whenRow("markov", "when.Markov(enter, leave)", "Bursts from a chain of two states.", `{"enter":0.2,"leave":0.4}`,
			func(p chain) chaos.When { return when.Markov(p.Enter, p.Leave) }),
		whenRow("gilbert_elliott", "when.GilbertElliott(enter, leave, good, bad)", "Bursts with errors in both states.",
			`{"enter":0.2,"leave":0.4,"good":0.05,"bad":0.8}`,
			func(p errorChain) chaos.When { return when.GilbertElliott(p.Enter, p.Leave, p.Good, p.Bad) }),
		whenRow("early", "when.Early(calls)", "The first third of the calls that are expected.", `{"calls":9}`,
			func(p expected) chaos.When { return when.Early(p.Calls) }),
		whenRow("mid", "when.Mid(calls)", "The second third.", `{"calls":9}`,
			func(p expected) chaos.When { return when.Mid(p.Calls) }),
		whenRow("late", "when.Late(calls)", "The last third and all calls after it.", `{"calls":9}`,
			func(p expected) chaos.When { return when.Late(p.Calls) }),
		whenRow("stages", "when.Stages(list...)", "Triggers that follow one another.",
			`{"stages":[{"for":"1m0s","when":{"kind":"prob","params":{"p":0.1}}},{"when":{"kind":"always"}}]}`, stages.when),
		inCode[named](true, "args", "when.Args(name, pred)", "Calls whose arguments satisfy a Go function.",
			`{"name":"is seven","type":"int"}`),
	}
}

// when negates the one part. A list of none or of several is refused here; in
// Go it cannot be written.
func (p onePart) when() chaos.When {
	if len(p.Parts) != 1 {
		return notOne{len(p.Parts)}
	}
	return when.Not(p.Parts[0])
}

func (p stages) when() chaos.When {
	list := make([]when.Stage, len(p.Stages))
	for i, s := range p.Stages {
		list[i] = when.Stage{For: s.For, Calls: s.Calls, When: s.When}
	}
	return when.Stages(list...)
}

// notOne is a negation of no or several parts, which Check refuses.
type notOne struct{ n int }

func (notOne) Match(chaos.Call) bool { return false }

func (w notOne) Check() error {
	c := param.Check{Kind: "not"}
	c.That(false, "parts", fmt.Sprint(w.n, " parts"), "one trigger")
	return c.Err()
}

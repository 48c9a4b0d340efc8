package behaviour

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/contracttest"
	"github.com/shakedown-go/shakedown/contract/invariant"
	"github.com/shakedown-go/shakedown/contract/search"
	"github.com/shakedown-go/shakedown/examples/frameworks/internal/page"
)

// patience is how long an answer may take.
const patience = time.Minute

// invariants are what a shop wants of the agent, as the order desk of examples/internal/orderdesk does.
func invariants() []contract.Invariant {
	refunded := func(s State) bool { return slices.Contains(s.Refunds, order) }
	mailed := func(s State) bool { return slices.Contains(s.Mails, order) }
	claim := func(says string, holds func(State) bool) invariant.Claim[State] {
		return invariant.Claim[State]{Says: says, Bare: true, Holds: func(s State, _ []string) bool { return holds(s) }}
	}
	return []contract.Invariant{
		invariant.AtMostOnce("one-refund", contract.Critical, func(s State) []string { return s.Refunds }),
		invariant.ClaimsMatchState("claims-are-true", contract.Critical,
			claim("I refunded", refunded), claim("customer has been told", mailed),
			claim("I could not refund", func(s State) bool { return !refunded(s) }),
			claim("I could not tell|I could not find", func(State) bool { return true })),
		invariant.AtMostOnce("one-mail", contract.High, func(s State) []string { return s.Mails }),
		invariant.Within("answers-in-time", contract.Medium, patience),
		invariant.NotEmpty("says-something", contract.High),
	}
}

// scenarios are what happens in production sooner or later.
func (f *Framework) scenarios() []contract.Scenario {
	under := func(name, target string, w chaos.When, how chaos.Fault) contract.Scenario {
		return contract.Under(name, chaos.Rule{Target: target, When: w, Fault: how})
	}
	tooMany := chaoshttp.APIError(f.API, chaoshttp.KindRateLimit, &chaoshttp.StatusOptions{RetryAfter: retryAfter})
	return []contract.Scenario{
		contract.Calm(),
		under("lookup-flaky", lookUp, when.First(1), fault.Fail(errDown)),
		under("refund-down", refund, nil, fault.Fail(errDown)),
		under("refund-reply-lost", refund, when.First(1), fault.LoseReply()),
		under("refund-reply-lost-for-ever", refund, nil, fault.LoseReply()),
		under("refund-delivered-twice", refund, when.First(1), fault.Duplicate()),
		under("mail-reply-lost", notify, when.First(1), fault.LoseReply()),
		under("tools-slow", "{"+lookUp+","+refund+","+notify+"}", nil, fault.Delay(5*time.Second)),
		under("refund-hangs", refund, when.First(1), fault.Hang()),
		under("rate-limited", f.Target, when.Nth(refundTurn), tooMany),
		under("model-resets", f.Target, when.Nth(refundTurn), chaoshttp.Reset()),
		under("model-hangs", f.Target, when.Nth(refundTurn), fault.Hang()),
		under("arguments-broken", f.Target, when.Nth(refundTurn), chaoshttp.MalformToolCall()),
		under("says-nothing", f.Target, when.Nth(answerTurn), chaoshttp.EmptyCompletion()),
	}
}

// matrix is the contract of the plain agent.
func (f *Framework) matrix() *contract.Matrix {
	return &contract.Matrix{
		Name: f.Name, Points: []string{strings.TrimSuffix(f.Target, "*") + "x"}, Prompts: []string{question},
		Invariants: invariants(), Scenarios: f.scenarios(), Seed: 1, Timeout: f.limit(),
		NewWorld: func(context.Context) (*contract.World, error) {
			desk := &desk{}
			var ends []func()
			tools, err := desk.tools()
			server := newServer(newModel(false))
			agent := func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
				bound := &chaoshttp.Options{Injector: chaos.FromContext(ctx)}
				atEnd := func(end func()) { ends = append(ends, end) }
				return f.Ask(ctx, World{Model: chaoshttp.NewTransport(server, bound), Tools: tools, AtEnd: atEnd}, prompt)
			}
			return &contract.World{Agent: agent, Tools: tools, State: func(context.Context) (any, error) { return desk.now(), nil },
				Close: func() error {
					for _, end := range ends {
						end()
					}
					return nil
				}}, err
		},
	}
}

// searchRuns bounds the search for defects. A budget of runs, unlike one of time, finds the same on each machine.
const searchRuns = 1000

// Contract holds the framework's line of the second table in docs/frameworks.md: the defects that the contract finds
// in the plain agent, and which habits around its tools mend them. The matrix runs in a process of its own, as its cells break.
func (f Framework) Contract(t *testing.T) {
	f.check(t)
	var defects []contract.Defect
	died := inChild(t, func(t *testing.T, done func(any)) {
		contracttest.Run(t, f.matrix(), &contracttest.Options{
			RealTime: f.RealTime != "", Dir: "-", Explain: &search.Budget{Runs: searchRuns}, Cure: true,
			Finish: func(r *contract.Report) error {
				require.Empty(t, r.SearchStopped)
				for i := range r.Cells { // else the contract says less than it seems to
					c := &r.Cells[i]
					require.Contains(t, []contract.CellState{contract.Held, contract.Broken}, c.State, "%v: %s", c.Cell, c.Why)
				}
				done(r.Defects)
				return nil
			},
		})
	}, &defects)
	require.Empty(t, died)
	requests := regexp.MustCompile(regexp.QuoteMeta(strings.TrimSuffix(f.Target, "*")) + `\S*`)
	var lines []string
	for _, d := range defects {
		var broken []string
		for _, b := range d.Breaks {
			if name := "`" + b.Invariant + "`"; !slices.Contains(broken, name) {
				broken = append(broken, name)
			}
		}
		lines = append(lines, fmt.Sprintf("%v: %s → %s; %s", d.Severity, requests.ReplaceAllString(d.Sentence, "the model"),
			strings.Join(broken, ", "), mends(t, d.Cure)))
	}
	assert.NotEmpty(t, lines, "a plain agent has defects")
	page.Row(t, pageFile, "defects", "| ["+f.Name+"]", fmt.Sprintf("| [%s](%s) %s | %s |", f.Name, f.file(), f.version(t),
		cmp.Or(strings.Join(lines, "<br>"), "none")))
}

// mends says which habits around the tools mend a defect, or what stands against them.
func mends(t *testing.T, c *contract.Cure) string {
	require.NotNil(t, c)
	require.False(t, c.Cut)
	if len(c.Habits) == 0 {
		return c.Why
	}
	var names []string
	for _, h := range c.Habits {
		names = append(names, h.Does)
	}
	return "mended by **" + strings.Join(names, "** and **") + "**"
}

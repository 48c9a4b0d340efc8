package search

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/chaossql"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/lies"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/usercode"
)

// Swept is what a [Sweep] found, and what it tried in vain.
type Swept struct {
	// Levels say of each kind of set how many there are and what became of them; of an agent that does
	// not repeat itself the first, which alone is tried.
	Levels []Level `json:"levels"`
	// Defects are the ways to break that were found, the most severe first.
	Defects []contract.Defect `json:"defects,omitempty"`
	// Invariants has an entry for each invariant, in the order of the matrix.
	Invariants []InvariantCount `json:"invariants"`
	// Strength says which faults the contract notices.
	Strength Strength `json:"strength"`
	// Difference is how two calm runs first differed. It is nil if they were the same.
	Difference *Difference `json:"difference,omitempty"`
	// Runs is the number of runs, Elapsed the real time they took, and Stopped why the
	// sweep ended early; empty: it did not.
	Runs    int           `json:"runs"`
	Elapsed time.Duration `json:"elapsedNs"`
	Stopped string        `json:"stopped,omitempty"`
}

// A Level counts the sets of one kind. Possible is the sum of the other counts, Runs and
// Unknown apart.
type Level struct {
	// Faults is the number of faults in a set.
	Faults int `json:"faults"`
	// Follows reports whether each fault but the first is on a call that the former ones
	// brought about. Of other pairs both are on calls of the calm run.
	Follows bool `json:"follows,omitempty"`
	// Possible is the number of sets.
	Possible int `json:"possible"`
	// Alone were tried in a run of their own, Together only in runs with other faults, of
	// which there were Runs.
	Alone    int `json:"alone"`
	Together int `json:"together,omitempty"`
	Runs     int `json:"runs,omitempty"`
	// Equal were not tried because one of the faults takes away the call of the other, so
	// that a smaller set does the same.
	Equal int `json:"equal,omitempty"`
	// Contains were not tried because smaller sets in them break every invariant.
	Contains int `json:"contains,omitempty"`
	// Undelivered have a fault that could not be delivered.
	Undelivered int `json:"undelivered,omitempty"`
	// Left were not tried: the sweep was stopped, or Strength is 1.
	Left int `json:"left,omitempty"`
	// Unknown is the number of smaller sets that were not tried, so that it is not known which calls
	// they bring about: Possible does not count what follows them.
	Unknown int `json:"unknown,omitempty"`
}

// An InvariantCount says in how many runs an invariant broke, and how many left it
// undecided.
type InvariantCount struct {
	Invariant string            `json:"invariant"`
	Severity  contract.Severity `json:"severity"`
	Runs      int               `json:"runs"`
	Broke     int               `json:"broke"`
	Undecided int               `json:"undecided"`
	// Calm reports whether it breaks without any fault. Nothing else was tried for it.
	Calm bool `json:"calm,omitempty"`
}

// Sweep tries faults on the calls of the agent, and needs no scenarios: only worlds,
// prompts and invariants. It begins with a calm run of each prompt list, and goes on
// level by level:
//
//  1. each fault of [Options].Faults on each call of the calm run, alone;
//  2. with each of these, faults on the calls that it brought about, such as retries and
//     fallbacks: calls that the run without it lacks; and so on to [Options].Depth;
//  3. all other pairs of faults on calls of the calm run, many in one run (with Strength
//     1 each fault, many in one run). If a run breaks what no known set in it breaks,
//     the fewest of its faults that break it are looked for. Pairs that did not meet in
//     such a run are tried alone.
//
// A set is tried for the invariants that no smaller set in it breaks; if none is left,
// it is not tried.
//
// If two calm runs differ, the agent does not repeat itself: then only level 1 is tried,
// and what breaks is confirmed in up to 24 runs. In real time no fault of [Usual] waits.
//
// Errors: a [*FieldError] for each problem of the options, joined; those of
// [contract.Matrix.Runner]; and that of ctx, with what was found before it ended.
//
// The levels follow lineage-driven fault injection (Alvaro, Rosen and Hellerstein, SIGMOD
// 2015) as Filibuster begins it with one passing run (Meiklejohn et al., SoCC 2021); the
// rows are covering arrays (Cohen et al., IEEE TSE 23, 1997).
func Sweep(ctx context.Context, m *contract.Matrix, o *Options) (*Swept, error) {
	own, err := o.checked(m)
	if err != nil {
		return nil, err
	}
	runner, err := own.runner(ctx, m, toCompare)
	if err != nil {
		return nil, err
	}
	defer runner.Close()
	s := newSweeper(m, runner, own)
	if err = s.Sweep(ctx); err != nil && s.Runs.Cut == "" {
		s.Runs.Cut = err.Error()
	}
	return s.result(m), err
}

// Usual returns the faults that [Sweep] tries on a call where [Options].Faults is nil: it
// fails, times out after 5 s, or takes 15 s longer, and what fits its layer:
//
//   - a tool, a function or a call of gRPC returns an empty result;
//   - an HTTP request is answered with status 503, or with a body that is not JSON;
//   - the connection of a SQL call is lost before it is sent, which package sql overcomes;
//   - the answer of a model is empty or cut off;
//   - a stream ends after its first item, or lacks its last.
//
// If a call may change something, its reply is also lost after its work was done, and it
// is executed twice. That is a tool that does not declare [chaos.EffectNone], a function,
// and an HTTP request that is no GET, HEAD or OPTIONS. The reply to a SQL statement or commit, or to a unary call of
// gRPC, is lost, but no driver and no client sends one twice.
//
// Each fault more on every call costs about a quarter more runs. e is the call, as the
// first run made it that has it; tool is zero for a point that is no tool.
func Usual(e chaos.Event, tool chaos.Tool) []chaos.Fault { return usualFaults(e, tool, false) }

// usualFaults are those of Usual, in real time without a wait.
func usualFaults(e chaos.Event, tool chaos.Tool, realTime bool) []chaos.Fault {
	timeout, lost := 5*time.Second, fault.LoseReply()
	if realTime {
		timeout, lost = 0, fault.LoseReplyAfter(0)
	}
	all := []chaos.Fault{fault.Fail(fault.ErrUnavailable), fault.Timeout(timeout)}
	effects := false
	switch e.Layer {
	case chaos.LayerHTTP:
		all = append(all, chaoshttp.Status(503, nil), lies.Malformed())
		method, _, _ := strings.Cut(e.Target, " ")
		effects = method != "GET" && method != "HEAD" && method != "OPTIONS"
	case chaos.LayerSQL: // no driver sends a statement twice
		all = append(all, chaossql.BadConn())
		if strings.Contains(e.Target, ".commit") || strings.Contains(e.Target, ".exec") {
			all = append(all, lost)
		}
	case chaos.LayerGRPC: // gRPC sends a call twice only where a retry policy says so
		all = append(all, lies.Empty(), lost)
	case chaos.LayerLLM:
		all = append(all, chaoshttp.EmptyCompletion(), chaoshttp.CutCompletion(1))
	case chaos.LayerStream:
		all = append(all, fault.CutAfter(1), fault.DropLastItem())
	default:
		all = append(all, lies.Empty())
		effects = tool.Effect != chaos.EffectNone
	}
	if !realTime {
		all = append(all, fault.Delay(15*time.Second))
	}
	if effects {
		all = append(all, lost, fault.Duplicate())
	}
	return all
}

// faultsOn asks which faults to try on a call of a tool, in real time or not.
func (o *Options) faultsOn(e chaos.Event, tool chaos.Tool, realTime bool) (faults []chaos.Fault, err error) {
	defer usercode.Recover(&err, "search: Faults")
	if o.Faults == nil {
		return usualFaults(e, tool, realTime), nil
	}
	faults = o.Faults(e, tool)
	for i, f := range faults {
		if f == nil {
			return nil, fields.Wrong(fmt.Sprintf("Faults: %s [%d]", e.Target, i), fielderror.Found("nil"), "a fault")
		}
	}
	return faults, nil
}

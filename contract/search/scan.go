package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"

	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/internal/usercode"
)

// scanPoints is the number of points of an axis that a Scan begins with, both ends
// included.
const scanPoints = 17

// Scanned is what a [Scan] found.
type Scanned struct {
	Axis string `json:"axis"`
	// Limits has an entry for each invariant, in the order of the matrix.
	Limits []Limit `json:"limits"`
	// Runs is the number of runs, Elapsed the real time they took, and Stopped why the scan
	// ended early; empty: it did not.
	Runs    int           `json:"runs"`
	Elapsed time.Duration `json:"elapsedNs"`
	Stopped string        `json:"stopped,omitempty"`

	axis Axis
}

// A Limit says how much of a fault an invariant holds out.
type Limit struct {
	Invariant string            `json:"invariant"`
	Severity  contract.Severity `json:"severity"`
	// Held is the largest value below Broke at which every run held, and Broke the smallest
	// at which some run broke; nil: there is none. Held is nil too if no run that was decided
	// had a delivered fault: then nothing is known of the axis.
	Held  *float64 `json:"held,omitempty"`
	Broke *float64 `json:"broke,omitempty"`
	// HeldAgain are the values above Broke at which every run held, in order: an agent may
	// fail too early to do harm.
	HeldAgain []float64 `json:"heldAgain,omitempty"`
	// Points are the values that were tried, in order.
	Points []LimitPoint `json:"points"`
}

// A LimitPoint counts the runs at one value of an axis. A run neither broke nor was
// undecided if the invariant held in it. Undelivered are those without a delivered fault,
// whether they held or broke.
type LimitPoint struct {
	Value       float64 `json:"value"`
	Runs        int     `json:"runs"`
	Broke       int     `json:"broke"`
	Undecided   int     `json:"undecided"`
	Undelivered int     `json:"undelivered,omitempty"`
}

func (p *LimitPoint) held() bool { return p.Runs > 0 && p.Broke == 0 && p.Undecided == 0 }

func (p *LimitPoint) shows() bool { return p.Runs > p.Undecided+p.Undelivered }

// Scan finds out how much of a fault each invariant holds out. It tries 17 values of the
// axis, each with all trials of the matrix, and then, for each invariant, halves the
// distance between the last value that held and the first that broke, until they are
// 1/256 of the axis apart. It never bisects alone, because an agent may hold again above
// the first value that breaks it. The matrix needs no scenarios. The runs are in real time
// unless Options.Run.Harness.Calm is a bubble; contracttest.Scan makes one.
//
// The runs of all values have one scenario name, and their rules should have names that
// do not depend on the value. Draws are then nested: a call that is hit at 10 % is hit
// at 20 %.
//
// Errors: a [*FieldError] for each problem of the axis and the options, joined; those of
// [contract.Matrix.Runner]; and that of ctx, with what was found before it ended.
func Scan(ctx context.Context, m *contract.Matrix, a Axis, o *Options) (*Scanned, error) {
	own, err := o.checked(m)
	if err = errors.Join(err, a.check()); err != nil {
		return nil, err
	}
	runner, err := m.Runner(ctx, own.runOptions())
	if err != nil {
		return nil, err
	}
	defer runner.Close()
	s := &scanner{axis: a, trials: max(m.Trials, 1), lists: promptListsOf(m), points: map[float64]*scanPoint{}}
	view := newViewer(nil, newShaper(nil))
	s.runs = newLockstep(runner.Run, own.bounds(),
		func(_ runRequest, r *contract.Result) *runDigest { return view.Judge(r) })
	err = s.scan(ctx)
	return s.result(m), err
}

type scanner struct {
	axis   Axis
	trials int
	lists  []*promptList
	runs   *lockstep[*runDigest]
	points map[float64]*scanPoint
}

// A scanPoint is the runs at one value, by list.
type scanPoint struct {
	rules []chaos.Rule
	runs  map[int][]*runDigest
}

// scan tries the points, and then bisects for each invariant.
func (s *scanner) scan(ctx context.Context) error {
	var tasks []task[*runDigest]
	for i := range scanPoints {
		value := s.axis.valueAt(float64(i) / (scanPoints - 1))
		if s.points[value] != nil {
			continue // a whole axis may have fewer
		}
		if err := s.add(value); err != nil {
			return err
		}
		for _, l := range s.lists {
			for trial := range s.trials {
				tasks = append(tasks, func(ask askRun) { s.try(ask, value, l, trial) })
			}
		}
	}
	if err := s.runs.Run(ctx, tasks...); err != nil {
		return err
	}
	var failed error
	tasks = nil
	for _, l := range s.lists {
		for _, name := range l.Invariants {
			tasks = append(tasks, func(ask askRun) {
				if err := s.bisect(ask, l, name); err != nil && failed == nil {
					failed = err
				}
			})
		}
	}
	if err := s.runs.Run(ctx, tasks...); err != nil {
		return err
	}
	return failed
}

func (s *scanner) add(value float64) error {
	rules, err := rulesAt(&s.axis, value)
	if err != nil {
		return err
	}
	s.points[value] = &scanPoint{rules: rules, runs: map[int][]*runDigest{}}
	return nil
}

func rulesAt(a *Axis, value float64) (rules []chaos.Rule, err error) {
	defer usercode.Recover(&err, "search: Axis.Rules")
	return a.Rules(value), nil
}

// try makes one run at a value. ok is false if the search was cut.
func (s *scanner) try(ask askRun, value float64, l *promptList, trial int) (ok bool) {
	p := s.points[value]
	v, ok := ask(runRequest{Cell: contract.Cell{Scenario: sweepScenario, Invariant: l.Name, Trial: trial + 1},
		Rules: p.rules, Key: fmt.Sprintf("%v %d %d", value, l.Number, trial)})
	if ok && len(p.runs[l.Number]) == trial {
		p.runs[l.Number] = append(p.runs[l.Number], v)
	}
	return ok
}

// bisect halves the distance between the last value that held and the first that broke.
func (s *scanner) bisect(ask askRun, l *promptList, invariant string) error {
	for {
		limit := s.limit(l, invariant)
		if limit.Held == nil || limit.Broke == nil {
			return nil
		}
		x, y := s.axis.share(*limit.Held), s.axis.share(*limit.Broke)
		if y-x <= 1./256+1e-9 {
			return nil
		}
		value := s.axis.valueAt((x + y) / 2)
		if value <= *limit.Held || value >= *limit.Broke {
			return nil
		}
		if s.points[value] == nil {
			if err := s.add(value); err != nil {
				return err
			}
		}
		for trial := range s.trials {
			if !s.try(ask, value, l, trial) {
				return nil
			}
		}
		if p := s.pointOf(value, l, invariant); p.Broke == 0 && p.Undecided > 0 {
			return nil // neither held nor broke
		}
	}
}

// pointOf counts the runs at a value for an invariant.
func (s *scanner) pointOf(value float64, l *promptList, invariant string) LimitPoint {
	p := LimitPoint{Value: value}
	for _, v := range s.points[value].runs[l.Number] {
		p.Runs++
		j := cmp.Or(v.judgedBy(invariant), &judged{State: contract.Held}) // one that does not apply
		if j.Broke {
			p.Broke++
		} else if j.Undecided() {
			p.Undecided++
		}
		if j.State == contract.Undelivered || len(s.points[value].rules) == 0 && !j.Undecided() {
			p.Undelivered++
		}
	}
	return p
}

// limit is what is known of an invariant.
func (s *scanner) limit(l *promptList, invariant string) Limit {
	r := Limit{Invariant: invariant, Points: []LimitPoint{}}
	for _, v := range slices.Sorted(maps.Keys(s.points)) {
		p := s.pointOf(v, l, invariant)
		if p.Runs == 0 {
			continue
		}
		r.Points = append(r.Points, p)
		switch {
		case p.Broke > 0 && r.Broke == nil:
			r.Broke = &p.Value
		case p.held() && p.Runs == s.trials && r.Broke == nil:
			r.Held = &p.Value
		case p.held() && p.Runs == s.trials:
			r.HeldAgain = append(r.HeldAgain, v)
		}
	}
	if !r.shows() {
		r.Held, r.HeldAgain = nil, nil // without a fault, holding says nothing of the axis
	}
	return r
}

// shows reports whether some run was decided under a delivered fault.
func (l *Limit) shows() bool {
	return slices.ContainsFunc(l.Points, func(p LimitPoint) bool { return p.shows() })
}

// shownAt reports whether some run at a value was decided under a delivered fault.
func (l *Limit) shownAt(value float64) bool {
	return slices.ContainsFunc(l.Points, func(p LimitPoint) bool { return p.Value == value && p.shows() })
}

func (s *scanner) result(m *contract.Matrix) *Scanned {
	r := &Scanned{Axis: s.axis.Name, Runs: s.runs.Spent.Runs, Elapsed: time.Since(s.runs.Begun), Stopped: s.runs.Cut,
		axis: s.axis}
	for _, p := range m.Invariants {
		for _, l := range s.lists {
			if slices.Contains(l.Invariants, p.Name) {
				limit := s.limit(l, p.Name)
				limit.Severity = p.Severity
				r.Limits = append(r.Limits, limit)
			}
		}
	}
	return r
}

// String has a line for each invariant: what it holds out, and where it holds again.
func (s *Scanned) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s", s.Axis, text.Plural(s.Runs, "run"))
	if s.Stopped != "" {
		b.WriteString("; stopped: " + s.Stopped)
	}
	b.WriteString("\n")
	for _, l := range s.Limits {
		fmt.Fprintf(&b, "%-24s %s\n", l.Invariant, l.said(s.axis.text))
	}
	return b.String()
}

func (l *Limit) said(format func(float64) string) string {
	var parts []string
	undecided, undelivered := 0, 0
	for _, p := range l.Points {
		undecided += p.Undecided
		undelivered += p.Undelivered
	}
	switch {
	case len(l.Points) == 0:
		return "not tried"
	case l.Held != nil:
		parts = append(parts, "holds to "+format(*l.Held)+l.countsAt(*l.Held))
		if *l.Held != 0 && !l.shownAt(*l.Held) { // a value of 0 has none by itself
			parts = append(parts, "where no fault was delivered")
		}
	}
	if l.Broke != nil {
		parts = append(parts, "breaks from "+format(*l.Broke)+l.countsAt(*l.Broke))
	}
	if n := len(l.HeldAgain); n > 0 {
		parts = append(parts,
			fmt.Sprintf("holds again at %s, such as %s", text.Plural(n, "value"), format(l.HeldAgain[n-1])))
	}
	if undelivered > 0 && !l.shows() {
		parts = append(parts, "no fault was delivered in "+text.Plural(undelivered, "run"))
	}
	if undecided > 0 {
		parts = append(parts, "undecided in "+text.Plural(undecided, "run"))
	}
	return strings.Join(parts, ", ")
}

// countsAt says of how many runs at a value the invariant held, such as " (5 of 5 held)".
func (l *Limit) countsAt(value float64) string {
	for _, p := range l.Points {
		if p.Value == value && p.Runs > 0 {
			return fmt.Sprintf(" (%d of %d held)", p.Runs-p.Broke-p.Undecided, p.Runs)
		}
	}
	return ""
}

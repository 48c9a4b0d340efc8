package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fielderror"
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
	runner, err := own.runner(ctx, m, 0)
	if err != nil {
		return nil, err
	}
	defer runner.Close()
	s := &scanner{axis: &a, trials: max(m.Trials, 1)}
	view := newViewer(nil, newShaper(nil))
	s.runs = newLockstep(runner, own, func(_ runRequest, r *contract.Result) *runDigest { return view.Judge(r) })
	lists := promptListsOf(m)
	err = s.scan(ctx, lists)
	r := &Scanned{Axis: a.Name, Runs: s.runs.Spent.Runs, Elapsed: time.Since(s.runs.Begun), Stopped: s.runs.Cut,
		axis: a}
	for _, p := range m.Invariants {
		l := lists[slices.IndexFunc(lists, func(l *promptList) bool { return slices.Contains(l.Invariants, p.Name) })]
		limit, _, _ := s.limit(l, p.Name)
		limit.Severity = p.Severity
		r.Limits = append(r.Limits, limit)
	}
	return r, err
}

type scanner struct {
	axis   *Axis
	trials int
	runs   *lockstep
	values []*scanValue // that are tried, in order
}

// A scanValue is a value that is tried, at a share of the axis from 0 to 1.
type scanValue struct {
	share, value float64
	rules        []chaos.Rule
}

// scan tries the points, and then bisects for each invariant.
func (s *scanner) scan(ctx context.Context, lists []*promptList) error {
	var points, limits []task
	for i := range scanPoints {
		v, fresh, err := s.valueAt(float64(i) / (scanPoints - 1))
		if err != nil {
			return err
		}
		if !fresh {
			continue // an axis of whole numbers may have fewer
		}
		for _, l := range lists {
			for trial := range s.trials {
				points = append(points, func(ask askFunc) { ask(s.request(v, l, trial)) })
			}
		}
	}
	var failed error
	for _, l := range lists {
		for _, name := range l.Invariants {
			limits = append(limits, func(ask askFunc) { failed = cmp.Or(failed, s.bisect(ask, l, name)) })
		}
	}
	err := s.runs.Run(ctx, points...)
	if err == nil {
		err = s.runs.Run(ctx, limits...)
	}
	return cmp.Or(err, failed)
}

// valueAt is the value at a share of the axis. If it is a fresh one, it asks for its rules.
func (s *scanner) valueAt(share float64) (v *scanValue, fresh bool, err error) {
	defer usercode.Recover(&err, "search: Axis.Rules")
	v = &scanValue{share: share, value: s.axis.valueAt(share)}
	i, known := slices.BinarySearchFunc(s.values, v.value,
		func(v *scanValue, value float64) int { return cmp.Compare(v.value, value) })
	if known {
		return s.values[i], false, nil
	}
	v.rules = s.axis.Rules(v.value)
	s.values = slices.Insert(s.values, i, v)
	return v, true, nil
}

func (s *scanner) request(v *scanValue, l *promptList, trial int) runRequest {
	r := runRequest{Cell: l.Cell, Rules: v.rules, Key: fmt.Sprintf("%v %s %d", v.value, l.Key, trial)}
	r.Cell.Trial = trial + 1
	return r
}

// bisect halves the distance between the last value that held and the first that broke.
func (s *scanner) bisect(ask askFunc, l *promptList, invariant string) error {
	for {
		limit, held, broke := s.limit(l, invariant)
		if limit.Held == nil || limit.Broke == nil || broke-held <= 1./256+1e-9 {
			return nil
		}
		v, _, err := s.valueAt((held + broke) / 2)
		if err != nil || !(v.value > *limit.Held && v.value < *limit.Broke) { // nor a NaN
			return err
		}
		for trial := range s.trials {
			if ask(s.request(v, l, trial)) == nil {
				return nil
			}
		}
		if p := s.pointOf(v, l, invariant); p.Broke == 0 && p.Undecided > 0 {
			return nil // neither held nor broke
		}
	}
}

// pointOf counts the runs at a value for an invariant. One that did not apply held.
func (s *scanner) pointOf(v *scanValue, l *promptList, invariant string) LimitPoint {
	p := LimitPoint{Value: v.value}
	for trial := range s.trials {
		run := s.runs.known[s.request(v, l, trial).Key]
		if run == nil {
			break
		}
		p.Runs++
		j := run.judgedBy(invariant)
		undecided := j.Undecided() && j.State != contract.NotRun
		switch {
		case j.Broke:
			p.Broke++
		case undecided:
			p.Undecided++
		}
		if j.State == contract.Undelivered || len(v.rules) == 0 && !undecided {
			p.Undelivered++
		}
	}
	return p
}

// limit is what is known of an invariant, and at which shares of the axis it held and broke.
func (s *scanner) limit(l *promptList, invariant string) (r Limit, held, broke float64) {
	r = Limit{Invariant: invariant, Points: []LimitPoint{}}
	for _, v := range s.values {
		p := s.pointOf(v, l, invariant)
		if p.Runs == 0 {
			continue
		}
		r.Points = append(r.Points, p)
		holds := p.Runs == s.trials && p.Broke == 0 && p.Undecided == 0
		switch {
		case p.Broke > 0 && r.Broke == nil:
			r.Broke, broke = &p.Value, v.share
		case holds && r.Broke == nil:
			r.Held, held = &p.Value, v.share
		case holds:
			r.HeldAgain = append(r.HeldAgain, v.value)
		}
	}
	if !r.shows() {
		r.Held, r.HeldAgain = nil, nil // without a fault, holding says nothing of the axis
	}
	return r, held, broke
}

// shows reports whether some run was decided under a delivered fault.
func (l *Limit) shows() bool {
	return slices.ContainsFunc(l.Points, func(p LimitPoint) bool { return p.shows() })
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
	if len(l.Points) == 0 {
		return "not tried"
	}
	var parts []string
	undecided, undelivered := 0, 0
	counts := map[float64]string{} // such as "16 (5 of 5 held)"
	shows := map[float64]bool{}
	for _, p := range l.Points {
		undecided += p.Undecided
		undelivered += p.Undelivered
		counts[p.Value] = fmt.Sprintf("%s (%d of %d held)", format(p.Value), p.Runs-p.Broke-p.Undecided, p.Runs)
		shows[p.Value] = p.shows()
	}
	if l.Held != nil {
		parts = append(parts, "holds to "+counts[*l.Held])
		if *l.Held != 0 && !shows[*l.Held] { // a value of 0 has none by itself
			parts = append(parts, "where no fault was delivered")
		}
	}
	if l.Broke != nil {
		parts = append(parts, "breaks from "+counts[*l.Broke])
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

// An Axis is a fault that can be more or less of something, for [Scan]. [Rate], [Burst]
// and [Delay] are ready-made.
type Axis struct {
	_ struct{}
	// Name appears in results.
	Name string
	// From and To are the ends of the axis, both included; From is below To.
	From, To float64
	// Rules returns the rules at a value. Required.
	Rules func(value float64) []chaos.Rule

	format func(float64) string                  // for people; nil: as a number
	scale  func(from, to, share float64) float64 // between the ends; nil: even
	err    error                                 // what the arguments of its constructor lacked
}

// Rate is the axis of how many of the calls to a target meet a fault: 0 to 1.
func Rate(target string, f chaos.Fault) Axis {
	return Axis{Name: "rate of " + kindAt(target, f), From: 0, To: 1,
		Rules:  func(p float64) []chaos.Rule { return scanRule(target, when.Prob(p), f) },
		format: func(p float64) string { return fmt.Sprintf("%.4g %%", 100*p) },
		err:    checkAxis(target, f),
	}
}

// Burst is the axis of how often in a row each operation at a target meets a fault: its
// first 0 to 16 calls with equal arguments.
func Burst(target string, f chaos.Fault) Axis {
	return Axis{Name: kindAt(target, f) + " in a row", From: 0, To: 16,
		Rules: func(n float64) []chaos.Rule { return scanRule(target, firstOf(n), f) },
		scale: func(from, to, share float64) float64 { return math.Round(even(from, to, share)) },
		err:   checkAxis(target, f),
	}
}

// Delay is the axis of how much longer each call to a target takes: 10 ms to 10 min 55 s,
// doubling. In real time it waits.
func Delay(target string) Axis {
	return Axis{Name: "delay of " + target, From: float64(10 * time.Millisecond),
		To:     float64(10 << 16 * time.Millisecond),
		Rules:  func(d float64) []chaos.Rule { return scanRule(target, nil, fault.Delay(time.Duration(d))) },
		format: func(d float64) string { return time.Duration(d).Round(time.Millisecond).String() },
		scale:  func(from, to, share float64) float64 { return from * math.Pow(to/from, share) },
		err:    checkAxis(target, fault.Delay(time.Second)),
	}
}

// scanRule is the rule of a ready-made axis. It has the same name at each value, so that its draws
// are nested.
func scanRule(target string, at chaos.When, f chaos.Fault) []chaos.Rule {
	return []chaos.Rule{{Name: "scan", Target: target, When: at, Fault: f}}
}

func kindAt(target string, f chaos.Fault) string {
	return kindOf(f, fmt.Sprintf("%T", f)) + " at " + target
}

func checkAxis(target string, f chaos.Fault) error {
	p := fields.List()
	p.Demand(f != nil, "Axis: fault", fielderror.Found("nil"), "a fault")
	p.Demand(target != "", "Axis: target", fielderror.Found(`""`), "a glob over injection points")
	return p.Err()
}

// firstOf matches the first calls with equal arguments.
type firstOf int

func (n firstOf) Match(c chaos.Call) bool { return c.Occurrence < uint64(n) }

func (a *Axis) check() error {
	p := fields.List()
	p.Add(a.err)
	if length := a.To - a.From; !(length > 0) || math.IsInf(length, 1) {
		p.Wrong("Axis.From", fmt.Sprint(a.From), fmt.Sprintf("a finite value below To, which is %v", a.To))
	}
	p.Demand(a.Rules != nil, "Axis.Rules", fielderror.Found("nil"), "a function")
	return p.Err()
}

// valueAt is the value at a share of the axis, from 0 to 1.
func (a *Axis) valueAt(share float64) float64 {
	switch {
	case share <= 0:
		return a.From
	case share >= 1:
		return a.To
	case a.scale != nil:
		return a.scale(a.From, a.To, share)
	}
	return even(a.From, a.To, share)
}

func even(from, to, share float64) float64 { return from + share*(to-from) }

func (a *Axis) text(value float64) string {
	if a.format == nil {
		return fmt.Sprint(value)
	}
	return a.format(value)
}

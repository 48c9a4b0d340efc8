package contract

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/judging"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/internal/usercode"
)

// cellNotes are what a cell adds to the report of the matrix besides its own members. They
// are what a run file has of it, so that whoever reads the file counts what the run counted.
type cellNotes struct {
	Of        int            `json:"of"`            // the place of the invariant in the matrix
	Run       *runNotes      `json:"run,omitempty"` // nil: an earlier cell was judged on it, and has it
	Judged    []judging.Note `json:"judged,omitempty"`
	Warnings  []string       `json:"warnings,omitempty"`
	Cancelled bool           `json:"cancelled,omitempty"`
	Lost      bool           `json:"lost,omitempty"` // its unit was given up, so it says nothing
	// Calm is a hash of the calm run that the cell was judged with; 0: there was none.
	Calm uint64 `json:"calm,omitempty,string"`

	own runNotes // what Run points to, in one piece with the rest
}

// runNotes are what one run of the agent showed, as far as the report of the matrix counts it.
type runNotes struct {
	// Rules has an element for each rule of the scenario, without zeros at the end.
	Rules    []ruleNote   `json:"rules,omitempty"`
	Coverage []CoverCount `json:"coverage,omitempty"`
	Called   []int        `json:"called,omitempty"` // tools of the head
	Points   []string     `json:"points,omitempty"` // that it called, and its calm run: see pointsOf
	Goals    []goalNote   `json:"goals,omitempty"`
	Dropped  int          `json:"dropped,omitempty"`
	Overlaps []overlap    `json:"overlaps,omitempty"`
	// Failed is the first error of the agent, of a run without faults in which it answered nothing else.
	Failed string  `json:"agentFailed,omitempty"`
	Cost   float64 `json:"cost,omitempty"` // what Budget.CostOf said
	// Copy, Prompts and Calls are hashes of the run: see deliveries.
	Copy    uint64     `json:"copy,omitempty,string"`
	Prompts uint64     `json:"prompts,omitempty,string"`
	Calls   callHashes `json:"calls,omitempty"`
}

// callHashes has a hash of how each call ended, by one of which call it was.
type callHashes map[uint64]uint64

// MarshalText makes a run file shorter than numbers would.
func (c callHashes) MarshalText() ([]byte, error) {
	var raw []byte
	for _, call := range slices.Sorted(maps.Keys(c)) {
		raw = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(raw, call), c[call])
	}
	return base64.RawStdEncoding.AppendEncode(nil, raw), nil
}

func (c *callHashes) UnmarshalText(text []byte) error {
	raw, err := base64.RawStdEncoding.AppendDecode(nil, text)
	if err != nil || len(raw)%16 != 0 {
		return fields.Wrong("calls", fielderror.Found("another text"), "two hashes for each call, in base64")
	}
	for *c = (callHashes{}); len(raw) > 0; raw = raw[16:] {
		(*c)[binary.BigEndian.Uint64(raw)] = binary.BigEndian.Uint64(raw[8:])
	}
	return nil
}

// A ruleNote counts the calls on which the fault of a rule was delivered, and those on which
// it was injected without effect.
type ruleNote struct {
	Delivered   int    `json:"delivered,omitempty"`
	Undelivered int    `json:"undelivered,omitempty"`
	Matched     bool   `json:"matched,omitempty"` // some call, also if no fault was injected
	Fault       string `json:"fault,omitempty"`   // the kind, of a fault that does not declare it
}

// A goalNote says what one run showed of a goal.
type goalNote struct {
	Goal    int    `json:"goal"` // its place in the matrix
	Reached bool   `json:"reached,omitempty"`
	Failed  string `json:"failed,omitempty"` // how its function failed; empty: it did not
}

// ruleAt is the place of a rule in its scenario.
type ruleAt struct {
	at    int
	kind  string // what its fault declares; "": nothing
	shown string // kind, or else its type
}

func rulesAt(plan *chaos.Plan) map[string]ruleAt {
	all := map[string]ruleAt{}
	for i, r := range plan.Rules() {
		all[r.Name] = ruleAt{i, kindOf(r.Fault), shownKind(r.Fault)}
	}
	return all
}

// kindOf is the kind that a fault declares; "" for one that declares none, whose
// events have it.
func kindOf(f chaos.Fault) string {
	said, _ := descriptionOf(f)
	return said.Kind
}

// notesOf notes the calls of a run. That of a [Runner] has no report.
func (e *engine) notesOf(s *compiledScenario, r *run) runNotes {
	n := runNotes{Dropped: r.dropped, Overlaps: r.overlaps}
	if e.forRunner {
		return n
	}
	n.Copy, n.Prompts, n.Calls = r.copy, r.prompts, r.calls
	if s.calm() {
		n.Failed = e.onlyFailed(r.all)
	}
	var events []*chaos.Event
	met := false
	for _, o := range r.all {
		for i := range o.Events {
			event := &o.Events[i]
			if at, known := e.tools[text.Valid(event.Target)]; known && !slices.Contains(n.Called, at) {
				n.Called = append(n.Called, at)
			}
			if len(s.rules) > 0 {
				events = append(events, event)
				met = met || event.Delivered
			}
		}
	}
	var tried map[*chaos.Event]int
	if met {
		tried = tries(events)
	}
	for _, event := range events {
		n.event(s, event, tried[event])
	}
	slices.Sort(n.Called)
	slices.SortFunc(n.Coverage, compareCover) // calls that overlap have no order of their own
	return n
}

// onlyFailed is the first error of observations that all have one, else "".
func (e *engine) onlyFailed(all []*Observation) string {
	if len(all) == 0 || slices.ContainsFunc(all, func(o *Observation) bool { return o.Err == nil }) {
		return ""
	}
	said := text.Valid(usercode.ErrorText(all[0].Err))
	if e.secrets != nil {
		said = e.secrets.Text(said)
	}
	return said
}

// rule is the note of a rule; nil: the scenario does not have it.
func (n *runNotes) rule(s *compiledScenario, name string) (*ruleNote, ruleAt) {
	r, known := s.rules[name]
	if !known {
		return nil, r
	}
	for len(n.Rules) <= r.at {
		n.Rules = append(n.Rules, ruleNote{})
	}
	return &n.Rules[r.at], r
}

func (n *runNotes) event(s *compiledScenario, e *chaos.Event, try int) {
	count := func(name string, reached bool) {
		c, _ := n.rule(s, name)
		switch {
		case c == nil: // no rule was injected
			return
		case reached:
			add(&c.Delivered, 1)
		default:
			add(&c.Undelivered, 1)
		}
		c.Matched = true
	}
	count(e.Rule, e.Delivered)
	if c, r := n.rule(s, e.Rule); c != nil && r.kind == "" && c.Fault == "" {
		c.Fault = text.Valid(e.Fault)
	}
	if e.Delivered {
		n.cover(e, try, e.Fault)
	}
	for _, rule := range e.Also {
		count(rule, true)
		if r, known := s.rules[rule]; known {
			n.cover(e, try, r.shown)
		}
	}
	for _, rule := range e.Idle {
		count(rule, false)
	}
	for _, notInjected := range [][]string{e.Masked, e.HeldBack} {
		for _, rule := range notInjected {
			if c, _ := n.rule(s, rule); c != nil {
				c.Matched = true
			}
		}
	}
}

// strand names calls that may be tries of the same thing.
type strand struct {
	lane, caller, target string
	key                  uint64
}

// tries returns the try of each call of a run. Equal calls are taken in the order of their
// occurrence, on which their draws depend, and not in that of their ends: that of calls
// that fail in the same instant is another one in the next run.
func tries(events []*chaos.Event) map[*chaos.Event]int {
	strands := map[strand][]*chaos.Event{}
	for _, e := range events {
		k := strand{e.Lane, e.Caller, e.Target, e.Key}
		strands[k] = append(strands[k], e)
	}
	all := make(map[*chaos.Event]int, len(events))
	for _, equal := range strands {
		slices.SortStableFunc(equal, func(a, b *chaos.Event) int { return cmp.Compare(a.Occurrence, b.Occurrence) })
		try, works, until := 0, true, time.Duration(0) // of the try so far, and when its last call ends
		for i, e := range equal {
			if i == 0 || e.Start >= until { // a new one
				if works {
					try = 0
				}
				try, works = try+1, false
			}
			works, until = works || e.Outcome == chaos.OutcomeOK, max(until, e.End)
			all[e] = try
			if e.AttemptStated {
				all[e] = e.Attempt
			}
		}
	}
	return all
}

// cover notes the fault of a kind that was delivered on a call.
func (n *runNotes) cover(e *chaos.Event, try int, kind string) {
	key := CoverCount{Target: text.Valid(e.Target), Fault: text.Valid(kind), Try: min(max(try, 1), 3)}
	for i := range n.Coverage {
		c := &n.Coverage[i]
		if c.Target == key.Target && c.Fault == key.Fault && c.Try == key.Try {
			add(&c.Delivered, 1)
			return
		}
	}
	if len(n.Coverage) <= maxCover { // one more than a report has, so that it knows of those it lacks
		key.Delivered = 1
		n.Coverage = append(n.Coverage, key)
	}
}

// maxCover bounds the coverage: the names of injection points may hold numbers.
const maxCover = 1000

// coverage counts the delivered faults of a matrix by target, kind and try.
type coverage struct {
	delivered map[CoverCount]int // without their counts
	called    map[string]bool    // the tools that some run called
	tools     []string
	full      bool // some are not counted
}

func (c *coverage) add(n *runNotes) {
	for _, at := range n.Called {
		c.called[c.tools[at]] = true
	}
	for _, row := range n.Coverage {
		calls := row.Delivered
		row.Delivered = 0
		have, seen := c.delivered[row]
		if !seen && len(c.delivered) == maxCover {
			c.full = true
			continue
		}
		add(&have, calls)
		c.delivered[row] = have
	}
}

// rows is the coverage as it is reported. all reports whether every call of every cell was
// seen: only then it can tell what no fault reached.
func (c *coverage) rows(all bool) (rows []CoverCount) {
	reached := map[string]bool{}
	for row, n := range c.delivered {
		reached[row.Target] = true
		row.Delivered = n
		rows = append(rows, row)
	}
	if all && !c.full {
		for _, tool := range c.tools {
			if !reached[tool] {
				rows = append(rows, CoverCount{Target: tool, Uncalled: !c.called[tool]})
			}
		}
	}
	slices.SortFunc(rows, compareCover)
	return rows
}

func compareCover(a, b CoverCount) int {
	return cmp.Or(cmp.Compare(a.Target, b.Target), cmp.Compare(a.Fault, b.Fault), cmp.Compare(a.Try, b.Try))
}

func add(count *int, n int) {
	if *count > math.MaxInt-n {
		*count = math.MaxInt
		return
	}
	*count += n
}

func toInt(n uint64) int { return int(min(n, math.MaxInt)) }

// mostMet bounds what is remembered of a field or scenario, since faults that chance draws may be
// others in each trial. What a later trial meets anew is taken for no copy.
const mostMet = 4096

// alikeRuns are the runs of a scenario, in groups of equal ones.
type alikeRuns struct {
	groups map[uint64]*alikeGroup // by their hash
	last   []*alikeGroup          // the latest, with which new runs are compared
	unlike bool                   // the agent was seen to differ
	count  RepeatCount
}

type alikeGroup struct {
	first   Cell
	prompts uint64
	calls   callHashes
	runs    int
}

// ran takes the run of a cell. One that ended before its time shows less than others.
func (a *alikeRuns) ran(c *CellReport, r *runNotes) {
	g := a.groups[r.Copy]
	switch {
	case c.State == NotRun, c.State == Inconclusive, g == nil && len(a.groups) == mostMet:
		return
	case g == nil:
		const mostLast = 64
		g = &alikeGroup{first: c.Cell, prompts: r.Prompts, calls: r.Calls}
		a.compare(g)
		if a.groups == nil {
			a.groups = map[uint64]*alikeGroup{}
		}
		a.groups[r.Copy] = g
		if a.last = append(a.last, g); len(a.last) > mostLast {
			a.last = a.last[1:]
		}
	case c.Delivered > 0:
		add(&a.count.Runs, 1)
	}
	g.runs++
}

// compare compares a run with others that it is not equal to.
func (a *alikeRuns) compare(g *alikeGroup) {
	for _, other := range a.last {
		sameTrial := other.first.Trial == g.first.Trial
		if other.prompts != g.prompts || a.unlike && (!sameTrial || a.count.Differ != "") ||
			!sameWhereBoth(other.calls, g.calls) {
			continue
		}
		if a.unlike = true; sameTrial {
			a.count.Differ = fmt.Sprintf("the runs of %v and %v met the same faults, and the agent did not do the same",
				other.first, g.first)
		}
	}
}

// repeats is what the runs show, for a report.
func (a *alikeRuns) repeats(scenario string) RepeatCount {
	n := a.count
	n.Scenario, n.Groups = scenario, len(a.groups)
	for _, g := range a.groups {
		if n.Alike == 0 || g.runs < n.Alike {
			n.Alike = g.runs
		}
	}
	if a.unlike {
		n.Alike = 0
	}
	return n
}

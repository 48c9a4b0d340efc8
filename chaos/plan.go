package chaos

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/internal/hash"
	"github.com/shakedown-go/shakedown/internal/usercode"
)

// A Rule says what goes wrong, where, and on which calls. Several rules may be
// injected into one call: each trigger is asked on its own, so that a stated
// probability holds whatever rules stand before it. See [Phase] for the order in
// which they act.
type Rule struct {
	_ struct{}

	// Name identifies the rule in events and in draws: renaming a rule moves its
	// draws, moving or adding rules does not. Empty: made from the target and the
	// kind of the fault. Names are unique within a plan.
	Name string
	// Target is a glob over the names of injection points: * matches any run
	// of characters, '/' and '.' included, ? one character, [a-z] a class,
	// {a,b} alternatives, \ takes the next character literally. Required.
	Target string
	// When decides which calls the rule matches; nil: every call.
	When When
	// Fault is what is injected into a matched call. Required.
	Fault Fault
	// Limit is the number of deliveries after which the rule is held back for good;
	// 0: no limit. A match that was not delivered does not use it up.
	Limit int
	// CoolDown is the time after a delivery in which the rule is held back; 0: none.
	// The rule is also held back while a call that it was injected into is under
	// way.
	CoolDown time.Duration
	// Group makes the rules that share it match and recover together. They see one
	// count of calls over all their targets, one draw per call and one count of
	// deliveries. So they must state the same Limit and CoolDown. With a trigger that
	// lasts (Between, After, First) a group is a partition or a shared outage.
	Group string
	// Layer overrides the layer of the injection point.
	Layer Layer
}

// A Plan is a checked, immutable list of rules with a seed. One plan serves
// any number of cells at once: each takes an [Injector] of its own from it.
type Plan struct {
	seed  uint64
	rules []*planRule
}

// NewPlan checks the rules and makes a plan of them. The error joins every problem
// of every rule, each a [*RuleError]. A plan without rules is valid: its runs are
// calm. The order of the rules is the order in which those of one [Phase] act on a
// call.
func NewPlan(seed uint64, rules ...Rule) (*Plan, error) { return (&Plan{seed: seed}).With(rules...) }

// With returns a plan of other rules with the seed of this one; the errors are those of
// [NewPlan]. What is unchanged in a rule with the name of one in this plan is not examined
// again.
func (p *Plan) With(rules ...Rule) (*Plan, error) {
	plan := &Plan{seed: p.seed, rules: make([]*planRule, 0, len(rules))}
	var problems []error
	known := make(map[string]*planRule, len(p.rules))
	for _, c := range p.rules {
		known[c.Name] = c
	}
	names, groups := make(map[string]int, len(rules)), make(map[string]*planRule)
	for i, r := range rules {
		c, wrong := compile(r, i, known[r.Name])
		if len(wrong) == 0 {
			switch first, dup := names[c.Name]; {
			case dup:
				wrong = []error{&RuleError{Rule: c.Name, Field: "Name", Value: c.Name,
					Allowed: fmt.Sprintf("a name of its own: rules #%d and #%d share this one", first, i)}}
			case groups[c.Group] != nil:
				wrong = []error{c.conflict(groups[c.Group])}
			default:
				groups[c.Group] = c
			}
			if _, told := names[c.Name]; !told {
				names[c.Name] = i // all later ones are told of the first
			}
		}
		for _, err := range wrong {
			problems = append(problems, indexed(err, i))
		}
		plan.rules = append(plan.rules, c)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return plan, nil
}

// indexed returns the error with the place of its rule in a list; nil for nil.
func indexed(err error, i int) error {
	e, ok := err.(*RuleError)
	if !ok {
		return err
	}
	own := *e
	own.Index = i
	return &own
}

// Seed is the seed the plan was made with.
func (p *Plan) Seed() uint64 { return p.seed }

// Rules returns the rules in order, names filled in.
func (p *Plan) Rules() []Rule {
	rules := make([]Rule, len(p.rules))
	for i, c := range p.rules {
		rules[i] = c.Rule
	}
	return rules
}

// CheckTargets returns an error, joining one [*RuleError] per rule, for rules whose
// target matches none of the given injection points: they could never match a call.
func (p *Plan) CheckTargets(targets ...string) error {
	var problems []error
	for _, c := range p.rules {
		problems = append(problems, c.checkTargets(targets))
	}
	return errors.Join(problems...)
}

type planRule struct {
	Rule
	glob     *glob.Glob
	nameHash uint64
	hash     uint64      // of the name, or of the group for grouped rules
	chancy   bool        // the trigger is nothing but chance
	chance   float64     // its probability; 1 for other triggers
	ordinals OrdinalWhen // the trigger, where it looks at the ordinal alone; nil: it does not
	args     bool        // the trigger looks at the arguments
	faultTraits
}

type faultTraits struct {
	kind     string
	class    Class // empty: not declared
	phase    Phase
	failer   Failer // the fault, if it is only an error; else nil
	stateful bool
}

// compile checks the i-th rule. Each problem is a [*RuleError]. What did not change since
// before, a checked rule or nil, is taken from it.
func compile(r Rule, i int, before *planRule) (*planRule, []error) {
	if before != nil && before.unchanged(r) {
		return before, nil
	}
	x := &examination{planRule: planRule{Rule: r}, i: i, before: before}
	if why := usercode.Failure(x.examine); why != "" {
		x.problems = nil
		x.refuse(x.field, nil, "", fmt.Errorf("%s %s", x.method, why))
	}
	if len(x.problems) > 0 {
		return nil, x.problems
	}
	c := x.planRule // a copy, lest the plan keep what came before it
	return &c, nil
}

// An examination is of one rule, on a goroutine that the methods of the user's trigger and
// fault may end.
type examination struct {
	planRule
	i             int
	before        *planRule
	field, method string // what is being asked
	problems      []error
}

func (x *examination) refuse(field string, value any, allowed string, cause error) {
	name := x.Name
	if name == "" {
		name = fmt.Sprintf("#%d", x.i)
	}
	x.problems = append(x.problems, &RuleError{Rule: name, Field: field, Value: value, Allowed: allowed, Err: cause})
}

func (x *examination) examine() {
	if x.before != nil && x.Target == x.before.Target {
		x.glob = x.before.glob
	} else if g, err := glob.Compile(x.Target); err != nil {
		x.refuse("Target", x.Target, "a glob over names of injection points, such as \"orders.*\"", err)
	} else {
		x.glob = g
	}
	x.check("When", x.When)
	if d, ok := x.When.(Described); ok { // who reads a plan asks it without care
		x.method = "its Describe method"
		d.Describe()
	}
	sameFault := x.before != nil && samePart(x.before.Fault, x.Fault)
	switch {
	case x.Fault == nil:
		x.refuse("Fault", nil, "a fault, such as fault.Fail(err)", errors.New("is missing"))
	case !sameFault:
		x.check("Fault", x.Fault)
	}
	if x.Limit < 0 {
		x.refuse("Limit", x.Limit, "a number of deliveries, or 0 for no limit", nil)
	}
	if x.CoolDown < 0 {
		x.refuse("CoolDown", x.CoolDown, "a duration of 0 or more", nil)
	}
	if !x.Layer.Valid() {
		x.refuse("Layer", x.Layer, "one of "+strings.Join(layerNames(), ", ")+", or empty for that of the point", nil)
	}
	if len(x.problems) > 0 {
		return
	}
	if sameFault {
		x.faultTraits = x.before.faultTraits
	} else if err := x.readFault(); err != nil {
		x.refuse("Fault", nil, "", err)
		return
	}
	x.setName(cmp.Or(x.Name, x.Target+":"+x.kind))
	x.readWhen()
}

func (c *planRule) unchanged(r Rule) bool {
	own := c.Rule
	if !samePart(own.When, r.When) || !samePart(own.Fault, r.Fault) {
		return false
	}
	own.When, own.Fault, r.When, r.Fault = nil, nil, nil, nil // which may be of types that == refuses
	return own == r
}

// samePart reports whether a trigger or fault is the one before. It does not look into
// one that cannot be compared: somebody may be changing what that refers to.
func samePart(before, now any) (equal bool) {
	if t := reflect.TypeOf(now); t != nil && !t.Comparable() {
		return false
	}
	defer func() {
		if recover() != nil { // a field holds what cannot be compared
			equal = false
		}
	}()
	return before == now
}

func (x *examination) check(field string, part any) {
	x.field = field
	if c, ok := part.(Checked); ok {
		x.method = "its Check method"
		if wrong := fielderror.Apart(usercode.Sound(c.Check())); len(wrong) > 0 {
			for _, err := range wrong {
				x.refuse(field, nil, "", err)
			}
			return
		}
	}
	if w, ok := part.(Probabilistic); ok {
		x.method = "its Probability method"
		if p := w.Probability(); !(p >= 0 && p <= 1) {
			x.refuse(field, nil, "", &ParamError{Kind: fmt.Sprintf("%T", w), Param: "Probability", Value: p,
				Allowed: "a number from 0 to 1"})
		}
	}
}

// conflict refuses a rule whose limit or cool-down differs from that of another rule
// of its group.
func (c *planRule) conflict(o *planRule) error {
	if c.Group == "" || o.Group != c.Group {
		return nil
	}
	refuse := func(field string, ours, theirs any) error {
		return &RuleError{Rule: c.Name, Field: field, Value: ours,
			Allowed: fmt.Sprintf("%v, that of rule %q in the same group", theirs, o.Name)}
	}
	switch {
	case o.Limit != c.Limit:
		return refuse("Limit", c.Limit, o.Limit)
	case o.CoolDown != c.CoolDown:
		return refuse("CoolDown", c.CoolDown, o.CoolDown)
	}
	return nil
}

// setName names the rule, on which its draws depend unless it is in a group.
func (c *planRule) setName(name string) {
	c.Name = name
	c.nameHash = hash.String(name)
	c.hash = c.nameHash
	if c.Group != "" {
		c.hash = hash.String(c.Group)
	}
}

func (x *examination) readFault() error {
	x.method = "its Describe method"
	if d, ok := x.Fault.(Described); ok {
		described := d.Describe()
		x.kind, x.class = described.Kind, described.Class
	} else {
		x.kind = strings.TrimPrefix(fmt.Sprintf("%T", x.Fault), "*")
	}
	if p, ok := x.Fault.(Phased); ok {
		x.method = "its Phase method"
		if x.phase = p.Phase(); x.phase > PhaseAfter {
			return &ParamError{Kind: x.kind, Param: "Phase", Value: x.phase,
				Allowed: "PhaseInstead, PhaseBefore, PhaseChange or PhaseAfter"}
		}
	}
	if f, ok := x.Fault.(Stateful); ok {
		x.method, x.stateful = "its Fresh method", true
		if f.Fresh() == nil {
			return &ParamError{Kind: x.kind, Param: "Fresh", Allowed: "a method that returns a fault"}
		}
	}
	x.failer = failerOf(x.Fault, x.phase)
	return nil
}

func (c *planRule) readWhen() {
	_, c.args = c.When.(ArgsWhen)
	c.chance = 1
	if w, ok := c.When.(Probabilistic); ok && !c.args {
		c.chancy, c.chance = true, w.Probability()
	}
	if !c.args && !c.chancy {
		c.ordinals, _ = c.When.(OrdinalWhen)
	}
}

func (c *planRule) checkTargets(targets []string) error {
	if slices.ContainsFunc(targets, c.glob.Match) {
		return nil
	}
	return &RuleError{Rule: c.Name, Field: "Target", Value: c.Target,
		Allowed: "a glob that matches at least one injection point; known: " + listOr(targets, "none"),
		Err:     errors.New("matches no known injection point")}
}

// listOr joins up to twenty names for an error message.
func listOr(names []string, none string) string {
	const most = 20
	switch n := len(names); {
	case n == 0:
		return none
	case n > most:
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", n-most)
	}
	return strings.Join(names, ", ")
}

func layerNames() []string {
	return []string{string(LayerTool), string(LayerLLM), string(LayerHTTP), string(LayerSQL), string(LayerGRPC),
		string(LayerStream),
		string(LayerPoint), string(LayerContext), string(LayerControl), string(LayerResource), string(LayerMultiAgent)}
}

// Valid reports whether the layer is empty or one of the constants.
func (l Layer) Valid() bool { return l == "" || slices.Contains(layerNames(), string(l)) }

// Injector makes the injector of one cell, armed, with counters, a log and a memory of its
// own. It is cheap, so make one per cell; o may be nil. For calls in a testing/synctest
// bubble make it in that bubble, or call [Injector.Arm] there, which starts its clock.
// It does not check targets: see [Plan.CheckTargets] and [Injector.Undelivered].
func (p *Plan) Injector(cell string, o *InjectorOptions) *Injector {
	in := newInjector(p.seed, cell, o)
	in.rules = make([]*liveRule, len(p.rules))
	live := make([]liveRule, len(p.rules))
	for i, c := range p.rules {
		live[i].init(c, in)
		in.rules[i] = &live[i]
	}
	return in
}

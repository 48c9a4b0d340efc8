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
	// deliveries. So they must state the same Limit and CoolDown. With one trigger
	// that lasts (Between, After, First) a group is a partition, or the outage of a
	// dependency that several targets share.
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
// [NewPlan]. A rule with the name of one in this plan, such as one that [Plan.Rules]
// returned, costs little: an unchanged fault is not asked again what it is, nor anything of
// an unchanged rule examined.
func (p *Plan) With(rules ...Rule) (*Plan, error) {
	known, next := p.rules, 0
	p = &Plan{seed: p.seed, rules: make([]*planRule, 0, len(rules))}
	var problems []error
	names, groups := make(map[string]int, len(rules)), make(map[string]*planRule)
	for i, r := range rules {
		var before *planRule
		for k := range known { // from the last one found, because rules mostly keep their order
			if at := (next + k) % len(known); known[at].Name == r.Name {
				before, next = known[at], at+1
				break
			}
		}
		c, wrong := compile(r, i, before)
		if len(wrong) == 0 {
			wrong = c.besides(i, names, groups)
		}
		for _, err := range wrong {
			problems = append(problems, indexed(err, i))
		}
		p.rules = append(p.rules, c)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return p, nil
}

// besides checks the i-th rule of a plan against those before it, and adds it to them:
// their places by name, and the first of each group.
func (c *planRule) besides(i int, names map[string]int, groups map[string]*planRule) (problems []error) {
	if first, dup := names[c.Name]; dup {
		return []error{&RuleError{Rule: c.Name, Field: "Name", Value: c.Name,
			Allowed: fmt.Sprintf("a name of its own: rules #%d and #%d share this one", first, i)}}
	}
	names[c.Name] = i
	if first := groups[c.Group]; first == nil {
		groups[c.Group] = c
	} else if err := c.conflict(first); err != nil {
		problems = append(problems, err)
	}
	return problems
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
		if err := c.checkTargets(targets); err != nil {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// planRule is a checked rule, with all that is known of it before the first call.
type planRule struct {
	Rule
	glob     *glob.Glob
	nameHash uint64
	hash     uint64      // of the name, or of the group for grouped rules
	chancy   bool        // the trigger is nothing but chance
	chance   float64     // its probability; 1 for other triggers
	ordinals OrdinalWhen // the trigger, where it looks at the ordinal alone; nil: it does not
	args     bool        // the trigger looks at the arguments
	limited  bool        // it has a limit or a cool-down
	faultTraits
}

// faultTraits are what the fault of a rule says of itself.
type faultTraits struct {
	kind     string
	phase    Phase
	failer   Failer // the fault, if it is only an error; else nil
	stateful bool
}

// compile checks the i-th rule. Each problem is a [*RuleError]. What did not change since
// before, a checked rule or nil, is taken from it.
func compile(r Rule, i int, before *planRule) (c *planRule, problems []error) {
	if before != nil && before.unchanged(r) {
		return before, nil
	}
	x := &examination{rule: r, i: i, before: before}
	if why := usercode.Failure(x.examine); why != "" {
		return nil, []error{x.problem(x.field, nil, "", fmt.Errorf("%s %s", x.method, why))}
	}
	return x.compiled, x.problems
}

// An examination is of one rule, on a goroutine that the methods of the user's trigger and
// fault may end.
type examination struct {
	rule          Rule
	i             int
	before        *planRule
	field, method string // what is being asked
	compiled      *planRule
	problems      []error
}

func (x *examination) problem(field string, value any, allowed string, cause error) *RuleError {
	name := x.rule.Name
	if name == "" {
		name = fmt.Sprintf("#%d", x.i)
	}
	return &RuleError{Rule: name, Field: field, Value: value, Allowed: allowed, Err: cause}
}

func (x *examination) refuse(field string, value any, allowed string, cause error) {
	x.problems = append(x.problems, x.problem(field, value, allowed, cause))
}

func (x *examination) examine() {
	r, before := x.rule, x.before
	c := &planRule{Rule: r}
	sameFault := before != nil && samePart(before.Fault, r.Fault)
	if before != nil && r.Target == before.Target {
		c.glob = before.glob
	} else if g, err := glob.Compile(r.Target); err != nil {
		x.refuse("Target", r.Target, "a glob over names of injection points, such as \"orders.*\"", err)
	} else {
		c.glob = g
	}
	x.check("When", r.When)
	if d, ok := r.When.(Described); ok { // who reads a plan asks it without care
		x.method = "its Describe method"
		d.Describe()
	}
	if !sameFault {
		x.check("Fault", r.Fault)
	}
	if r.Fault == nil {
		x.refuse("Fault", nil, "a fault, such as fault.Fail(err)", errors.New("is missing"))
	}
	if r.Limit < 0 {
		x.refuse("Limit", r.Limit, "a number of deliveries, or 0 for no limit", nil)
	}
	if r.CoolDown < 0 {
		x.refuse("CoolDown", r.CoolDown, "a duration of 0 or more", nil)
	}
	if !r.Layer.Valid() {
		x.refuse("Layer", r.Layer, "one of "+strings.Join(layerNames(), ", ")+", or empty for that of the point", nil)
	}
	if len(x.problems) > 0 {
		return
	}
	if sameFault {
		c.faultTraits = before.faultTraits
	} else if err := x.readFault(c); err != nil {
		x.refuse("Fault", nil, "", err)
		return
	}
	c.setName(cmp.Or(c.Name, c.Target+":"+c.kind))
	c.readWhen()
	x.compiled = c
}

// unchanged reports whether nothing changed in a rule.
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

// check asks a trigger or fault whether it is well configured.
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
	theirs := fmt.Sprintf("that of rule %q in the same group", o.Name)
	switch {
	case o.Limit != c.Limit:
		return &RuleError{Rule: c.Name, Field: "Limit", Value: c.Limit, Allowed: fmt.Sprintf("%d, %s", o.Limit, theirs)}
	case o.CoolDown != c.CoolDown:
		return &RuleError{Rule: c.Name, Field: "CoolDown", Value: c.CoolDown,
			Allowed: fmt.Sprintf("%v, %s", o.CoolDown, theirs)}
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

// named returns the rule under another name.
func (c *planRule) named(name string) *planRule {
	own := *c
	own.setName(name)
	return &own
}

// readFault finds out once what every call needs to know of the fault.
func (x *examination) readFault(c *planRule) error {
	x.method = "its Describe method"
	c.kind = kindOf(c.Fault)
	if p, ok := c.Fault.(Phased); ok {
		x.method = "its Phase method"
		if c.phase = p.Phase(); c.phase > PhaseAfter {
			return &ParamError{Kind: c.kind, Param: "Phase", Value: c.phase,
				Allowed: "PhaseInstead, PhaseBefore, PhaseChange or PhaseAfter"}
		}
	}
	if f, ok := c.Fault.(Stateful); ok {
		x.method, c.stateful = "its Fresh method", true
		if f.Fresh() == nil {
			return &ParamError{Kind: c.kind, Param: "Fresh", Allowed: "a method that returns a fault"}
		}
	}
	c.failer = failerOf(c.Fault, c.phase)
	return nil
}

// readWhen finds out once what every call needs to know of the trigger.
func (c *planRule) readWhen() {
	_, c.args = c.When.(ArgsWhen)
	c.chance = 1
	if w, ok := c.When.(Probabilistic); ok && !c.args {
		c.chancy, c.chance = true, w.Probability()
	}
	if !c.args && !c.chancy {
		c.ordinals, _ = c.When.(OrdinalWhen)
	}
	c.limited = c.Limit > 0 || c.CoolDown > 0
}

// kindOf is the kind by which a fault describes itself, else the name of its type.
func kindOf(f Fault) string {
	if d, ok := f.(Described); ok {
		return d.Describe().Kind
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", f), "*")
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
	return []string{string(LayerTool), string(LayerLLM), string(LayerHTTP), string(LayerStream), string(LayerPoint),
		string(LayerContext), string(LayerControl), string(LayerResource), string(LayerMultiAgent)}
}

// Valid reports whether the layer is empty or one of the constants.
func (l Layer) Valid() bool { return l == "" || slices.Contains(layerNames(), string(l)) }

// Injector makes the injector of one cell, armed. It has counters, a log and a memory
// of its own, and shares the rules. It is cheap, so make one per cell; o may be nil.
// For calls in a testing/synctest bubble make it in that bubble, or call
// [Injector.Arm] there, which starts its clock.
//
// Injector does not check targets, since it returns no error. Call
// [Plan.CheckTargets] first, or check [Injector.Undelivered] afterwards.
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

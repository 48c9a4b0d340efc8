package contract

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/internal/usercode"
)

// An Outline says what a matrix asks, for programs.
type Outline struct {
	Name       string             `json:"name" jsonschema:"what contract_run and contract_report call it"`
	Cells      int                `json:"cells" jsonschema:"number of cells: invariant x scenario x trial, where the invariant applies"`
	Trials     int                `json:"trials" jsonschema:"how often each invariant is asked in each scenario"`
	Seed       string             `json:"seed" jsonschema:"seed of all draws, a decimal string"`
	Parallel   bool               `json:"parallel" jsonschema:"cells have worlds of their own and run side by side"`
	Scenarios  []OutlineScenario  `json:"scenarios"`
	Invariants []OutlineInvariant `json:"invariants"`
}

// An OutlineScenario is a scenario of an [Outline].
type OutlineScenario struct {
	Name     string        `json:"name"`
	Rules    []OutlineRule `json:"rules" jsonschema:"the faults in force; none, and neither layer nor rewrites: a calm run"`
	Layer    string        `json:"layer,omitempty" jsonschema:"what is broken besides the rules"`
	Rewrites bool          `json:"rewrites,omitempty" jsonschema:"prompts are sent in other words"`
	Prompts  []string      `json:"prompts,omitempty" jsonschema:"prompts of its own, instead of the matrix's"`
	OwnWorld bool          `json:"ownWorld,omitempty" jsonschema:"its cells have worlds of their own, which may have other tools"`
}

// An OutlineRule is a rule of an [OutlineScenario]. Fault is the kind that the fault
// declares, or its Go type.
type OutlineRule struct {
	Name   string `json:"name,omitempty"`
	Target string `json:"target" jsonschema:"glob of the injection points it matches"`
	Fault  string `json:"fault" jsonschema:"kind of the fault"`
}

// An OutlineInvariant is an invariant of an [Outline].
type OutlineInvariant struct {
	ID       string   `json:"id"`
	Severity Severity `json:"severity"`
	Applies  string   `json:"applies" jsonschema:"in which scenarios it is asked" enum:"Always,ToolFaults,LLMFaults,AnyFault,NoFault"`
}

// Outline says what the matrix asks. Its lists are never nil.
func (m *Matrix) Outline() Outline {
	o := Outline{Name: text.Valid(m.Name), Cells: len(m.Cells()), Trials: m.trials(), Seed: fmt.Sprint(m.Seed),
		Parallel:  !slices.ContainsFunc(m.Scenarios, m.sharesWorld),
		Scenarios: []OutlineScenario{}, Invariants: []OutlineInvariant{}}
	for _, s := range m.Scenarios {
		one := OutlineScenario{Name: s.Name, Rules: []OutlineRule{}, Layer: string(s.Layer),
			Rewrites: s.Rewrite != nil, Prompts: slices.Clone(s.Prompts), OwnWorld: s.NewWorld != nil}
		for _, r := range s.Rules {
			one.Rules = append(one.Rules, OutlineRule{r.Name, r.Target, shownKind(r.Fault)})
		}
		o.Scenarios = append(o.Scenarios, one)
	}
	for _, i := range m.Invariants {
		o.Invariants = append(o.Invariants, OutlineInvariant{i.Name, i.Severity, i.Applies.String()})
	}
	return o
}

func shownKind(f chaos.Fault) string {
	if kind := kindOf(f); kind != "" {
		return kind
	}
	return fmt.Sprintf("%T", f)
}

// A Fingerprint says of two reports whether their matrices asked the same, without the
// prompts themselves: they are there as hashes alone. Everything that is data counts:
// names, severities, promised rates, prompts, rules by their descriptions, seed and trials.
// What is code does not, since two functions cannot be compared: checks, worlds, agents,
// and triggers and faults that are not [chaos.Described], of which the Go type counts.
//
// A hash of a part has the first 16 hexadecimal digits of a SHA-256. Somebody who has a
// prompt can find out whether it is the one; nobody can read it off.
type Fingerprint struct {
	// Sum is the SHA-256 of all other members.
	Sum    string `json:"sum"`
	Name   string `json:"name,omitempty"`
	Seed   uint64 `json:"seed,string"`
	Trials int    `json:"trials"`
	// Shared is [Matrix.ShareObservations].
	Shared bool `json:"shared,omitempty"`
	// Prompts is the hash of [Matrix.Prompts].
	Prompts string `json:"prompts"`
	// Scenarios has for each scenario the hash of its rules, and of what else is broken in
	// it. ScenarioPrompts has the hash of its prompts, for those with other
	// ones than the matrix.
	Scenarios       map[string]string `json:"scenarios"`
	ScenarioPrompts map[string]string `json:"scenarioPrompts,omitempty"`
	// Invariants has for each invariant the hash of its severity, promised rate, and where it
	// applies. Probes has the hash of its probes, for those with some.
	Invariants map[string]string `json:"invariants"`
	Probes     map[string]string `json:"probes,omitempty"`
}

// Fingerprint returns the fingerprint of the matrix, which its reports have too. It calls
// no agent. Errors are those of [Matrix.Validate].
func (m *Matrix) Fingerprint() (*Fingerprint, error) {
	scenarios, err := m.compile(false)
	if err != nil {
		return nil, err
	}
	return m.fingerprint(scenarios), nil
}

func (m *Matrix) fingerprint(scenarios []*compiledScenario) *Fingerprint {
	f := &Fingerprint{Name: text.Valid(m.Name), Seed: m.Seed, Trials: m.trials(), Shared: m.ShareObservations,
		Prompts: hashOf(m.Prompts), Scenarios: map[string]string{}, ScenarioPrompts: map[string]string{},
		Invariants: map[string]string{}, Probes: map[string]string{}}
	for _, s := range scenarios {
		f.Scenarios[s.Name] = hashOf(contentOf(s))
		if own := hashOf(s.Prompts); len(s.Prompts) > 0 && own != f.Prompts {
			f.ScenarioPrompts[s.Name] = own
		}
	}
	for i := range m.Invariants {
		inv := &m.Invariants[i]
		content := []any{inv.Severity, inv.Applies.String(), inv.JudgesErrors, inv.promised(), inv.poor()}
		if len(inv.Scenarios) > 0 {
			content = append(content, inv.Scenarios)
		}
		f.Invariants[inv.Name] = hashOf(content)
		if len(inv.Probes) > 0 {
			f.Probes[inv.Name] = hashOf(inv.Probes)
		}
	}
	f.Sum = f.sum()
	return f
}

// Check returns a [*FieldError] if Sum is not that of the other members.
func (f *Fingerprint) Check() error {
	if want := f.sum(); f.Sum != want {
		return fields.Wrong("fingerprint.sum", f.Sum, want+", that of the other members")
	}
	return nil
}

// firstDifference names the first thing in which another matrix asks something else.
func (f *Fingerprint) firstDifference(other *Fingerprint) string {
	switch {
	case f.Name != other.Name:
		return "its name"
	case f.Shared != other.Shared:
		return "ShareObservations"
	case f.Prompts != other.Prompts:
		return "its prompts"
	}
	for _, of := range []struct {
		what    string
		was, is map[string]string
	}{
		{"scenario", f.Scenarios, other.Scenarios}, {"the prompts of scenario", f.ScenarioPrompts, other.ScenarioPrompts},
		{"invariant", f.Invariants, other.Invariants}, {"the probes of invariant", f.Probes, other.Probes},
	} {
		for _, name := range slices.Sorted(maps.Keys(of.was)) {
			if of.was[name] != of.is[name] {
				return of.what + " " + name
			}
		}
		for _, name := range slices.Sorted(maps.Keys(of.is)) {
			if _, both := of.was[name]; !both {
				return of.what + " " + name
			}
		}
	}
	return "the sum alone"
}

func (f *Fingerprint) sum() string {
	own := *f
	own.Sum = ""
	sum := sha256.Sum256(encoded(own))
	return hex.EncodeToString(sum[:])
}

// toolHashes are the tools of the first worlds, with the hashes of their schemas and of what they
// declare: of all of them, where worlds differ.
func (e *engine) toolHashes() map[string]string {
	schemas := map[string][]string{}
	for _, source := range e.sources {
		for _, t := range source.tools {
			name := text.Valid(t.Name)
			hash := hashOf(spelledOnce(t.InputSchema))
			if t.Effect != "" || t.IdempotencyKey != "" {
				hash = hashOf([]any{hash, t.Effect, t.IdempotencyKey})
			}
			if len(t.OutputSchema) > 0 {
				hash = hashOf([]any{hash, spelledOnce(t.OutputSchema)})
			}
			if !slices.Contains(schemas[name], hash) {
				schemas[name] = append(schemas[name], hash)
			}
		}
	}
	hashes := make(map[string]string, len(schemas))
	for name, all := range schemas {
		hashes[name] = all[0]
		if len(all) > 1 {
			hashes[name] = hashOf(all)
		}
	}
	return hashes
}

// spelledOnce returns the value of a JSON text, so that white space and the order of
// members do not matter, or the text if it is not JSON.
func spelledOnce(text json.RawMessage) any {
	value, err := jsonvalue.Numbers(text)
	if err != nil {
		return string(text)
	}
	return value
}

// scenarioContent is what the hash of a scenario is over.
type scenarioContent struct {
	Rules            []ruleContent
	Layer            chaos.Layer
	AllowUndelivered bool
	Rewrites         bool
}

type ruleContent struct {
	Name, Target, Group string
	When, Fault         description
	Limit               int
	CoolDown            time.Duration
	Layer               chaos.Layer
}

type description struct {
	Kind   string
	Params any
}

func contentOf(s *compiledScenario) scenarioContent {
	c := scenarioContent{Layer: s.Layer, AllowUndelivered: s.AllowUndelivered, Rewrites: s.Rewrite != nil}
	for _, r := range s.plan.Rules() {
		c.Rules = append(c.Rules, ruleContent{Name: r.Name, Target: r.Target, Group: r.Group,
			When: describe(r.When), Fault: describe(r.Fault), Limit: r.Limit, CoolDown: r.CoolDown, Layer: r.Layer})
	}
	return c
}

// describe returns the description of a trigger or a fault, or its Go type.
func describe(part any) description {
	if said, ok := descriptionOf(part); ok {
		return description{said.Kind, spelledOnce(said.Params)}
	}
	return description{Kind: fmt.Sprintf("%T", part)}
}

// descriptionOf asks a fault or trigger for its description. ok is false if it has none, or
// if its method fails.
func descriptionOf(part any) (said chaos.Description, ok bool) {
	own, ok := part.(chaos.Described)
	if !ok {
		return said, false
	}
	failed := usercode.Failure(func() { said = own.Describe() })
	return said, failed == ""
}

func hashOf(content any) string {
	sum := sha256.Sum256(encoded(content))
	return hex.EncodeToString(sum[:8])
}

// encoded is content of this file as JSON, which all of it has: decoded values, and
// types without methods.
func encoded(content any) []byte {
	text, err := json.Marshal(content)
	if err != nil {
		return fmt.Append(nil, content)
	}
	return text
}

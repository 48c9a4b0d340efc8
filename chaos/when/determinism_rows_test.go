package when_test

import (
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/lies"
	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// everyRow are the rows whose claims docs/determinism.md has in tables of their
// own. Labels are what they are made of, so its claim is theirs.
func everyRow() (rows []*catalog.Row) {
	for _, r := range slices.Concat(when.Rows(), fault.Rows(), lies.Rows()) {
		if r.Base == "" {
			rows = append(rows, r)
		}
	}
	return rows
}

// kindOf is the kind of a fault or trigger.
func kindOf(v any) string {
	if d, ok := v.(chaos.Described); ok {
		return d.Describe().Kind
	}
	return ""
}

// byHand are the claims of claims, by the kind of fault or trigger they are about.
func byHand() (triggers, faults map[string][]catalog.Order) {
	triggers, faults = map[string][]catalog.Order{}, map[string][]catalog.Order{}
	for _, c := range claims() {
		if regexp.MustCompile(`^when\.`).MatchString(c.row) {
			triggers[kindOf(c.rule.When)] = append(triggers[kindOf(c.rule.When)], c.claim)
		} else {
			faults[kindOf(c.rule.Fault)] = append(faults[kindOf(c.rule.Fault)], c.claim)
		}
	}
	return triggers, faults
}

// fromRows are the rows that no claim by hand is about. Their own claim is tried.
func fromRows() (rows []*catalog.Row) {
	triggers, faults := byHand()
	for _, r := range everyRow() {
		if r.IsTrigger() && triggers[r.Kind] == nil || !r.IsTrigger() && faults[r.Kind] == nil {
			rows = append(rows, r)
		}
	}
	return rows
}

// trials are the claim of a row at sites of every shape.
func trials(t *testing.T, r *catalog.Row) (all []claimed) {
	part := fmt.Sprintf(`{"kind":%q,"params":%s}`, r.Kind, r.Example)
	doc := `{"seed":"1","rules":[{"target":"*","fault":` + part + `}]}`
	if r.IsTrigger() {
		doc = `{"seed":"1","rules":[{"target":"*","when":` + part + `,"fault":{"kind":"error","params":{"message":"down"}}}]}`
	}
	plan, err := planjson.Decode([]byte(doc), nil)
	require.NoError(t, err, r.Kind)
	rule := plan.Rules()[0]
	if !r.IsTrigger() && r.Order != deliveries {
		rule.When = when.Prob(0.5)
	}
	for _, s := range []shape{{}, {stream: true}, {object: true},
		{takes: 250 * time.Millisecond, workers: 8}, {takes: time.Hour + time.Minute}} {
		all = append(all, claimed{row: r.Kind, claim: r.Order, rule: rule, site: s})
	}
	all = append(all, claimed{row: r.Kind, claim: r.Order, rule: rule, lie: true})
	if r.Order == deliveries { // what ages depends on the order of calls itself
		all = append(all, claimed{row: r.Kind, claim: r.Order, rule: rule, lie: true, ages: true})
	}
	return all
}

// tryRow reports what is wrong with the claim of a row, tried by its example: at
// every site where that is delivered the claim is true, at one it could not be
// stronger.
func tryRow(t *testing.T, r *catalog.Row) error {
	if r.HoldsCode() {
		return fmt.Errorf("%s holds Go code, so it needs a claim by hand", r.Kind)
	}
	delivered, varied := false, false
	for _, c := range trials(t, r) {
		f := c.try(t)
		if f.unlike != "" {
			return fmt.Errorf("%s is not %q, so its row has to say more in Order: %s", r.Kind, r.Order, f.unlike)
		}
		delivered, varied = delivered || f.delivered, varied || f.delivered && f.varied
	}
	switch {
	case !delivered:
		return fmt.Errorf("%s: its example %s is delivered at no site, so it needs a claim by hand", r.Kind, r.Example)
	case !varied:
		return fmt.Errorf("%s never varied: its row could claim more than %q", r.Kind, r.Order)
	}
	return nil
}

// What a row says of order is true: of its example where no claim by hand is about
// its kind, else it is one of those.
func TestClaimsOfRows(t *testing.T) {
	triggers, faults := byHand()
	for _, r := range everyRow() {
		hand := faults[r.Kind]
		if r.IsTrigger() {
			hand = triggers[r.Kind]
		}
		if hand != nil {
			assert.Contains(t, hand, r.Order, "%s: Order of its row", r.Kind)
		}
	}
	for _, r := range fromRows() {
		t.Run(r.Kind, func(t *testing.T) { assert.NoError(t, tryRow(t, r)) })
	}
}

// Trying finds out a claim that is too strong or too weak, and an example that does nothing.
func TestTryingFindsOutAWrongClaim(t *testing.T) {
	for _, c := range []struct {
		rows  []*catalog.Row
		kind  string
		claim catalog.Order
		want  string // "": it is true
	}{
		{fault.Rows(), "latency", independent, ""},
		{fault.Rows(), "latency", deliveries, "could claim more"},
		{fault.Rows(), "stream_cut", independent, ""},  // at a stream
		{lies.Rows(), "wrong_number", independent, ""}, // in a document
		{fault.Rows(), "call_budget", deliveries, ""},
		{fault.Rows(), "call_budget", independent, "has to say more"},
		{fault.Rows(), "call_budget", sequential, "has to say more"},
		{fault.Rows(), "concurrency_limit", deliveries, ""}, // where calls meet
		{fault.Rows(), "concurrency_limit", independent, "has to say more"},
		{when.Rows(), "first", sequential, ""},
		{when.Rows(), "first", independent, "has to say more"},
		{when.Rows(), "prob", sequential, "could claim more"},
		{when.Rows(), "lane", independent, "is delivered at no site"}, // no lane has the name
		{fault.Rows(), "mutate", independent, "holds Go code"},
	} {
		i := slices.IndexFunc(c.rows, func(r *catalog.Row) bool { return r.Kind == c.kind })
		require.NotEqual(t, -1, i, c.kind)
		r := c.rows[i]
		r.Order = c.claim
		if err := tryRow(t, r); c.want == "" {
			assert.NoError(t, err, "%s: %s", c.kind, c.claim)
		} else {
			assert.ErrorContains(t, err, c.want, "%s: %s", c.kind, c.claim)
		}
	}
}

package when_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
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

// everyRow are the rows whose claims docs/reference/determinism.md has in tables of their
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

// shape is what the injection points of a site are like; the zero value is a
// function that takes no time.
type shape struct {
	stream  bool          // they return streams of three items
	object  bool          // their arguments are JSON objects
	takes   time.Duration // their callee's time
	workers int           // that call by the clock, where calls must meet; 0: one
}

// point is a function on numbers in front of an injection point of that shape.
func (s shape) point(target string, o *chaos.WrapOptions[int]) func(context.Context, int) (string, error) {
	answer := func(_ context.Context, n int) (string, error) {
		time.Sleep(s.takes)
		return fmt.Sprint("item ", n), nil
	}
	switch {
	case s.stream:
		words := chaos.WrapStreamWith(target, func(_ context.Context, n int) iter.Seq2[string, error] {
			return func(yield func(string, error) bool) {
				_ = yield("item", nil) && yield(fmt.Sprint(n), nil) && yield("end", nil)
			}
		}, o)
		return func(ctx context.Context, n int) (all string, err error) {
			for word, err := range words(ctx, n) {
				if all += word; err != nil {
					return all, err
				}
			}
			return all, nil
		}
	case s.object:
		type args struct {
			N, More int
			Agent   string
		}
		fn := chaos.WrapWith(target, func(ctx context.Context, a args) (string, error) { return answer(ctx, a.N) },
			&chaos.WrapOptions[args]{Key: func(a args) uint64 { return o.Key(a.N) }})
		return func(ctx context.Context, n int) (string, error) { return fn(ctx, args{N: n}) }
	}
	return chaos.WrapWith(target, answer, o)
}

// faultClaims has the rows of the families of faults.
func faultClaims() (rows []claimed) {
	half := when.Prob(0.5)
	const ms = time.Millisecond
	add := func(claim catalog.Order, row string, f chaos.Fault, w chaos.When, s shape) {
		rows = append(rows, claimed{row: "fault." + row, claim: claim, rule: chaos.Rule{When: w, Fault: f}, site: s})
	}
	drawn := func(row string, f chaos.Fault) { add(independent, row, f, half, shape{}) }
	ordered := func(row string, f chaos.Fault) { add(deliveries, row, f, nil, shape{}) }

	drawn("Spike", fault.Spike(0, 20*ms, 0.5))
	add(sequential, "RampUp", fault.RampUp(ms, 50*ms), half, shape{})
	add(timed, "RampUpWith", fault.RampUpWith(50*ms, time.Minute), half, shape{})
	drawn("ToolRemoved", fault.ToolRemoved("orders"))

	ordered("SilentNoOp", fault.SilentNoOp())
	drawn("SilentNoOpWith", fault.SilentNoOpWith("done"))
	ordered("LateResult", fault.LateResult("orders", ms, 3*ms))
	ordered("DelayedVisibility", fault.DelayedVisibility("orders", 300*ms, "nothing"))

	drawn("As", fault.As("guardrail_down", fault.Fail(fault.ErrUnavailable)))
	ordered("StaleApproval", fault.StaleApproval("item 3"))

	return rows
}

// lieClaims are claims about lies. Their calls have JSON arguments and a result with
// something in it for every lie.
func lieClaims() []claimed {
	lie := func(row string, f chaos.Fault) claimed {
		return claimed{row: row, claim: independent, lie: true, rule: chaos.Rule{When: when.Prob(0.5), Fault: f}}
	}
	return []claimed{lie("lies.InText", lies.InText(lies.OffByOne())),
		lie("lies.ChangeArguments", lies.ChangeArguments("orders", "item", "itemId"))}
}

// teller is what stands behind the points of a row about lies.
type teller struct {
	ages bool // an answer tells how often its item was asked for
	mu   sync.Mutex
	seen map[string]int
}

type wanted struct {
	Item int `json:"item"`
}

func (w *teller) point(target string) func(context.Context, int) (string, error) {
	ask := chaos.WrapWith(target, func(_ context.Context, args json.RawMessage) (json.RawMessage, error) {
		var in wanted
		err := json.Unmarshal(args, &in)
		return json.RawMessage(w.answer(target, in.Item)), err
	}, &chaos.WrapOptions[json.RawMessage]{Key: func(args json.RawMessage) uint64 {
		var in wanted
		_ = json.Unmarshal(args, &in)
		return keyOf(in.Item)
	}})
	return func(ctx context.Context, n int) (string, error) {
		result, err := ask(ctx, fmt.Appendf(nil, `{"item":%d}`, n))
		return string(result), err
	}
}

func (w *teller) answer(target string, n int) string {
	version := 0
	if w.ages {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.seen[fmt.Sprint(target, n)]++
		version = w.seen[fmt.Sprint(target, n)]
	}
	messages := strings.Repeat(`,{"role":"user","content":"Where is it?"},{"role":"assistant","content":"On its way."}`, 2)
	return fmt.Sprintf(`{"id":%d,"version":%d,"order_id":"C-%d5","total":20%d.90,"rate":0.19,"currency":"EUR","status":"open",`+
		`"usage":{"prompt_tokens":9,"completion_tokens":9},"due_date":"2026-03-01","note":"Zürich is nice","from":"a","to":"b","text":"{\"n\":5}","rows":[{"id":1,"x":1},{"id":2,"x":2},{"id":3,"x":3}],`+
		`"messages":[%s],"tools":[{"name":"a","description":"A."},{"name":"b","description":"B."},{"name":"c","description":"C."}]}`,
		n, version, n, n, messages[1:])
}

// claimLine is a line of the tables: its row, claim and reason.
var claimLine = regexp.MustCompile("(?m)^\\| (`[\\w.]+`[^|]*|[a-z ]+) \\| " +
	`(independent of order|needs a sequential lane|depends on time|depends on deliveries) \| .+ \|` + "\n")

// tested are the rows of the page with their claims: those by hand, then each
// constructor of a row that is tried by its example. catalogtest.Run checks that
// every constructor is in a row.
func tested(t *testing.T) map[string]catalog.Order {
	claim := map[string]catalog.Order{}
	for _, c := range claims() {
		assert.NotContains(t, claim, c.row, "twice in the test")
		claim[c.row] = c.claim
	}
	for _, r := range fromRows() {
		for _, name := range constructors(r) {
			order, known := claim[name]
			assert.True(t, !known || order == r.Order, "%s: two claims", name)
			claim[name] = r.Order
		}
	}
	for _, r := range everyRow() {
		for _, name := range constructors(r) {
			assert.Contains(t, claim, name, "it has no claim")
		}
	}
	return claim
}

// constructors are those that a row shows.
func constructors(r *catalog.Row) (names []string) {
	for _, call := range regexp.MustCompile(`\b(when|fault|lies)\.\w+\(`).FindAllString(r.Go, -1) {
		names = append(names, strings.TrimSuffix(call, "("))
	}
	return names
}

// The tables of docs/reference/determinism.md have the rows that are tested, with the claims
// that are tested, and no others.
func TestPagesHaveTheClaims(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "determinism.md"))
	require.NoError(t, err)
	want, documented := map[string]string{}, map[string]string{}
	for name, order := range tested(t) {
		want[name] = order.String()
	}
	for _, cells := range claimLine.FindAllStringSubmatch(string(page), -1) {
		name := strings.ReplaceAll(cells[1], "`", "")
		assert.NotContains(t, documented, name, "twice on the page")
		documented[name] = cells[2]
	}
	assert.Equal(t, want, documented, "docs/reference/determinism.md")
}

package audit

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strconv"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/text"
)

// leaves are the parts of a state that have no parts, by JSON pointer, and the length of each list.
type leaves map[string]any

func leavesOf(state any) leaves {
	all := leaves{}
	all.add("", state)
	return all
}

func (l leaves) add(at string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, part := range v {
			l.add(jsonedit.PointerTo(at, name), part)
		}
		if len(v) == 0 {
			l[at] = "{}"
		}
	case []any:
		l[at+" length"] = json.Number(strconv.Itoa(len(v)))
		for i, part := range v {
			l.add(jsonedit.PointerTo(at, strconv.Itoa(i)), part)
		}
	default:
		l[at] = v
	}
}

// A difference is how a state departs from that of one call. more is set where it went further from the
// state before than one call does, less where it did not go as far.
type difference struct {
	more, less bool
	first      string // says one of them, for people
}

func same(a, b any) bool { return reflect.DeepEqual(a, b) }

// differ compares a state with that of one call, from the same state before.
func differ(before, once, after any) (d difference) {
	b, o, a := leavesOf(before), leavesOf(once), leavesOf(after)
	places := maps.Clone(b)
	maps.Copy(places, o)
	maps.Copy(places, a)
	for _, at := range slices.Sorted(maps.Keys(places)) {
		if same(o[at], a[at]) {
			continue
		}
		more, less := further(b[at], o[at], a[at])
		if d.first == "" || more && !d.more {
			d.first = fmt.Sprintf("%s is %s, and after one call %s", text.QuoteShort(at), shown(a[at]), shown(o[at]))
		}
		d.more, d.less = d.more || more, d.less || less
	}
	return d
}

// further reports on one part whether it went further than, or not as far as, one call takes it.
func further(before, once, after any) (more, less bool) {
	o, okO := amountOf(once)
	a, okA := amountOf(after)
	b, okB := amountOf(before)
	if okO && okA && okB {
		byOne, by := new(big.Float).Sub(o, b), new(big.Float).Sub(a, b)
		if byOne.Sign() == 0 {
			return true, false
		}
		if byOne.Sign() != by.Sign() {
			return false, true
		}
		more = by.Abs(by).Cmp(byOne.Abs(byOne)) > 0
		return more, !more
	}
	return same(before, once), same(before, after)
}

// amountOf is a number; a part that is not there is 0.
func amountOf(v any) (*big.Float, bool) {
	if v == nil {
		return new(big.Float), true
	}
	n, ok := v.(json.Number)
	if !ok {
		return nil, false
	}
	f, _, err := big.ParseFloat(n.String(), 10, 256, big.ToNearestEven)
	return f, err == nil
}

func shown(v any) string {
	if v == nil {
		return "missing or null"
	}
	doc, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return text.Truncate(string(doc))
}

// The effects of one call on the state.
const (
	effectNone    = "none"
	effectAdds    = "adds"
	effectChanges = "changes"
	effectRemoves = "removes"
)

// effectOf says what one call did to the state: it removed a part if the part, or an element of a list, is gone.
func effectOf(before, once any) string {
	if same(before, once) {
		return effectNone
	}
	b, o := leavesOf(before), leavesOf(once)
	effect := effectAdds
	for at, was := range b {
		now, kept := o[at]
		switch {
		case !kept && was != "{}":
			return effectRemoves
		case !same(was, now) && !longer(at, was, now):
			effect = effectChanges
		}
	}
	return effect
}

// longer reports whether a part is a list that grew, or an object that got its first member.
func longer(at string, was, now any) bool {
	if was == "{}" {
		return true
	}
	w, okW := amountOf(was)
	n, okN := amountOf(now)
	return len(at) > 7 && at[len(at)-7:] == " length" && okW && okN && n.Cmp(w) > 0
}

// sorted is a state whose lists are in the order of their elements' texts.
func sorted(v any) any {
	switch v := v.(type) {
	case map[string]any:
		own := make(map[string]any, len(v))
		for name, part := range v {
			own[name] = sorted(part)
		}
		return own
	case []any:
		own := make([]any, len(v))
		for i, part := range v {
			own[i] = sorted(part)
		}
		slices.SortStableFunc(own, func(a, b any) int { return slices.Compare([]byte(shownWhole(a)), []byte(shownWhole(b))) })
		return own
	}
	return v
}

func shownWhole(v any) string {
	doc, _ := json.Marshal(v) //nolint:errcheck // it was read from JSON
	return string(doc)
}

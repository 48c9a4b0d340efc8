package audit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/jsonhash"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
	"github.com/shakedown-go/shakedown/internal/text"
)

// Before the place of a list or an object. No JSON pointer begins so.
const (
	length = "length of "
	object = "object "
)

// leaves adds the parts of a state that have no parts, by JSON pointer, the length of each list, and each object: a
// set is often written as objects that are empty.
func leaves(all map[string]any, at string, v any) map[string]any {
	switch v := v.(type) {
	case map[string]any:
		all[object+at] = true
		for name, part := range v {
			leaves(all, jsonedit.PointerTo(at, name), part)
		}
	case []any:
		all[length+at] = json.Number(strconv.Itoa(len(v)))
		for i, part := range v {
			leaves(all, jsonedit.PointerTo(at, strconv.Itoa(i)), part)
		}
	default:
		all[at] = v
	}
	return all
}

// same compares by value: 1, 1.0 and 1e0 are one number.
func same(a, b any) bool { return jsonhash.Same(jsonvalue.Document(a), jsonvalue.Document(b)) }

// A difference is how a state departs from that of one call. more is set where it went further from the
// state before than one call does, less where it did not go as far.
type difference struct {
	more, less bool
	text       string
}

// differ compares a state with that of one call, from the same state before.
func differ(before, once, after any) (d difference) {
	b, o, a := leaves(map[string]any{}, "", before), leaves(map[string]any{}, "", once), leaves(map[string]any{}, "", after)
	places := maps.Clone(b)
	maps.Copy(places, o)
	maps.Copy(places, a)
	for _, at := range slices.Sorted(maps.Keys(places)) {
		if same(o[at], a[at]) {
			continue
		}
		more, less := further(b[at], o[at], a[at])
		if d.text == "" || more && !d.more {
			d.text = fmt.Sprintf("%s is %s, and after one call %s", text.QuoteShort(strings.ReplaceAll(at, "~1", "/")), shown(a[at]), shown(o[at]))
		}
		d.more, d.less = d.more || more, d.less || less
	}
	return d
}

// further reports on one part whether it went further than one call takes it, or not as far.
func further(before, once, after any) (more, less bool) {
	b, okB := amountOf(before)
	o, okO := amountOf(once)
	a, okA := amountOf(after)
	if !okO || !okA || !okB {
		return same(before, once), same(before, after)
	}
	by, byOne := a.Sub(a, b), o.Sub(o, b)
	if byOne.Sign() == 0 || byOne.Sign() == by.Sign() {
		more = by.Abs(by).Cmp(byOne.Abs(byOne)) > 0
	}
	return more, !more
}

const mostExponent = 400 // that is reckoned with: a larger one takes much memory

// amountOf is a number; a part that is not there is 0.
func amountOf(v any) (*big.Rat, bool) {
	n, ok := v.(json.Number)
	if v == nil {
		n, ok = "0", true
	}
	_, exponent, _ := strings.Cut(strings.ToLower(n.String()), "e")
	if e, err := strconv.Atoi(cmp.Or(exponent, "0")); !ok || err != nil || max(e, -e) > mostExponent {
		return nil, false
	}
	return new(big.Rat).SetString(n.String())
}

func shown(v any) string {
	if v == nil {
		return "missing or null"
	}
	return text.Truncate(string(jsonvalue.Document(v)))
}

// effects are what a call may have done to the state, each with more harm to what was there; empty: it is not known.
// Another order of a list may be no change, so it neither confirms nor contradicts.
var effects = [...]string{"", "none", "reorders", "adds", "changes", "removes"}

func graverEffect(a, b string) string {
	return effects[max(0, slices.Index(effects[:], a), slices.Index(effects[:], b))]
}

// effectOf says what calls did to the state: "none", "reorders", "adds", "changes" or "removes".
func effectOf(before, once any) string {
	switch {
	case same(before, once):
		return "none"
	case same(sorted(before), sorted(once)):
		return "reorders"
	}
	effect := "adds"
	b, o := leaves(map[string]any{}, "", before), leaves(map[string]any{}, "", once)
	for at, was := range b {
		now, kept := o[at]
		filled := was == nil && (o[length+at] != nil || o[object+at] != nil) // of null, as Go writes a list of nothing
		if list, is := strings.CutPrefix(at, length); is && !kept && same(was, json.Number("0")) {
			filled = o[object+list] != nil // of [], as PHP writes a map of nothing
		}
		if !kept && !filled {
			return "removes"
		} else if !filled && !same(was, now) && !strings.HasPrefix(at, length) {
			effect = "changes"
		}
	}
	return effect
}

// sorted is a state whose lists are in the order of their elements' hashes.
func sorted(v any) any {
	switch v := v.(type) {
	case map[string]any:
		v = maps.Clone(v)
		for name, part := range v {
			v[name] = sorted(part)
		}
		return v
	case []any:
		v = slices.Clone(v)
		for i := range v {
			v[i] = sorted(v[i])
		}
		slices.SortFunc(v, func(a, b any) int {
			return cmp.Compare(jsonhash.Sum(jsonvalue.Document(a)), jsonhash.Sum(jsonvalue.Document(b)))
		})
		return v
	}
	return v
}

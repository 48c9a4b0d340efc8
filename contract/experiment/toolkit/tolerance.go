package toolkit

import (
	"context"
	"encoding/json"
	"math"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract/experiment"
	"github.com/shakedown-go/shakedown/contract/experiment/tolerance"
)

func checkTolerance(n node) {
	object, ok := n.v.(map[string]any)
	if !ok {
		if n.v == nil {
			n.wrong("a boolean, a number, a text, a list or an object")
		}
		return
	}
	switch kindOf(n.v) {
	case "probe":
		checkActivity(n, inValue)
	case "regex":
		o := n.object("type", "pattern", "target")
		o.needed("pattern")
		o.get("target").name()
	case "jsonpath":
		o := n.object("type", "path", "target", "count", "expect")
		o.needed("path")
		o.get("target").name()
		n := o.get("count")
		if count := n.number(); count != math.Trunc(count) {
			n.wrong("a whole number, 0 or more")
		}
	case "range":
		o := n.object("type", "range", "target")
		o.get("target").name()
		if n, ok := o.need("range", "two numbers"); ok {
			if list, _ := n.v.([]any); len(list) != 2 || !isNumber(list[0]) || !isNumber(list[1]) {
				n.wrong("two numbers")
			}
		}
	case "distribution":
		o := n.object("type", "shares", "within", "target")
		o.get("target").name()
		o.get("within").number()
		if n, ok := o.need("shares", "an object of numbers"); ok {
			n.object().each(func(_ string, n node) { n.number() })
		}
	default:
		if object["type"] == nil {
			n.add(below(n.path, "type"), nil, "probe, regex, jsonpath, range, distribution")
		} else {
			n.object().get("type").wrong("probe, regex, jsonpath, range, distribution")
		}
	}
}

func isNumber(v any) bool {
	_, ok := v.(json.Number)
	return ok
}

// tolerance builds a tolerance of the document.
func (b *builder) tolerance(path string, v any) experiment.Tolerance {
	if v == nil {
		return nil
	}
	v, err := b.values.inTolerance(v)
	if err != nil {
		b.cause(path, err)
		return nil
	}
	t := b.newTolerance(path, v)
	if c, ok := t.(chaos.Checked); ok {
		if err := c.Check(); err != nil {
			b.cause(path, err)
		}
	}
	return t
}

// inTolerance substitutes in a tolerance, except in its probe, whose arguments are
// substituted when it runs.
func (vs values) inTolerance(v any) (any, error) {
	if kindOf(v) == "probe" {
		return v, nil
	}
	return vs.any(v)
}

func (b *builder) newTolerance(path string, v any) experiment.Tolerance {
	o, ok := v.(map[string]any)
	if !ok {
		return plainTolerance(v)
	}
	var t experiment.Tolerance
	switch o["type"] {
	case "probe":
		return b.judge(path, v)
	case "regex":
		t = tolerance.Match(spell(o["pattern"]))
	case "range":
		list, _ := o["range"].([]any)
		t = tolerance.Range(float(list[0]), float(list[1]))
	case "distribution":
		shares := make(map[string]float64)
		members, _ := o["shares"].(map[string]any)
		for name, share := range members {
			shares[name] = float(share)
		}
		t = tolerance.Distribution(shares, float(o["within"]))
	default:
		t = jsonPath(o)
	}
	if target := spell(o["target"]); target != "" {
		t = tolerance.Member(target, t)
	}
	return t
}

func jsonPath(o map[string]any) experiment.Tolerance {
	t := tolerance.Path(spell(o["path"]))
	if count, ok := o["count"]; ok {
		t = t.Count(int(float(count)))
	}
	if expect, ok := o["expect"]; ok {
		list, isList := expect.([]any)
		if !isList {
			list = []any{expect}
		}
		t = t.Expect(list...)
	}
	return t
}

func float(v any) float64 {
	n, _ := v.(json.Number)
	f, _ := n.Float64()
	return f
}

// plainTolerance builds the tolerance of a boolean, number, text or list.
func plainTolerance(v any) experiment.Tolerance {
	list, ok := v.([]any)
	if !ok {
		if isNumber(v) {
			return byStatus{tolerance.Equal(v), tolerance.Equal(v)}
		}
		return tolerance.Equal(v)
	}
	other := tolerance.OneOf(list...)
	if len(list) == 2 && isNumber(list[0]) && isNumber(list[1]) {
		other = tolerance.Range(float(list[0]), float(list[1]))
	}
	return byStatus{tolerance.OneOf(list...), other}
}

// byStatus judges the status of an output that has one, else the output.
type byStatus struct{ status, other experiment.Tolerance }

func (t byStatus) Holds(ctx context.Context, output any) (bool, error) {
	if object, ok := output.(map[string]any); ok {
		if status, ok := object["status"]; ok {
			return t.status.Holds(ctx, status)
		}
	}
	return t.other.Holds(ctx, output)
}

func (t byStatus) Check() error {
	if c, ok := t.other.(chaos.Checked); ok {
		return c.Check()
	}
	return nil
}

// judge returns a tolerance that runs a provider with the output as the argument
// value.
func (b *builder) judge(path string, v any) experiment.Tolerance {
	a, err := embedded(v)
	if err != nil {
		b.cause(path, err)
		return nil
	}
	call, vs := b.provider(a.Provider, path+".provider"), b.values
	return tolerance.Func(func(ctx context.Context, output any) (bool, error) {
		vs := vs
		vs.judged = &output
		verdict, err := call(ctx, vs)
		if b.providers.ChaosToolkit {
			err = nil // a failed probe is a miss
		}
		return truth(verdict), err
	})
}

// truth reports whether a value is true in Python, where the layout comes from: an
// empty value and 0 are false.
func truth(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	}
	doc, err := json.Marshal(v)
	if err != nil {
		return true
	}
	switch string(doc) {
	case "null", "false", "0", `""`, "[]", "{}":
		return false
	}
	return true
}

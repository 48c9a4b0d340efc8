package tolerance

import (
	"context"
	"fmt"
	"math/big"
	"regexp"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract/experiment"
)

// Equal holds for an output equal to want: a boolean, a text, a number, or any
// other value with a JSON form.
func Equal(want any) experiment.Tolerance { return exact{want} }

type exact struct{ want any }

func (t exact) Holds(_ context.Context, output any) (bool, error) {
	want, err := plain(t.want)
	if err != nil {
		return false, err
	}
	got, err := plain(output)
	return err == nil && equal(got, want), err
}

func (t exact) Check() error {
	_, err := plain(t.want)
	return err
}

// OneOf holds for an output equal to one of the values.
func OneOf(values ...any) experiment.Tolerance { return oneOf(values) }

type oneOf []any

func (t oneOf) Holds(ctx context.Context, output any) (bool, error) {
	for _, v := range t {
		if ok, err := (exact{v}).Holds(ctx, output); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

func (t oneOf) Check() error {
	if len(t) == 0 {
		return fmt.Errorf("tolerance: one of no values; allowed: at least one")
	}
	for _, v := range t {
		if err := (exact{v}).Check(); err != nil {
			return err
		}
	}
	return nil
}

// Range holds for a number from lo to hi, both included, also if it is written as a
// text. It does not hold for anything else.
func Range(lo, hi float64) experiment.Tolerance { return numbers{lo, hi} }

type numbers struct{ lo, hi float64 }

func (t numbers) Holds(_ context.Context, output any) (bool, error) {
	got, err := plain(output)
	if err != nil {
		return false, err
	}
	if _, isBool := got.(bool); isBool || got == nil {
		return false, nil
	}
	n, ok := rational(strings.TrimSpace(fmt.Sprint(got)))
	lo, hi := new(big.Rat).SetFloat64(t.lo), new(big.Rat).SetFloat64(t.hi)
	// A bound without a rational is infinite; Check refuses one on the wrong side.
	return ok && (lo == nil || lo.Cmp(n) <= 0) && (hi == nil || n.Cmp(hi) <= 0), nil
}

func (t numbers) Check() error {
	if !(t.lo <= t.hi) || t.lo > maxFinite || t.hi < -maxFinite {
		return fmt.Errorf("tolerance: range from %v to %v; allowed: two numbers, the lower one first", t.lo, t.hi)
	}
	return nil
}

const maxFinite = 0x1p1023 * (1 + (1 - 0x1p-52))

// Match holds for a text that contains a match of pattern, a regular expression of
// package regexp. An output that is not a text is matched by its JSON.
func Match(pattern string) experiment.Tolerance {
	re, err := regexp.Compile(pattern)
	return match{re, err}
}

type match struct {
	re  *regexp.Regexp
	err error
}

func (t match) Holds(_ context.Context, output any) (bool, error) {
	if t.err != nil {
		return false, t.err
	}
	got, err := asText(output)
	return err == nil && t.re.MatchString(got), err
}

func (t match) Check() error {
	if t.err != nil {
		return fmt.Errorf("tolerance: %w; allowed: a regular expression in the syntax of Go", t.err)
	}
	return nil
}

// Func holds if fn returns true.
func Func(fn func(ctx context.Context, output any) (bool, error)) experiment.Tolerance {
	return function(fn)
}

type function func(context.Context, any) (bool, error)

func (t function) Holds(ctx context.Context, output any) (bool, error) { return t(ctx, output) }

func (t function) Check() error {
	if t == nil {
		return fmt.Errorf("tolerance: no function")
	}
	return nil
}

// Member judges one member of the output, such as "body", by another tolerance. An
// output without that member is judged as a whole.
func Member(name string, t experiment.Tolerance) experiment.Tolerance { return member{name, t} }

type member struct {
	name  string
	inner experiment.Tolerance
}

func (t member) Holds(ctx context.Context, output any) (bool, error) {
	got, err := plain(output)
	if err != nil {
		return false, err
	}
	if object, ok := got.(map[string]any); ok {
		if v, ok := object[t.name]; ok {
			return t.inner.Holds(ctx, v)
		}
	}
	return t.inner.Holds(ctx, output)
}

func (t member) Check() error {
	if t.inner == nil {
		return fmt.Errorf("tolerance: member %q is judged by nothing; allowed: a tolerance", t.name)
	}
	if c, ok := t.inner.(chaos.Checked); ok {
		return c.Check()
	}
	return nil
}

package audit

import (
	"context"
	"io"
	"reflect"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/strictjson"
)

const mostResult = 256 << 20 // bytes of a result that is read

// Read reads a result that [encoding/json] wrote. Its Report is nil. Errors are [*FieldError], joined, or that of r.
func Read(r io.Reader) (*Result, error) {
	doc, err := io.ReadAll(io.LimitReader(r, mostResult+1))
	if err != nil {
		return nil, err
	}
	var in strictjson.Reader
	in.As = func(p *strictjson.Problem) error { return p.Field(fields) }
	const shape = "a whole number of nanoseconds, from 0"
	in.Special = map[reflect.Type]strictjson.Special{reflect.TypeFor[time.Duration](): {Shape: shape,
		Bind: func(n *strictjson.Node, v reflect.Value) bool {
			v.SetInt(int64(n.Int(-1)))
			return v.Int() >= 0 || in.Wrong(n, shape)
		}}}
	result := new(Result)
	if n := strictjson.Parse(doc, mostResult, &in.Problems); n != nil {
		in.Bind(n, reflect.ValueOf(result).Elem(), strictjson.Tag{})
	}
	return result, in.Err()
}

// Declare returns the tools with what the audit found of them, for the world of a matrix: in [chaos.Tool].Audit that a
// repeated call doubles the work, the Effect, and the IdempotencyKey where the key prevents that. A key that the tool
// declares and that prevents nothing is taken away. What was not found stays as the tool declares it.
//
// Findings and the invariants that are made of them then judge calls of these tools, and say what the audit found.
func (r *Result) Declare(tools chaos.ToolRegistry) chaos.ToolRegistry { return declared{tools, r} }

type declared struct {
	chaos.ToolRegistry
	found *Result
}

func (d declared) Tools(ctx context.Context) ([]chaos.Tool, error) {
	tools, err := d.ToolRegistry.Tools(ctx)
	return d.declare(tools), err
}

// Known is for [chaos.WrapRegistry].
func (d declared) Known() []chaos.Tool {
	if inner, ok := d.ToolRegistry.(interface{ Known() []chaos.Tool }); ok {
		return d.declare(inner.Known())
	}
	return nil
}

func (d declared) declare(tools []chaos.Tool) []chaos.Tool {
	tools = slices.Clone(tools)
	for i := range tools {
		for k := range d.found.Tools {
			if found := &d.found.Tools[k]; found.Tool == tools[i].Name {
				found.declare(&tools[i])
			}
		}
	}
	return tools
}

func (t *ToolResult) declare(tool *chaos.Tool) {
	showed, effect := t.showed()
	switch tool.Audit = known[t.Verdict].says; {
	case showed[inARow] == Doubles:
		tool.Effect, tool.IdempotencyKey = chaos.EffectDone, ""
	case showed[withoutKey] == Doubles, showed[anotherKey] == Doubles:
		tool.Effect, tool.IdempotencyKey = chaos.EffectDone, t.Key
	case t.Verdict == Safe && effect == "none":
		tool.Effect = chaos.EffectNone
	}
}

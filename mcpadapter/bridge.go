package mcpadapter

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

// noLimit is what no client reaches.
func noLimit() *policy.Limit {
	return &policy.Limit{PerSecond: math.MaxInt32, Burst: math.MaxInt32}
}

// spare takes the tools that need no confirmation out of the rules: a pattern
// that covers them, such as chaos_*, becomes a rule for each other tool that it
// covers.
func (s *Server) spare(rules []policy.Confirm, rows []policy.Tool) []policy.Confirm {
	var spared []policy.Confirm
	for _, rule := range rules {
		pattern, err := glob.Compile(rule.Tool)
		covers := func(t *tool) bool { return err == nil && t.unlimited && pattern.Match(t.name) }
		if !slices.ContainsFunc(s.tools, covers) {
			spared = append(spared, rule)
			continue
		}
		for _, row := range rows {
			own := slices.ContainsFunc(s.tools, func(t *tool) bool { return t.unlimited && t.name == row.Name })
			if pattern.Match(row.Name) && !own {
				one := rule
				one.Tool = literal(row.Name)
				spared = append(spared, one)
			}
		}
	}
	return spared
}

// literal is the pattern that matches a name alone.
func literal(name string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `{`, `\{`, `\`, `\\`).Replace(name)
}

// refusals gives the failures of a tool whose own output has a status that
// output, and all others the problem as structured output: also those of the
// gate, which knows nothing of outputs.
func (s *Server) refusals(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		failed, ok := res.(*mcp.CallToolResult)
		asked, isCall := req.(*mcp.CallToolRequest)
		if err != nil || !ok || !isCall || failed == nil || !failed.IsError || len(failed.Content) == 0 {
			return res, err
		}
		at := slices.IndexFunc(s.tools, func(t *tool) bool { return t.name == asked.Params.Name })
		text, ok := failed.Content[0].(*mcp.TextContent)
		p := new(problem)
		if at < 0 || !ok || json.Unmarshal([]byte(text.Text), p) != nil || p.Status == 0 {
			return res, err
		}
		c := &call{server: s, tool: s.tools[at], req: asked}
		told := *failed // a copy keeps the type of the result
		told.StructuredContent = c.output(p)
		return &told, nil
	}
}

package mcpadapter

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/failure"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/prompts"
)

func (s *Server) addPrompts() {
	if len(s.host.Matrices) > 0 {
		s.mcp.AddPrompt(&mcp.Prompt{Name: "explain_failure", Title: "Explain this failure",
			Description: "Explains a broken cell of the latest contract report: what the agent was asked, what struck it, what it answered, and why that breaks the invariant.",
			Arguments: []*mcp.PromptArgument{
				{Name: "matrix", Title: "Matrix",
					Description: "name of the matrix; the one that was run last if left out"},
				{Name: "cell", Title: "Cell",
					Description: "scenario/invariant/trial; the most severe broken cell if left out"},
			}}, s.explainFailure)
	}
	if s.host.Injector != nil || s.host.Experiments != nil {
		s.mcp.AddPrompt(&mcp.Prompt{Name: "design_experiment", Title: "Design a chaos experiment",
			Description: "Plans an experiment against the live program: steady state, one fault with a small blast radius, what to watch, when to stop, how to take it back.",
			Arguments: []*mcp.PromptArgument{
				{Name: "goal", Title: "Goal", Description: "what is to be found out", Required: true},
				{Name: "target", Title: "Target", Description: "glob of the injection points"},
			}}, s.designExperiment)
	}
}

func promptOf(description, text string) *mcp.GetPromptResult {
	return &mcp.GetPromptResult{Description: description,
		Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}}}
}

// argument is an argument of a prompt, shortened to what makes sense.
func argument(req *mcp.GetPromptRequest, name string) string {
	return text.Clip(strings.TrimSpace(req.Params.Arguments[name]), 1000)
}

func (s *Server) explainFailure(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	name, k, err := s.matrices.Report(argument(req, "matrix"))
	if err != nil {
		return promptOf("There is nothing to explain",
			"There is no contract report to explain: "+err.Error()+". "+failure.Of(err).Hint), nil
	}
	title, text, err := prompts.Explain(name, k.Report, argument(req, "cell"))
	if err != nil {
		return nil, fmt.Errorf("mcpadapter: %w", err)
	}
	return promptOf(title, text), nil
}

func (s *Server) designExperiment(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	d := prompts.Design{Host: s.host.Name, Goal: argument(req, "goal"), Target: argument(req, "target")}
	if s.host.Injector != nil {
		d.Points = s.host.Injector.Targets()
	}
	if s.host.Experiments != nil {
		d.Experiments = s.host.Experiments.Names()
	}
	return promptOf("Design a chaos experiment", d.Text()), nil
}

package replay

import (
	"cmp"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/contract/findings"
)

// A Session is the calls of one run of an agent, as the agent saw them, and what is
// known of the run besides. [Session.Player] plays its tools; Faults makes rules of
// its failures. A session must not be changed while a player of it is in use.
type Session struct {
	_ struct{}
	// Name identifies the session: letters, digits, '.', '_' and '-', at most 200. It
	// becomes the name of a scenario and of a file. Required in a file.
	Name string `json:"name" doc:"identifies the session: letters, digits, '.', '_' and '-'"`
	// Contract is the name of the contract that the agent was under; empty: unknown.
	Contract string `json:"contract,omitempty" doc:"the contract that the agent was under"`
	// Source says where the calls were recorded.
	Source Origin `json:"source,omitempty" doc:"where the calls were recorded"`
	// Prompts are what the agent was asked, in order.
	Prompts []string `json:"prompts,omitempty" doc:"what the agent was asked, in order"`
	// Answer is its last answer; empty: unknown.
	Answer string `json:"answer,omitempty" doc:"the last answer of the agent"`
	// ExpectedFailure says in words what went wrong; empty: nothing, or it is unknown.
	ExpectedFailure string `json:"expectedFailure,omitempty" doc:"what went wrong, in words"`
	// Tools are the tools that the agent had, with what they declare. A tool that was
	// called needs no entry.
	Tools []chaos.Tool `json:"tools,omitempty" doc:"the tools that the agent had"`
	// Calls are the calls of tools and models, in the order in which they began.
	Calls []findings.Call `json:"calls" doc:"the calls of tools and models, in the order in which they began"`
	// NotImported is the number of calls that the record names and that are not among Calls,
	// such as an answer to a call that is not in the record. What the calls show is then not
	// known, and playing them may not be the whole of it.
	NotImported int `json:"notImported,omitempty" bounds:"min=0" doc:"calls that the record names and that are not here"`
	// Notes say what was not imported, and what the record does not tell.
	Notes []string `json:"notes,omitempty" doc:"what was not imported, and what the record does not tell"`
	// Plan injects the faults of the run again; nil: there were none, or they are
	// unknown. Its kinds are checked when it is built, not when it is read.
	Plan *planjson.Plan `json:"faults,omitempty" doc:"a plan that injects the faults of the run again"`
}

// Findings returns what the calls of the session show. Of the options that o leaves out,
// tools, prompts and answer are those of the session; o may be nil.
func (s *Session) Findings(o *findings.Options) (*findings.Report, error) {
	options := *cmp.Or(o, &findings.Options{})
	if options.Tools == nil {
		options.Tools = s.Tools
	}
	if options.Prompts == nil {
		options.Prompts = s.Prompts
	}
	options.Answer = cmp.Or(options.Answer, s.Answer)
	options.NotImported += s.NotImported
	return findings.Find(s.Calls, &options)
}

// importers are the dialects of package dialect, which makes lanes of what overlapped.
var importers = [...]string{"anthropic", "bedrock", "chat", "claude-code", "codex", "gemini", "langfuse", "langsmith",
	"mcp", "mcp-proxy", "openai-agents", "otlp", "responses"}

// An Origin says where a session was recorded.
type Origin struct {
	_ struct{}
	// Dialect is the form of the record, such as "otlp"; "events" and "cell" are those
	// of [FromEvents] and [FromCell].
	Dialect string `json:"dialect,omitempty" doc:"the form of the record, such as otlp"`
	// ID identifies the run in its record, such as a trace id.
	ID string `json:"id,omitempty" doc:"identifies the run in its record, such as a trace id"`
	// CapturedAt is when the run began; zero: unknown.
	CapturedAt time.Time `json:"capturedAt,omitzero" doc:"when the run began (RFC 3339)"`
}

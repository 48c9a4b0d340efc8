package replay

import (
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
	// Plan injects the faults of the run again; nil: there were none, or they are
	// unknown. Its kinds are checked when it is built, not when it is read.
	Plan *planjson.Plan `json:"faults,omitempty" doc:"a plan that injects the faults of the run again"`
}

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

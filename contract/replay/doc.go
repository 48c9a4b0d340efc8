// Package replay turns what an agent went through into a test: a session has the calls of
// one run, as the agent saw them, and a player answers them again.
//
//	sessions, err := replay.ReadDir("testdata/shakedown/TestSupportAgent/sessions")
//	scenarios, err := replay.Scenarios(sessions,
//		func(_ context.Context, _ *replay.Session, tools chaos.ToolRegistry) (*contract.World, error) {
//			return &contract.World{Agent: agent, Tools: tools, State: tools.(*replay.Player).State}, nil
//		}, nil)
//
// Each scenario has the prompts of its session and worlds in which its tools are played.
// An agent that makes the recorded calls gets the recorded answers. One that leaves the
// session is inconclusive, and the [*MissError] says where it left.
//
// # Where sessions come from
//
// Package contracttest saves broken cells ([FromCell]); [FromEvents] makes a session of
// the events of an injector; package dialect reads traces of other systems. A session is a JSON
// file: [ReadFile], [ReadDir], [Session.WriteFile]. What was not recorded is
// marked, and nothing is made up for it.
//
// # The same failures in another world
//
// [Session.Plan] and [Session.Faults] inject the failures of a session into live tools.
// docs/recordings.md compares the two, and has the table of failures.
//
// # Costs
//
// A played call takes less than half a microsecond and allocates nothing.
//
// Stability: may change.
package replay

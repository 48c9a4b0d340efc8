// Package orderdesk is the agent that the examples test: it answers the mail of a
// small shop. It looks up orders, refunds, ships and writes to customers through
// tools that are SQL over a real database.
//
// It is a planner without a language model, so it needs no key, costs nothing and
// does the same on every run. It breaks where agents with a model break: between
// the tools and the answer.
//
// The agent has three [Habits], each of which can be switched on by itself.
// [Fragile] has none of them and [Robust] has all; planner, tools and database
// are the same.
//
//	m := orderdesk.Matrix(orderdesk.Robust())
//	report, err := m.Run(ctx, nil)
//
// Read in this order: schema.sql and store.go (the shop), tools.go (what the
// agent may call), plan.go and desk.go (the agent), call.go and report.go
// (what the habits change), and scenarios.go and invariants.go (the matrix).
package orderdesk

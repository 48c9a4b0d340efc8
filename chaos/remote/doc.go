// Package remote has the faults that a caller from outside may register in a live
// program by name: five types with plain parameters, and a fault for the next call
// alone. Package mcpadapter serves it as chaos_inject_fault.
//
//	rule, note, err := remote.Spec{Name: "slow", Type: remote.Latency, Target: "orders.*"}.Rule()
//
// Whoever needs more sends a plan: see package chaos/planjson.
package remote

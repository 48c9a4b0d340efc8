// Package engines runs the units of a matrix on engines that a team may have: as activities of Temporal
// (temporal.go) and as jobs of River (river.go). What they return becomes a run file without an end (collect.go),
// which report.Merge reads like that of any part of a run.
package engines

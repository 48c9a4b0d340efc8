// Package sim is a simulated cluster: a management service over a few nodes, in
// memory. Nodes take time to change power, transitions can be aborted half-way, and
// errors are problem details (RFC 9457).
//
// Time is that of the standard library, and nothing runs in the background: each
// call first works out what has happened since the last one. So the cluster
// can be used in a testing/synctest bubble.
package sim

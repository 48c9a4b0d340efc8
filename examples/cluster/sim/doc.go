// Package sim is a cluster that is not there: the HTTP API of a management
// service over a handful of nodes, in memory, with everything that makes such an
// API worth guarding. Nodes take their time to change power, transitions can be
// aborted half-way, and whatever is wrong is told in problem details (RFC 9457).
//
//	api := sim.New()
//	http.ListenAndServe("127.0.0.1:8081", api)
//
// Time is that of the standard library and nothing runs in the background: what
// has happened since is worked out when somebody looks. So the cluster can live
// in a testing/synctest bubble.
package sim

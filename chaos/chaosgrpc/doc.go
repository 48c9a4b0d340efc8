// Package chaosgrpc makes injection points of gRPC calls.
package chaosgrpc

// Package gotest shows how to test an agent with go test. All of it is in the
// test files: desk_test.go runs a matrix, habits_test.go compares two
// agents, rates_test.go promises a rate, and lookup_test.go wraps a single function.
package gotest

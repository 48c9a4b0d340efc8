// Package repocheck holds the rules of the repository as tests: who may import
// whom, what the exported API is, that it is documented, how long a file may be,
// that links lead somewhere, and that nothing in the library keeps global state.
//
// Each rule is a row of a table with its reason, so that a failure says why, and
// an exception is a reviewed line instead of a habit. A package that does not
// exist breaks no rule. The tests read the sources of the checkout; the package has
// no code of its own.
//
//	go test ./internal/repocheck/                  # hold the rules
//	UPDATE_GOLDEN=1 go test ./internal/repocheck/  # accept a changed API
package repocheck

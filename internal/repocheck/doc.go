// Package repocheck tests the rules of the repository: which package may import
// which, what the exported API is, that it is documented and marked as stable or not,
// how many lines a room may have, that links have targets, that retired words are not
// used, and that the library has no global state. In .ci/release it compiles the Go
// blocks of the pages.
//
// Each rule is a row of a table with its reason, which a failure prints. An
// exception is a reviewed line. A package that does not exist breaks no rule. The
// tests read the sources of the checkout; the package itself has no code.
//
//	go test ./internal/repocheck/                  # check the rules
//	UPDATE_GOLDEN=1 go test ./internal/repocheck/  # accept a changed API
package repocheck

// Package repocheck tests the rules of the repository: which package may import
// which, what the exported API is, that it is documented, how long files, functions
// and lines may be, that links have targets, that the Go blocks of the pages compile,
// that retired words are not used, and that the library has no global state.
//
// Each rule is a row of a table with its reason, which a failure prints. An
// exception is a reviewed line. A package that does not exist breaks no rule. The
// tests read the sources of the checkout; the package itself has no code.
//
//	go test ./internal/repocheck/                  # check the rules
//	UPDATE_GOLDEN=1 go test ./internal/repocheck/  # accept a changed API
package repocheck

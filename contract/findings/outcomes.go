package findings

import (
	"bytes"
	"slices"

	"github.com/shakedown-go/shakedown/internal/failure"
)

// Judge reads whether calls of tools failed, of those of which nothing says so: it sets
// Suspected where a result reports a failure, and adds Outcome to Missing where nobody
// knows. Importers call it; whoever makes calls of a record of another form should too.
//
// A result reports a failure by a member such as "error", "isError" or "exit_code", or by the
// beginning of its text. Nobody knows where a word of a failure or of doubt stands anywhere in
// a text, where the result is missing or cut off, and where it is empty while another call of
// the tool returned something.
func Judge(calls []Call) {
	filled := make(map[string]bool) // tools that returned something
	for i := range calls {
		if c := &calls[i]; c.Error == nil && !isEmpty(c.Result) {
			filled[c.Tool] = true
		}
	}
	for i := range calls {
		c := &calls[i]
		if c.Type == Model || outcomeOf(c) != ok {
			continue
		}
		outcome := failure.Read(c.Result)
		switch {
		case outcome == failure.Failed && c.Result != nil:
			c.Suspected = true
		case outcome == failure.Unknown, c.Truncated, slices.Contains(c.Missing, Result),
			isEmpty(c.Result) && filled[c.Tool]:
			c.Missing = append(c.Missing, Outcome)
		}
	}
}

// isEmpty reports whether a result says nothing.
func isEmpty(doc []byte) bool {
	switch string(bytes.TrimSpace(doc)) {
	case "", "null", `""`, "{}", "[]":
		return true
	}
	return false
}

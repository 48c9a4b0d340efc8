// Package telltale finds what gives a test away to a model that reads it.
package telltale

import "regexp"

// words matches the words that a real dependency does not use of itself.
var words = regexp.MustCompile(`(?i)\b(chaos\w*|shakedown|inject(s|ed|ing|ion|ions|or)?|fault(s|y|ing)?|simulat\w*|test(s|ed|ing|er)?|mock(s|ed|ing)?|fake[ds]?)\b`)

// Find returns the first such word of a text; empty: there is none.
func Find(text string) string { return words.FindString(text) }

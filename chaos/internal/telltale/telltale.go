// Package telltale finds the words by which a model that reads a text would recognise a test.
package telltale

import "regexp"

// giveaway matches the words that a real dependency does not use of itself.
var giveaway = regexp.MustCompile(`(?i)\b(chaos\w*|shakedown|inject(s|ed|ing|ion|ions|or)?|fault(s|y|ing)?|simulat\w*|test(s|ed|ing|er)?|mock(s|ed|ing)?|fake[ds]?)\b`)

// Find returns the first such word of a text, or "" if there is none.
func Find(text string) string { return giveaway.FindString(text) }

// Package telltale finds the words by which a model that reads a text would recognise a test.
package telltale

import "regexp"

// giveaway matches words that a real dependency would not use in its errors.
var giveaway = regexp.MustCompile(`(?i)\b(chaos\w*|shakedown|inject(s|ed|ing|ion|ions|or)?|fault(s|y|ing)?|simulat\w*|test(s|ed|ing|er)?|mock(s|ed|ing)?|fake[ds]?)\b`)

// Find returns the first such word in a text; "": there is none.
func Find(text string) string { return giveaway.FindString(text) }

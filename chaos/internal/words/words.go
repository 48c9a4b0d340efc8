// Package words finds what gives a test away to a model that reads it.
package words

import "regexp"

// telltale has the words that a real dependency does not use of itself.
var telltale = regexp.MustCompile(`(?i)\b(chaos\w*|shakedown|inject(s|ed|ing|ion|ions|or)?|fault(s|y|ing)?|simulat\w*|test(s|ed|ing|er)?|mock(s|ed|ing)?|fake[ds]?)\b`)

// Telltale returns the first such word of a text; empty: there is none.
func Telltale(text string) string { return telltale.FindString(text) }

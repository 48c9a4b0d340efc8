package scoring

import "github.com/shakedown-go/shakedown/internal/enum"

// A Severity says how much a broken invariant matters. The zero value is not a
// severity: an invariant without one is an error, not a low one.
type Severity uint8

// The severities, from the least to the most serious.
const (
	Low      Severity = iota + 1 // weight 1
	Medium                       // weight 1
	High                         // weight 2
	Critical                     // weight 3; broken, it makes the verdict Fail
)

// Weight is what a cell of this severity adds to the totals of the score: 1 for Low
// and Medium, 2 for High, 3 for Critical. It is 0 for a value that is no severity.
func (s Severity) Weight() int {
	switch s {
	case Low, Medium:
		return 1
	case High:
		return 2
	case Critical:
		return 3
	}
	return 0
}

var severities = enum.Names[Severity]{Package: fields, Field: "severity",
	Of: []string{Low: "low", Medium: "medium", High: "high", Critical: "critical"}}

// String returns "low", "medium", "high" or "critical", and "Severity(n)" for
// any other value.
func (s Severity) String() string { return severities.String(s) }

// MarshalText returns what String returns for the four severities, and a
// [*FieldError] for any other value.
func (s Severity) MarshalText() ([]byte, error) { return severities.MarshalText(s) }

// UnmarshalText reads exactly what MarshalText writes. Anything else is a
// [*FieldError] and leaves s unchanged.
func (s *Severity) UnmarshalText(text []byte) error { return severities.UnmarshalText(text, s) }

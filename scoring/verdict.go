package scoring

import (
	"fmt"
	"strings"
)

// A Verdict is the answer of a whole matrix. It has three values, because a matrix
// with too little evidence has neither passed nor failed. The zero value is
// Inconclusive, so that an empty result is not a pass.
//
// People read PASS, FAIL and INCONCLUSIVE ([Verdict.String]); in JSON and other
// text it is lower case, as the other enumerations are ([Verdict.MarshalText]).
type Verdict uint8

// The verdicts. Fail takes precedence over Inconclusive, which takes precedence
// over Pass.
const (
	Inconclusive Verdict = iota
	Pass
	Fail
)

const allowedVerdicts = "inconclusive, pass, fail"

// String returns "PASS", "FAIL" or "INCONCLUSIVE", and "Verdict(n)" for any
// other value.
func (v Verdict) String() string {
	switch v {
	case Inconclusive:
		return "INCONCLUSIVE"
	case Pass:
		return "PASS"
	case Fail:
		return "FAIL"
	}
	return fmt.Sprintf("Verdict(%d)", uint8(v))
}

// MarshalText returns "pass", "fail" or "inconclusive", and a [*FieldError] for
// any other value.
func (v Verdict) MarshalText() ([]byte, error) {
	return marshalName("verdict", v, strings.ToLower(v.String()), v <= Fail, allowedVerdicts)
}

// UnmarshalText reads exactly what MarshalText writes. Anything else is a
// [*FieldError] and leaves v unchanged.
func (v *Verdict) UnmarshalText(text []byte) error {
	return unmarshalName("verdict", text, allowedVerdicts, v, Inconclusive, Fail)
}

// A CellState is the outcome of one cell. The zero value is CellNotRun.
type CellState uint8

// The states of a cell. Held and broken cells are decided; only they make the
// score.
const (
	CellNotRun       CellState = iota // filtered out, say by go test -run
	CellHeld                          // the invariant held
	CellBroken                        // the invariant broke
	CellInconclusive                  // it ran, and nothing could be judged: reset failed, baseline missing, watchdog
	CellUndelivered                   // its scenario has rules, and none was delivered in this cell
)

const allowedStates = "not run, held, broken, inconclusive, undelivered"

// String returns "not run", "held", "broken", "inconclusive" or "undelivered",
// and "CellState(n)" for any other value.
func (s CellState) String() string {
	switch s {
	case CellNotRun:
		return "not run"
	case CellHeld:
		return "held"
	case CellBroken:
		return "broken"
	case CellInconclusive:
		return "inconclusive"
	case CellUndelivered:
		return "undelivered"
	}
	return fmt.Sprintf("CellState(%d)", uint8(s))
}

// MarshalText returns what String returns for the five states, and a [*FieldError]
// for any other value.
func (s CellState) MarshalText() ([]byte, error) {
	return marshalName("state", s, s.String(), s <= CellUndelivered, allowedStates)
}

// UnmarshalText reads exactly what MarshalText writes. Anything else is a
// [*FieldError] and leaves s unchanged.
func (s *CellState) UnmarshalText(text []byte) error {
	return unmarshalName("state", text, allowedStates, s, CellNotRun, CellUndelivered)
}

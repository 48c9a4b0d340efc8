package scoring

import (
	"strings"

	"github.com/shakedown-go/shakedown/internal/enum"
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

var verdicts = enum.Names[Verdict]{Package: fields, Field: "verdict",
	Of: []string{Inconclusive: "inconclusive", Pass: "pass", Fail: "fail"}}

// String returns "PASS", "FAIL" or "INCONCLUSIVE", and "Verdict(n)" for any
// other value.
func (v Verdict) String() string {
	if !verdicts.Has(v) {
		return verdicts.String(v)
	}
	return strings.ToUpper(verdicts.String(v))
}

// MarshalText returns "pass", "fail" or "inconclusive", and a [*FieldError] for
// any other value.
func (v Verdict) MarshalText() ([]byte, error) { return verdicts.MarshalText(v) }

// UnmarshalText reads exactly what MarshalText writes. Anything else is a
// [*FieldError] and leaves v unchanged.
func (v *Verdict) UnmarshalText(text []byte) error { return verdicts.UnmarshalText(text, v) }

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

var cellStates = enum.Names[CellState]{Package: fields, Field: "state",
	Of: []string{"not run", "held", "broken", "inconclusive", "undelivered"}}

// String returns "not run", "held", "broken", "inconclusive" or "undelivered",
// and "CellState(n)" for any other value.
func (s CellState) String() string { return cellStates.String(s) }

// MarshalText returns what String returns for the five states, and a [*FieldError]
// for any other value.
func (s CellState) MarshalText() ([]byte, error) { return cellStates.MarshalText(s) }

// UnmarshalText reads exactly what MarshalText writes. Anything else is a
// [*FieldError] and leaves s unchanged.
func (s *CellState) UnmarshalText(text []byte) error { return cellStates.UnmarshalText(text, s) }

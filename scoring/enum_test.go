package scoring

import (
	"encoding"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEnumText(t *testing.T) {
	for _, tc := range []struct {
		value encoding.TextMarshaler
		into  encoding.TextUnmarshaler
		text  string
		print string
	}{
		{Low, new(Severity), "low", "low"},
		{Medium, new(Severity), "medium", "medium"},
		{High, new(Severity), "high", "high"},
		{Critical, new(Severity), "critical", "critical"},
		{Inconclusive, new(Verdict), "inconclusive", "INCONCLUSIVE"},
		{Pass, new(Verdict), "pass", "PASS"},
		{Fail, new(Verdict), "fail", "FAIL"},
		{CellNotRun, new(CellState), "not run", "not run"},
		{CellHeld, new(CellState), "held", "held"},
		{CellBroken, new(CellState), "broken", "broken"},
		{CellInconclusive, new(CellState), "inconclusive", "inconclusive"},
		{CellUndelivered, new(CellState), "undelivered", "undelivered"},
	} {
		text, err := tc.value.MarshalText()
		require.NoError(t, err)
		assert.Equal(t, tc.text, string(text))
		assert.Equal(t, tc.print, tc.value.(interface{ String() string }).String())
		require.NoError(t, tc.into.UnmarshalText(text))
		back, err := tc.into.(encoding.TextMarshaler).MarshalText()
		require.NoError(t, err)
		assert.Equal(t, tc.text, string(back))
	}
}

func TestEnumTextRefuses(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want string
	}{
		{new(Severity).UnmarshalText([]byte("urgent")), `scoring: severity is "urgent"; allowed: low, medium, high, critical`},
		{new(Severity).UnmarshalText([]byte("High")), `scoring: severity is "High"; allowed: low, medium, high, critical`},
		{new(Severity).UnmarshalText(nil), `scoring: severity is ""; allowed: low, medium, high, critical`},
		{new(Verdict).UnmarshalText([]byte("PASS")), `scoring: verdict is "PASS"; allowed: inconclusive, pass, fail`},
		{new(CellState).UnmarshalText([]byte("notRun")), `scoring: state is "notRun"; allowed: not run, held, broken, inconclusive, undelivered`},
	} {
		assert.EqualError(t, tc.err, tc.want)
		var field *FieldError
		assert.ErrorAs(t, tc.err, &field)
	}
	for _, bad := range []any{Severity(0), Severity(5), Verdict(3), CellState(5)} {
		_, err := json.Marshal(bad)
		var field *FieldError
		assert.ErrorAs(t, err, &field, "%v", bad)
	}
}

func TestZeroValuesClaimNothing(t *testing.T) {
	var v Verdict
	assert.NotEqual(t, Pass, v)
	var s CellState
	assert.Equal(t, CellNotRun, s)
	assert.Zero(t, Severity(0).Weight())
}

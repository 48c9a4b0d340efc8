package judge_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/invariant"
	"github.com/shakedown-go/shakedown/contract/judge"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/scoring"
)

// Whatever file Load accepts, its report can be written, read back, and shown, and its
// corrected rate is a share.
func FuzzCalibrations(f *testing.F) {
	good, err := os.ReadFile("testdata/calibration.json")
	require.NoError(f, err)
	f.Add(good)
	const rates = `"sensitivity":{"right":1,"of":1},"specificity":{"right":1,"of":1}`
	f.Add([]byte(`{"judge":"a","sample":"s","date":"2026-05-01","asked":2,` + rates + `}`))
	f.Add([]byte(`{"judge":"a","sample":"s","date":"2026-05-01","asked":1,"unsure":3,"sensitivity":{"right":1,` +
		`"of":9223372036854775807},"specificity":{"right":1,"of":9223372036854775807}}`))
	f.Add([]byte(`{"judge":"\ud800","sample":"\u0000","date":"2026-05-01","asked":2,` + rates + `,` +
		`"attacks":[{"kind":"","tried":9,"moved":3,"unsure":6}]}`))
	m := matrix(3, func(n int) string { return anAnswer(n > 1, n) },
		invariant.Judged("arrived", contract.High, sentence, says(invariant.Held, nil)))
	run, err := m.Run(f.Context(), nil)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, doc []byte) {
		path := filepath.Join(t.TempDir(), "judge.json")
		require.NoError(t, os.WriteFile(path, doc, 0o600))
		c, err := judge.Load(path)
		if err != nil {
			var field *judge.FieldError
			require.ErrorAs(t, err, &field)
			return
		}
		require.NoError(t, c.Save(path))
		again, err := judge.Load(path)
		require.NoError(t, err)
		assert.Equal(t, c, again)
		rep := *run
		rep.Judges = append([]scoring.JudgeScore(nil), run.Judges...)
		require.NoError(t, judge.Correct(&rep, c))
		if got := rep.Judges[0].Calibration; got != nil && got.Least != nil {
			assert.True(t, got.Interval.Low <= *got.Least && *got.Least <= *got.Most && *got.Most <= got.Interval.High)
			assert.True(t, got.Interval.Low >= 0 && got.Interval.High <= 1)
		}
		var file, text bytes.Buffer
		require.NoError(t, report.Write(&file, &rep, nil))
		_, err = report.Read(&file, nil)
		require.NoError(t, err)
		require.NoError(t, report.Text(&text, &rep, nil))
	})
}

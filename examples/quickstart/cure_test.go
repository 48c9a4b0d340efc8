package main

import (
	"bytes"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
)

func TestCure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := parse([]string{"-agent", fragile})
		require.NoError(t, err)
		m := s.matrix()
		r, err := m.Run(t.Context(), &contract.RunOptions{Workers: workers})
		require.NoError(t, err)
		require.NoError(t, s.explain(t.Context(), m, r, ""))
		require.NoError(t, s.cure(t.Context(), m, r))
		var b bytes.Buffer
		require.NoError(t, report.Text(&b, r, nil))
		t.Logf("%s", b.String()[bytes.Index(b.Bytes(), []byte("DEFECTS")):])
		assert.LessOrEqual(t, r.CureSearch.Runs, 3*r.SearchRuns)
	})
}

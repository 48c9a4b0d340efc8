package contract_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract"
)

func TestTextsOfShards(t *testing.T) {
	for _, text := range []string{"", "0/8", "9/8", "1/0", "a/b", "2", "2/", "/8", "02/8", "2/08", "+2/8", "-1/8", " 2/8", "2/8/1", "2 of 8", "1/99999999999999999999"} {
		s := contract.Shard{Index: 3, Count: 4}
		field := new(contract.FieldError)
		require.ErrorAs(t, s.UnmarshalText([]byte(text)), &field, text)
		assert.Equal(t, contract.Shard{Index: 3, Count: 4}, s, text)
	}
	var s contract.Shard
	require.NoError(t, s.UnmarshalText([]byte("2/8")))
	assert.Equal(t, contract.Shard{Index: 2, Count: 8}, s)
	assert.Equal(t, "2/8", s.String())
	for path, want := range map[string]string{"a.run.jsonl": "a.2of8.run.jsonl", "d.e/a": "d.e/a.2of8", "a.json": "a.2of8.json", "": ""} {
		assert.Equal(t, want, s.File(path))
		assert.Equal(t, path, contract.Shard{}.File(path))
	}
	_, err := matrix(t, tellsTime).Run(t.Context(), &contract.RunOptions{Shard: contract.Shard{Index: 9, Count: 8}})
	assert.EqualError(t, err, "contract: RunOptions.Shard is 9/8; allowed: an index from 1 to the count, such as 2/8")
}

// Shards have each unit once, and differ by one unit at most; a slow scenario is spread.
func TestShardsShareTheUnits(t *testing.T) {
	m := matrix(t, tellsTime, func(m *contract.Matrix) { m.Scenarios = append(m.Scenarios, stormy()); m.Trials = 5 })
	seen := map[string]int{}
	for index := 1; index <= 4; index++ {
		own := map[string]bool{}
		r := run(t, m, &contract.RunOptions{Shard: contract.Shard{Index: index, Count: 4}})
		for _, c := range r.Cells {
			seen[c.Cell.String()]++
			own[c.Cell.Scenario] = true
		}
		assert.Len(t, own, 2, "both scenarios")
		assert.InDelta(t, 2.5, len(r.Cells)/len(m.Invariants), .5)
	}
	assert.Len(t, seen, len(m.Cells()))
	for cell, n := range seen {
		assert.Equal(t, 1, n, cell)
	}
}

package contracttest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract"
)

func TestWhichShard(t *testing.T) {
	s, err := shardOf(&Options{}, "")
	require.NoError(t, err)
	assert.Zero(t, s, "all units")
	s, err = shardOf(&Options{}, "2/8")
	require.NoError(t, err)
	assert.Equal(t, contract.Shard{Index: 2, Count: 8}, s)
	s, err = shardOf(&Options{Shard: contract.Shard{Index: 1, Count: 2}}, "2/8")
	require.NoError(t, err)
	assert.Equal(t, 1, s.Index, "what the test says comes first")
	_, err = shardOf(&Options{}, "9/8")
	assert.EqualError(t, err, `contracttest: SHAKEDOWN_SHARD is "9/8"; allowed: an index from 1 to the count, such as 2/8`)
}

// The variables of other runners shard nothing, and are named where no shard was asked for.
func TestShardsOfOthers(t *testing.T) {
	bazel := func(name string) (string, bool) { return "4", name == "TEST_TOTAL_SHARDS" }
	r := &contract.Report{}
	noteOthersShards(r, bazel)
	require.Len(t, r.Warnings, 1)
	assert.Contains(t, r.Warnings[0], "TEST_TOTAL_SHARDS: not read")
	r = &contract.Report{Shard: contract.Shard{Index: 1, Count: 2}}
	noteOthersShards(r, bazel)
	assert.Empty(t, r.Warnings)
	noteOthersShards(r, func(string) (string, bool) { return "", false })
	assert.Empty(t, r.Warnings)
}

package contracttest

import (
	"fmt"
	"strings"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fielderror"
)

// shardOf is the shard of the options, else that of the environment. What is malformed is refused: a
// run of all units in its place would cost as much as all shards together.
func shardOf(o *Options, variable string) (shard contract.Shard, err error) {
	if o.Shard != (contract.Shard{}) || variable == "" {
		return o.Shard, nil
	}
	if err = shard.UnmarshalText([]byte(variable)); err != nil {
		err = fielderror.Package("contracttest").Wrong(shardVariable, variable, "an index from 1 to the count, such as 2/8")
	}
	return shard, err
}

// othersShards are variables by which test runners split tests among machines.
var othersShards = []string{"TEST_TOTAL_SHARDS", "GTEST_TOTAL_SHARDS", "CI_NODE_TOTAL", "CIRCLE_NODE_TOTAL"}

// noteOthersShards warns that these variables were not read: their runners have split the tests
// already, and to split again would lose cells.
func noteOthersShards(r *contract.Report, lookup func(string) (string, bool)) {
	var set []string
	for _, name := range othersShards {
		if n, is := lookup(name); is && n != "" && n != "1" { // some set 1 always
			set = append(set, name)
		}
	}
	if len(set) > 0 && r.Shard.Count == 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s: not read, since a runner that sets it splits tests, not cells; %s splits these.",
			strings.Join(set, ", "), shardVariable))
	}
}

package probe_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/shakedown-go/shakedown/chaos/experiment/probe"
)

func ExampleSLO() {
	recorded := func(context.Context) ([]probe.Sample, error) {
		return []probe.Sample{
			{Target: "orders.get", Duration: 20 * time.Millisecond},
			{Target: "orders.get", Duration: 30 * time.Millisecond},
			{Target: "orders.get", Duration: 900 * time.Millisecond},
			{Target: "orders.list", Duration: 10 * time.Millisecond},
		}, nil
	}
	level, _ := probe.SLO(recorded, probe.Objective{Target: "orders.*", Share: 0.5, Within: 300 * time.Millisecond})(context.Background())
	doc, _ := json.Marshal(level)
	fmt.Println(string(doc))
	// Output: {"calls":4,"good":3,"share":0.75,"burn":0.5,"met":true}
}

package contracttest_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/contracttest"
)

func TestZZMeasure(t *testing.T) {
	url := shop(t).URL
	for _, real := range []bool{false, true} {
		var tr func() http.RoundTripper = func() http.RoundTripper { return chaoshttp.PerWorld() }
		if real {
			tr = func() http.RoundTripper { return nil }
		}
		m := slowShop(url, tr)
		m.Scenarios = []contract.Scenario{{Name: "slow", Rules: []chaos.Rule{{Target: "GET *", Fault: fault.Delay(time.Second)}}}}
		m.Trials = 40
		s := time.Now()
		contracttest.RequirePassed(t, contracttest.Run(t, m, &contracttest.Options{RealTime: real, Workers: 2}))
		println("MEASURE real", real, time.Since(s).String())
	}
}

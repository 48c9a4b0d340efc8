package otel

import (
	"context"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaosotel"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// The names that docs/live.md has for Prometheus are those that it is served.
func TestPrometheusIsServedTheseNames(t *testing.T) {
	registry := prometheus.NewRegistry()
	reader, err := exporter.New(exporter.WithRegisterer(registry), exporter.WithoutScopeInfo(), exporter.WithoutTargetInfo())
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		faults, err := chaosotel.New(&chaosotel.Options{Meter: metric.NewMeterProvider(metric.WithReader(reader))})
		require.NoError(t, err)
		in := chaos.NewInjector(1, nil)
		require.NoError(t, in.Register(chaos.Rule{Name: "slow", Target: "payments.*", When: when.First(2), Fault: fault.Delay(time.Second)}))
		faults.Watch(in)
		for range 3 {
			_, err := chaos.Wrap("payments.refund", func(context.Context, int) (int, error) { return 1, nil })(chaos.NewContext(t.Context(), in), 1)
			require.NoError(t, err)
		}
	})
	answer := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	for _, line := range []string{
		`shakedown_faults_total{delivered="true",kind="latency",layer="point",target="payments.*"} 2`,
		`shakedown_fault_wait_seconds_sum{delivered="true",kind="latency",layer="point",target="payments.*"} 2`,
		`shakedown_armed 1`,
	} {
		assert.Contains(t, strings.Split(string(text), "\n"), line)
	}
}

package probe_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/experiment/probe"
	"github.com/shakedown-go/shakedown/chaos/fault"
)

// childMode makes this test binary a process that ends with its input.
const childMode = "SHAKEDOWN_TEST_WAIT"

func TestMain(m *testing.M) {
	if os.Getenv(childMode) == "1" {
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	os.Exit(m.Run())
}

func TestHTTPStatus(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hang" {
			<-r.Context().Done()
			return
		}
		w.WriteHeader(http.StatusTeapot)
	}))
	output, err := probe.HTTPStatus(server.URL, nil)(t.Context())
	require.NoError(t, err)
	assert.Equal(t, http.StatusTeapot, output, "an error status is an answer")

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = probe.HTTPStatus(server.URL+"/hang", server.Client())(ctx)
	assert.ErrorIs(t, err, context.DeadlineExceeded)

	server.Close()
	_, err = probe.HTTPStatus(server.URL, nil)(t.Context())
	assert.ErrorContains(t, err, "probe: ")
	_, err = probe.HTTPStatus("http://[", nil)(t.Context())
	assert.ErrorContains(t, err, "probe: ")
}

func TestTCP(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	output, err := probe.TCP(listener.Addr().String())(t.Context())
	require.NoError(t, err)
	assert.Equal(t, true, output)

	require.NoError(t, listener.Close())
	output, err = probe.TCP(listener.Addr().String())(t.Context())
	require.NoError(t, err, "refused is an answer")
	assert.Equal(t, false, output)

	_, err = probe.TCP("no address")(t.Context())
	assert.ErrorContains(t, err, "probe: ")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = probe.TCP(listener.Addr().String())(ctx)
	assert.ErrorIs(t, err, context.Canceled)
}

func TestAlive(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childMode+"=1")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	alive := probe.Alive(func() *os.Process { return cmd.Process })
	output, err := alive(t.Context())
	require.NoError(t, err)
	assert.Equal(t, true, output)
	require.NoError(t, in.Close())
	require.NoError(t, cmd.Wait())
	output, err = alive(t.Context())
	require.NoError(t, err)
	assert.Equal(t, false, output)

	output, err = probe.Alive(func() *os.Process { return nil })(t.Context())
	require.NoError(t, err)
	assert.Equal(t, false, output)
	_, err = probe.Alive(nil)(t.Context())
	assert.ErrorContains(t, err, "probe: ")
}

func TestCall(t *testing.T) {
	n := 0
	count := probe.Call(func(context.Context) (int, error) {
		if n++; n > 3 {
			return 0, errors.New("no more")
		}
		return n, nil
	})
	output, err := count(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 1, output)
	n = 3
	_, err = count(t.Context())
	assert.EqualError(t, err, "no more")
}

func TestSLO(t *testing.T) {
	samples := []probe.Sample{
		{"db.read", 10 * time.Millisecond, false}, {"db.read", 20 * time.Millisecond, false},
		{"db.write", 300 * time.Millisecond, false}, {"mail", time.Millisecond, true},
	}
	source := func(context.Context) ([]probe.Sample, error) { return samples, nil }
	for _, tc := range []struct {
		o    probe.Objective
		want string
	}{
		{probe.Objective{Share: 0.75}, `{"calls":4,"good":3,"share":0.75,"burn":1,"met":true}`},
		{probe.Objective{Share: 0.75, Within: 100 * time.Millisecond}, `{"calls":4,"good":2,"share":0.5,"burn":2,"met":false}`},
		{probe.Objective{Share: 0.5, Within: 20 * time.Millisecond, Target: "db.*"}, `{"calls":3,"good":2,"share":0.6666666666666666,"burn":0.6666666666666666,"met":true}`},
		{probe.Objective{Share: 0.5, Target: "nothing"}, `{"calls":0,"good":0,"share":null,"burn":null,"met":null}`},
	} {
		output, err := probe.SLO(source, tc.o)(t.Context())
		require.NoError(t, err)
		doc, err := json.Marshal(output)
		require.NoError(t, err)
		assert.JSONEq(t, tc.want, string(doc))
	}
	for _, o := range []probe.Objective{{}, {Share: 1}, {Share: math.NaN()}, {Share: 0.5, Within: -1}, {Share: 0.5, Target: "["}} {
		_, err := probe.SLO(source, o)(t.Context())
		assert.ErrorContains(t, err, "probe: ")
	}
	_, err := probe.SLO(func(context.Context) ([]probe.Sample, error) { return nil, errors.New("gone") }, probe.Objective{Share: 0.5})(t.Context())
	assert.EqualError(t, err, "probe: samples: gone")
	_, err = probe.SLO(nil, probe.Objective{Share: 0.5})(t.Context())
	assert.Error(t, err)
}

func TestEventsOfAnInjectorAreSamples(t *testing.T) {
	in := chaos.NewInjector(1, &chaos.InjectorOptions{RecordAll: true})
	require.NoError(t, in.Register(chaos.Rule{Target: "db", Limit: 1, Fault: fault.Fail(fault.ErrUnavailable)}))
	ctx := chaos.NewContext(t.Context(), in)
	for range 4 {
		_ = chaos.Point(ctx, "db")
	}
	samples, err := probe.Events(in)(t.Context())
	require.NoError(t, err)
	var failed []bool
	for _, s := range samples {
		assert.Equal(t, "db", s.Target)
		failed = append(failed, s.Failed)
	}
	assert.Equal(t, []bool{true, false, false, false}, failed)
	_, err = probe.Events(nil)(t.Context())
	assert.Error(t, err)
}

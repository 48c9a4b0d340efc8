package contracttest_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/contracttest"
)

// These tests hold what docs/worlds.md says of networks and signals, each with
// a real server.

// shop is a real server, outside of any cell.
func shop(t testing.TB) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "shipped") }))
	t.Cleanup(s.Close)
	return s
}

// fetch reads an answer to its end.
func fetch(ctx context.Context, client *http.Client, url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.ReadAll(resp.Body)
	return err
}

// slowShop is a matrix whose agent asks a real server three times. In the second
// scenario each answer takes an hour.
func slowShop(url string, transport func() http.RoundTripper) *contract.Matrix {
	return &contract.Matrix{
		NewWorld: func(context.Context) (*contract.World, error) {
			client := &http.Client{Transport: chaoshttp.NewTransport(transport(), nil)}
			return &contract.World{Agent: func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
				for range 3 {
					if err := fetch(ctx, client, url); err != nil {
						return "", err
					}
				}
				return "shipped", nil
			}}, nil
		},
		Prompts:    []string{"go"},
		Points:     []string{"GET *"},
		Invariants: []contract.Invariant{{Name: "done", Severity: contract.High, Check: func(context.Context, *contract.Observation) error { return nil }}},
		Scenarios: []contract.Scenario{contract.Calm(),
			{Name: "slow", Rules: []chaos.Rule{{Target: "GET *", Fault: fault.Delay(time.Hour)}}}},
		Trials: 20,
	}
}

func TestRealServersInVirtualTime(t *testing.T) {
	m := slowShop(shop(t).URL, func() http.RoundTripper { return chaoshttp.PerWorld() })
	r := contracttest.Run(t, m, &contracttest.Options{KeepAll: true})
	contracttest.AssertPassed(t, r)
	require.Len(t, r.Cells, 40)
	assert.Equal(t, 0*time.Hour, r.Cells[0].Elapsed, "what the server takes is not in the time of a cell")
	assert.Equal(t, 3*time.Hour, r.Cells[39].Elapsed)
}

// TestChildSharesTheDefaultTransport: the agent hides the error, so that its answer
// alone would hold.
func TestChildSharesTheDefaultTransport(t *testing.T) {
	onlyInChild(t)
	m := slowShop(shop(t).URL, func() http.RoundTripper { return nil })
	changeWorld(m, func(w *contract.World) {
		inner := w.Agent
		w.Agent = func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
			_, _ = inner(ctx, prompt, tools)
			return "shipped", nil
		}
	})
	m.Trials = 1
	for _, c := range contracttest.Run(t, m, nil).Cells {
		t.Logf("the cell is %v: %s", c.State, c.Why)
	}
}

func TestSharedTransportMakesItsCellsInconclusive(t *testing.T) {
	out, failed := child(t, "^TestChildSharesTheDefaultTransport$")
	assert.True(t, failed, "nothing was tested")
	assert.Equal(t, 2, strings.Count(out, "the cell is inconclusive: chaoshttp: http.DefaultTransport cannot be used in virtual time, because all "+
		"cells share its connections: give each world a transport of its own, such as chaoshttp.PerWorld(); see docs/worlds.md, idle connections\n"), out)
}

func TestSharedTransportInRealTime(t *testing.T) {
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	m := slowShop(shop(t).URL, func() http.RoundTripper { return nil })
	m.Scenarios, m.Trials = m.Scenarios[:1], 1
	contracttest.AssertPassed(t, contracttest.Run(t, m, &contracttest.Options{RealTime: true}))
}

// TestNetworksInVirtualTime: what a cell may do with real connections.
func TestNetworksInVirtualTime(t *testing.T) {
	modern, roots := dated(t)
	plain := shop(t)
	began := time.Now()
	for name, what := range map[string]func(context.Context) error{
		"idle connections, closed before the wait": func(ctx context.Context) error {
			client := &http.Client{Transport: &http.Transport{}}
			if err := fetch(ctx, client, plain.URL); err != nil {
				return err
			}
			client.CloseIdleConnections()
			time.Sleep(time.Hour)
			return nil
		},
		"a server of the cell, closed before the wait": func(ctx context.Context) error {
			server := httptest.NewServer(http.NotFoundHandler())
			err := fetch(ctx, &http.Client{Transport: chaoshttp.PerWorld()}, server.URL)
			server.Close()
			time.Sleep(time.Hour)
			return err
		},
		"host names, by a transport per world": func(ctx context.Context) error {
			_, port, err := net.SplitHostPort(plain.Listener.Addr().String())
			client := &http.Client{Transport: chaoshttp.PerWorld()}
			for i := 0; i < 100 && err == nil; i++ { // often, so that lookups of several cells overlap
				err = fetch(ctx, client, "http://localhost:"+port)
			}
			return err
		},
		"a certificate of today is not valid yet, unless the transport is told the time": func(ctx context.Context) error {
			transport := chaoshttp.PerWorld()
			transport.TLSClientConfig = &tls.Config{RootCAs: roots}
			var invalid x509.CertificateInvalidError
			if err := fetch(ctx, &http.Client{Transport: transport}, modern.URL); !errors.As(err, &invalid) || invalid.Reason != x509.Expired {
				return fmt.Errorf("the certificate was accepted in the year 2000: %v", err)
			}
			transport = chaoshttp.PerWorld()
			transport.TLSClientConfig = &tls.Config{RootCAs: roots, Time: func() time.Time { return began }}
			return fetch(ctx, &http.Client{Transport: transport}, modern.URL)
		},
		"signal.Notify and NotifyContext": func(ctx context.Context) error {
			c := make(chan os.Signal, 1)
			signal.Notify(c, os.Interrupt)
			defer signal.Stop(c)
			ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
			defer stop()
			select {
			case <-ctx.Done():
			case <-time.After(time.Hour):
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := doing(what)
			m.Trials = 4
			contracttest.AssertPassed(t, contracttest.Run(t, m, &contracttest.Options{Workers: 4, Watchdog: 20 * time.Second}))
		})
	}
}

// dated is a server whose certificate is valid from today, and its roots.
func dated(t *testing.T) (*httptest.Server, *x509.CertPool) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "shop"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	require.NoError(t, err)
	parsed, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: private}}}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server, roots
}

// TestChildHoldsTheClock: each of these keeps the clock of its cell from moving while
// the agent waits.
func TestChildHoldsTheClock(t *testing.T) {
	onlyInChild(t)
	server := shop(t)
	for name, what := range map[string]func(context.Context) error{
		"an idle connection": func(ctx context.Context) error {
			return fetch(ctx, &http.Client{Transport: &http.Transport{}}, server.URL)
		},
		"a listener": func(context.Context) error { httptest.NewServer(http.NotFoundHandler()); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			for _, waits := range []time.Duration{0, time.Hour} {
				m := doing(func(ctx context.Context) error {
					err := what(ctx)
					time.Sleep(waits)
					return err
				})
				m.Trials = 1
				m.AllowInconclusive = 1
				r := contracttest.Run(t, m, &contracttest.Options{Watchdog: 1500 * time.Millisecond, FailOn: contract.Critical})
				t.Logf("%s, then %v: %v: %s", name, waits, r.Cells[0].State, r.Cells[0].Why)
			}
		})
	}
}

func TestWhatHoldsTheClockIsNamed(t *testing.T) {
	out, _ := child(t, "^TestChildHoldsTheClock$")
	for name, row := range map[string]string{
		"an idle connection": `started by net/http\.\(\*Transport\)\.dialConn \(transport\.go:\d+\)`,
		"a listener":         `started by net/http/httptest\.\(\*Server\)\.goServe \(server\.go:\d+\)`,
	} {
		assert.Regexp(t, name+`, then 0s: broken: the agent or its world left goroutines behind: .*IO wait, `+row, out)
		assert.Regexp(t, name+`, then 1h0m0s: inconclusive: the watchdog gave up after 1.5s of real time, while the agent was answering; `+
			`what kept the clock from moving: .*IO wait, `+row, out)
	}
}

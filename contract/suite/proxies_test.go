package suite_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/shakedown-go/shakedown/contract"
)

// desk is a server of tools. What it has done is the oracle: it knows nothing of proxies.
type desk struct {
	*httptest.Server
	mu      sync.Mutex
	refunds []string
	asked   []string
	serve   http.HandlerFunc // other paths
	broken  atomic.Bool      // the state cannot be had
}

func newDesk(t *testing.T) *desk {
	d := &desk{}
	d.Server = httptest.NewServer(d)
	t.Cleanup(d.Server.Close)
	return d
}

func (d *desk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/echo" || d.serve != nil && r.URL.Path == "/own" {
		d.serve(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = append(d.asked, r.Method+" "+r.URL.RequestURI())
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/refund":
		var in struct{ Order string }
		_ = json.Unmarshal(body, &in)
		d.refunds = append(d.refunds, in.Order)
		fmt.Fprintf(w, `{"id": "R-%d", "amount": 12.5}`, len(d.refunds))
	case "/reset":
		d.refunds = nil
	case "/state":
		if d.broken.Load() {
			http.Error(w, "the ledger is locked", http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"refunds": append([]string{}, d.refunds...)})
	default:
		_, _ = io.WriteString(w, `{"found": true}`)
	}
}

// done is what the desk did since it was last asked.
func (d *desk) done() (refunds, asked []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	refunds, asked = d.refunds, d.asked
	d.refunds, d.asked = nil, nil
	return refunds, asked
}

// proxiedShop is a suite whose agent is a function behind HTTP, with a desk behind a proxy.
type proxiedShop struct {
	*desk
	text   string
	proxy  string // its address
	client *http.Client
}

// shopBehindProxy makes the suite. The agent calls the desk through the proxy with a client of its own,
// which keeps its connections.
func shopBehindProxy(t *testing.T, invariants, scenarios string, agent func(s *proxiedShop) (string, error)) *proxiedShop {
	s := &proxiedShop{desk: newDesk(t), proxy: freeAddress(t), client: &http.Client{Transport: &http.Transport{}}}
	t.Cleanup(s.client.CloseIdleConnections)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		answer, err := agent(s)
		if err != nil {
			answer = "It failed: " + err.Error()
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"output": answer})
	}))
	t.Cleanup(server.Close)
	s.text = contractOf(invariants, scenarios) + `agent:
  endpoint: ` + server.URL + `
  reset_endpoint: ` + s.URL + `/reset
  proxies: [{listen: '` + s.proxy + `', to: '` + s.URL + `', point: desk, paths: {/refund: payments.refund, /v1/chat/completions: brain}}]
  tools: [{name: payments.refund, effect: done, idempotencyKey: /key}]
  state: {url: '` + s.URL + `/state'}
`
	return s
}

// verifyNoLeaks fails a test that leaves goroutines behind, after its other cleanups.
func verifyNoLeaks(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
}

func freeAddress(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// refund asks for a refund once.
func (s *proxiedShop) refund(body string) (string, error) {
	answer, err := s.client.Post("http://"+s.proxy+"/refund", "application/json", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s", answer.Status)
	}
	return string(text), err
}

// stubborn asks for a refund until it gets an answer.
func stubborn(s *proxiedShop) (answer string, err error) {
	for range 3 {
		if answer, err = s.refund(`{"order": "1042"}`); err == nil {
			return "Refunded: " + answer, nil
		}
	}
	return "", err
}

func (s *proxiedShop) run(t *testing.T, o *contract.RunOptions) *contract.Report {
	t.Helper()
	if o == nil {
		o = &contract.RunOptions{Keep: contract.KeepAll}
	}
	for _, m := range loaded(t, s.text, nil).Matrices(nil) {
		r, err := m.Run(t.Context(), o)
		require.NoError(t, err)
		return r
	}
	return nil
}

// What the desk did decides what a cell may say.
func TestFaultsThroughProxies(t *testing.T) {
	verifyNoLeaks(t)
	const twice, once, unchanged = "{type: no_duplicate_effects, severity: critical}", "{type: completes}", "{type: state_unchanged}"
	for _, row := range []struct {
		why, invariant, scenario string
		agent                    func(*proxiedShop) (string, error)
		refunds                  int // that the desk made in the cell
		state                    contract.CellState
		says                     string
	}{
		{"a lost reply, and an agent that tries again", twice,
			"{name: lost, rules: [{target: payments.refund, limit: 1, fault: {kind: lost_reply, params: {duration: 10ms}}}]}", stubborn, 2,
			contract.Broken, "the effect of payments.refund was done 2 times for equal arguments"},
		{"another key does not make it another refund", twice,
			"{name: lost, rules: [{target: payments.refund, limit: 1, fault: {kind: lost_reply, params: {duration: 10ms}}}]}",
			func(s *proxiedShop) (string, error) {
				_, _ = s.refund(`{"order": "1042", "key": "a"}`)
				return s.refund(`{"order": "1042", "key": "b"}`)
			}, 2, contract.Broken, "done 2 times"},
		{"one key does", twice,
			"{name: lost, rules: [{target: payments.refund, limit: 1, fault: {kind: lost_reply, params: {duration: 10ms}}}]}",
			func(s *proxiedShop) (string, error) {
				_, _ = s.refund(`{"order": "1042", "key": "a"}`)
				return s.refund(`{"order": "1042", "key": "a"}`)
			}, 2, contract.Held, ""},
		{"two refunds that were asked for", twice, "{name: slow, tool_faults: [{tool: '*', mode: slow, delay_ms: 5}]}",
			func(s *proxiedShop) (string, error) {
				_, _ = s.refund(`{"order": "1042"}`)
				return s.refund(`{"order": "1043"}`)
			}, 2, contract.Held, ""},
		{"an outage never reaches the desk", twice, "{name: outage, tool_faults: [{tool: '*', mode: error, error_code: 503}]}", stubborn, 0,
			contract.Held, ""},
		{"the connection is reset", once, "{name: reset, rules: [{target: payments.refund, fault: {kind: http_reset}}]}", stubborn, 0, contract.Held, ""},
		{"a lie in the body", "{type: contains, value: '\"amount\": 12.5'}",
			"{name: lie, rules: [{target: payments.refund, fault: {kind: flipped_sign, params: {paths: [$.amount]}}}]}", stubborn, 1,
			contract.Broken, ""},
		{"the state has the refund", unchanged, "{name: slow, tool_faults: [{tool: payments.refund, mode: slow, delay_ms: 5}]}", stubborn, 1,
			contract.Broken, "refunds"},
		{"an agent that does not go through the proxy", once, "{name: outage, tool_faults: [{tool: payments.refund, mode: error}]}",
			func(s *proxiedShop) (string, error) {
				s.proxy = s.Listener.Addr().String()
				return s.refund(`{"order": "1042"}`)
			}, 1, contract.Undelivered, ""},
		{"a fault of another path", once, "{name: outage, rules: [{target: desk, fault: {kind: http_status, params: {code: 500}}}]}", stubborn, 1,
			contract.Undelivered, ""},
		{"the model is no tool", once, "{name: outage, tool_faults: [{tool: '*', mode: error}]}", func(s *proxiedShop) (string, error) {
			answer, err := s.client.Post("http://"+s.proxy+"/v1/chat/completions", "application/json", strings.NewReader(`{"model": "m"}`))
			if err != nil || answer.StatusCode != http.StatusOK {
				return "", fmt.Errorf("%v %v", answer, err)
			}
			return "", answer.Body.Close()
		}, 0, contract.Undelivered, ""},
	} {
		t.Run(row.why, func(t *testing.T) {
			s := shopBehindProxy(t, row.invariant, row.scenario, row.agent)
			r := s.run(t, nil)
			refunds, _ := s.done()
			assert.Len(t, refunds, row.refunds)
			require.Len(t, r.Cells, 1)
			assert.Equal(t, row.state, r.Cells[0].State, "%s", r.Cells[0].Why)
			assert.Contains(t, r.Cells[0].Why, row.says)
		})
	}
}

// Requests between cells do not reach the desk, whatever the agent does, and are not silent.
func TestLateRequests(t *testing.T) {
	var late sync.WaitGroup
	var statuses sync.Map
	s := shopBehindProxy(t, "{type: completes}", "{name: calm}\n{name: slow, tool_faults: [{tool: payments.refund, mode: slow, delay_ms: 1}]}",
		func(s *proxiedShop) (string, error) {
			_, err := s.refund(`{"order": "1042"}`)
			return "done", err
		})
	// The reset asks through the proxy: no cell is under way.
	s.text = strings.Replace(s.text, s.URL+"/reset", s.URL+"/own", 1)
	s.serve = func(w http.ResponseWriter, _ *http.Request) {
		late.Add(1)
		defer late.Done()
		for range 20 { // on one connection, which the agent uses again
			_, err := s.refund(`{"order": "late"}`)
			statuses.Store(fmt.Sprint(err), true)
		}
		w.WriteHeader(http.StatusNoContent)
	}
	r := s.run(t, nil)
	late.Wait()
	refunds, _ := s.done()
	assert.Equal(t, []string{"1042", "1042"}, refunds)
	statuses.Range(func(status, _ any) bool {
		return assert.Equal(t, "503 Service Unavailable", status, "an answer, and no reset of the connection")
	})
	assert.Contains(t, strings.Join(r.Warnings, "\n"),
		"40 requests came to the proxies when no cell was under way and got 503, after the beginning of the run (20), calm/1 (20)")
	for _, c := range r.Cells {
		assert.Equal(t, contract.Held, c.State, c.Why)
	}
}

// A request that is under way when its cell ends, ends with it, and touches no other cell.
func TestRequestsEndWithTheirCell(t *testing.T) {
	var first atomic.Bool
	ended := make(chan error, 1)
	s := shopBehindProxy(t, "{type: completes}", "{name: slow, tool_faults: [{tool: payments.refund, mode: slow, delay_ms: 3600000}]}\n{name: calm}",
		func(s *proxiedShop) (string, error) {
			if first.CompareAndSwap(false, true) {
				sent := make(chan struct{})
				go func() {
					r, _ := http.NewRequest(http.MethodPost, "http://"+s.proxy+"/refund", announced{strings.NewReader("{}"), sync.OnceFunc(func() { close(sent) })})
					answer, err := s.client.Do(r)
					if err == nil {
						answer.Body.Close()
						err = fmt.Errorf("%s", answer.Status)
					}
					ended <- err
				}()
				<-sent
			}
			return "done", nil
		})
	r := s.run(t, nil)
	refunds, _ := s.done()
	assert.Empty(t, refunds)
	assert.Equal(t, contract.Held, r.Cells[1].State)
	if err := <-ended; assert.Error(t, err, "the request of the first cell") {
		assert.NotContains(t, err.Error(), "200")
	}
}

// announced is a body that says that it was read.
type announced struct {
	io.Reader
	read func()
}

func (a announced) Read(p []byte) (int, error) {
	n, err := a.Reader.Read(p)
	if err != nil {
		a.read()
	}
	return n, err
}

// The faults are those of the cell, over connections that the agent keeps.
func TestConnectionsAcrossCells(t *testing.T) {
	s := shopBehindProxy(t, "{type: excludes_pattern, patterns: [failed]}",
		"{name: outage, tool_faults: [{tool: payments.refund, mode: error}]}\n{name: calm}", stubborn)
	s.text += "trials: 5\n"
	r := s.run(t, &contract.RunOptions{Workers: 8})
	for _, c := range r.Cells {
		assert.Equal(t, c.Cell.Scenario == "outage", c.State == contract.Broken, "%v: %s", c.Cell, c.Why)
	}
	refunds, _ := s.done()
	assert.Len(t, refunds, 1, "reset before each cell")
}

// The answers of a cell are one cell: its calls are counted on, from prompt to prompt.
func TestPromptsOfACell(t *testing.T) {
	s := shopBehindProxy(t, "{type: completes}",
		"{name: second, rules: [{target: payments.refund, when: {kind: nth, params: {n: [2]}}, fault: {kind: http_status, params: {code: 503}}}]}",
		func(s *proxiedShop) (string, error) { return s.refund("{}") })
	s.text = strings.Replace(s.text, `["Refund order 1042"]`, "[a, b, c]", 1)
	r := s.run(t, nil)
	var answers []string
	for _, o := range r.Cells[0].Observations() {
		answers = append(answers, o.Response)
	}
	assert.Equal(t, []string{`{"id": "R-1", "amount": 12.5}`, "It failed: 503 Service Unavailable", `{"id": "R-2", "amount": 12.5}`}, answers)
}

func TestRequestsAtOnce(t *testing.T) {
	const many = 40
	s := shopBehindProxy(t, "{type: completes}", "{name: some, rules: [{target: payments.refund, when: {kind: every, params: {n: 4}}, fault: {kind: http_status, params: {code: 503}}}]}",
		func(s *proxiedShop) (string, error) {
			var all sync.WaitGroup
			var failed atomic.Int32
			for i := range many {
				all.Go(func() {
					if _, err := s.refund(fmt.Sprintf(`{"order": "%d"}`, i)); err != nil {
						failed.Add(1)
					}
				})
			}
			all.Wait()
			return fmt.Sprint(failed.Load()), nil
		})
	r := s.run(t, nil)
	refunds, _ := s.done()
	assert.Equal(t, many-many/4, len(refunds))
	assert.Equal(t, "10", r.Cells[0].Evidence.Response)
	assert.Equal(t, many/4, r.Cells[0].Delivered)
}

// What passes, passes as it is: long bodies, events as they come, queries, statuses.
func TestWhatPasses(t *testing.T) {
	long := bytes.Repeat([]byte("0123456789abcdef"), 1<<19)
	read := make(chan struct{})
	s := shopBehindProxy(t, "{type: completes}", "{name: slow, rules: [{target: desk, fault: {kind: latency, params: {distribution: fixed, duration: 1ms}}}]}",
		func(s *proxiedShop) (string, error) {
			var problems []error
			check := func(ok bool, what string) {
				if !ok {
					problems = append(problems, errors.New(what))
				}
			}
			answer, err := s.client.Post("http://"+s.proxy+"/echo?how=long&%%", "application/octet-stream", bytes.NewReader(long))
			if err != nil {
				return "", err
			}
			sum := sha256.New()
			_, err = io.Copy(sum, answer.Body)
			answer.Body.Close()
			check(err == nil && bytes.Equal(sum.Sum(nil), sha256Of(long)), "long bodies")
			check(answer.StatusCode == http.StatusTeapot && answer.Header.Get("X-Query") == "how=long&%%", "status and query: "+answer.Header.Get("X-Query"))

			if answer, err = s.client.Get("http://" + s.proxy + "/own"); err != nil {
				return "", err
			}
			lines := bufio.NewScanner(answer.Body)
			for i := range 3 {
				for lines.Scan() && lines.Text() != fmt.Sprintf("data: %d", i) {
				}
				check(lines.Err() == nil, "events")
				read <- struct{}{} // the desk sends no other before
			}
			answer.Body.Close()

			for _, path := range []string{"/echo", "/refund"} { // past a fault, and where no rule matches
				if answer, err = s.client.Post("http://"+s.proxy+path, "text/plain", strings.NewReader("{}")); err != nil {
					return "", err
				}
				answer.Body.Close()
				types, has := answer.Header["Content-Type"]
				check(has == (path == "/refund"), fmt.Sprint("types of content of ", path, ": ", types))
			}

			r, _ := http.NewRequest(http.MethodGet, "http://"+s.proxy+"/own", http.NoBody)
			r.Header.Set("Connection", "Upgrade")
			r.Header.Set("Upgrade", "websocket")
			answer, err = s.client.Do(r)
			if err != nil {
				return "", err
			}
			answer.Body.Close()
			check(answer.StatusCode == http.StatusNotImplemented, "an upgrade")
			return "passed", errors.Join(problems...)
		})
	s.serve = func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/echo" {
			_ = http.NewResponseController(w).EnableFullDuplex() // both bodies are under way at once
			w.Header().Set("X-Query", r.URL.RawQuery)
			w.Header()["Content-Type"] = nil
			w.WriteHeader(http.StatusTeapot)
			_, _ = io.Copy(w, r.Body)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			fmt.Fprintf(w, "data: %d\n\n", i)
			_ = http.NewResponseController(w).Flush()
			select {
			case <-read:
			case <-r.Context().Done():
				return
			}
		}
	}
	r := s.run(t, nil)
	assert.Equal(t, "passed", r.Cells[0].Evidence.Response)
	assert.Equal(t, contract.Held, r.Cells[0].State, r.Cells[0].Why)
}

func sha256Of(data []byte) []byte {
	sum := sha256.Sum256(data)
	return sum[:]
}

// What says nothing about the agent makes its cell inconclusive, with the reason.
func TestWhatIsNotTheAgents(t *testing.T) {
	for _, row := range []struct {
		why, invariant string
		change         func(s *proxiedShop)
		says           []string
	}{
		{"the state cannot be had", "{type: state_unchanged}", func(s *proxiedShop) { s.broken.Store(true) }, []string{"/state answered 500", "the ledger is locked"}},
		{"nobody is the agent", "{type: no_duplicate_effects}", func(s *proxiedShop) {
			s.text = regexp.MustCompile(`endpoint: .*`).ReplaceAllString(s.text, "endpoint: http://127.0.0.1:1/")
			s.text = strings.Replace(s.text, "reset_endpoint: http://127.0.0.1:1/", "reset_endpoint: "+s.URL+"/reset", 1)
		}, []string{"contract: undecided: the agent was not reached: ", "dial tcp 127.0.0.1:1"}},
		{"nobody is behind the proxy", "{type: completes}", func(s *proxiedShop) {
			s.text = strings.Replace(s.text, "to: '"+s.URL, "to: 'http://127.0.0.1:1", 1)
		}, []string{"s.yaml:12:45:", `agent/proxies/0/to is "http://127.0.0.1:1": dial tcp 127.0.0.1:1`, "; allowed: a server that answers"}},
	} {
		t.Run(row.why, func(t *testing.T) {
			s := shopBehindProxy(t, row.invariant, calmly, stubborn)
			row.change(s)
			r := s.run(t, nil)
			assert.Equal(t, contract.Inconclusive, r.Cells[0].State)
			for _, text := range row.says {
				assert.Contains(t, r.Cells[0].Why, text)
			}
		})
	}
}

// An address at which somebody listens is an error that names the field. Listeners close with
// each run, and so they do after that error.
func TestAddressesOfARun(t *testing.T) {
	verifyNoLeaks(t)
	s := shopBehindProxy(t, "{type: completes}", calmly, stubborn)
	other := freeAddress(t)
	s.text = strings.Replace(s.text, "proxies: [", "proxies: [{listen: '"+other+"', to: 'http://127.0.0.1:1', point: other}, ", 1)
	for range 3 {
		s.run(t, nil)
	}
	taken, err := net.Listen("tcp", s.proxy)
	require.NoError(t, err, "the run has left it")
	defer taken.Close()
	for _, m := range loaded(t, s.text, nil).Matrices(nil) {
		_, err := m.Run(t.Context(), nil)
		require.ErrorContains(t, err, "agent/proxies/1/listen is \""+s.proxy+"\": listen tcp "+s.proxy)
		_, err = m.Runner(t.Context(), nil)
		require.Error(t, err)
		taken.Close()
		runner, err := m.Runner(t.Context(), nil)
		require.NoError(t, err)
		result, err := runner.Run(t.Context(), contract.Cell{Scenario: "calm", Invariant: "completes", Trial: 1}, nil)
		require.NoError(t, err)
		assert.Equal(t, contract.Held, result.Cells[0].State)
		runner.Close()
	}
	free, err := net.Listen("tcp", other)
	require.NoError(t, err)
	free.Close()
}

//lint:file-ignore SA1019 log messages are deprecated, and what the runners that follow faults listen to

package mcpadapter

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/mcpadapter/policy"
	"github.com/shakedown-go/shakedown/mcpadapter/policy/auditlog"
)

// auditOf reads lines of audit, none of which may be torn.
func auditOf(t *testing.T, text string) []map[string]any {
	t.Helper()
	whole, torn := auditLines(text)
	require.Zero(t, torn)
	return whole
}

// auditLines reads the whole lines of an audit log, and counts the torn ones.
func auditLines(text string) (whole []map[string]any, torn int) {
	for line := range strings.Lines(text) {
		var members map[string]any
		if json.Unmarshal([]byte(line), &members) != nil {
			torn++
			continue
		}
		whole = append(whole, members)
	}
	return whole, torn
}

// Calls and faults are one stream, in order: what a call began stands behind its
// first line, and each line of a call has the client's own identifier.
func TestOneStreamOfLines(t *testing.T) {
	s := newShop(t)
	var audit lines
	srv := serverOf(t, s.host, &Options{Policy: &policy.Options{Audit: &audit}})
	base, client := listen(t, srv)
	for name, era := range eras(base, client) {
		if name == "server-sent events" {
			continue // the SDK does not pass on what belongs to one message
		}
		c := connect(t, era, nil)
		answer[injectOutput](t, c, "chaos_inject_fault", `{"fault_name":"f","action":"register","fault_type":"error","probability":1,"target":"orders.*"}`)
		require.True(t, callFails(s))
		answer[injectOutput](t, c, "chaos_inject_fault", `{"fault_name":"f","action":"remove"}`)
	}
	require.NoError(t, srv.Shutdown(t.Context()))
	began := make(map[any]bool)
	for _, line := range auditOf(t, audit.String()) {
		switch line["event"] {
		case "mcp.tool_call.started":
			began[line["request_id"]] = true
		case "mcp.tool_call.completed":
			require.Contains(t, began, line["request_id"], "a call that writes has a line before it")
			delete(began, line["request_id"])
		}
	}
	assert.Empty(t, began, "each has one of its end")
	assert.Equal(t, 3, strings.Count(audit.String(), `"event":"chaos.fault.delivered"`))
}

// full is a disk that is full until it is not.
type full struct {
	lines
	isFull atomic.Bool
}

func (f *full) Write(p []byte) (int, error) {
	if f.isFull.Load() {
		return 0, syscall.ENOSPC
	}
	return f.lines.Write(p)
}

// Without an audit log nothing can be changed. Reading still works, and reports
// the problem.
func TestAFullDiskStopsWrites(t *testing.T) {
	s := newShop(t)
	audit := new(full)
	srv := serverOf(t, s.host, &Options{Policy: &policy.Options{Audit: audit}})
	base, client := listen(t, srv)
	c := clientOf(t, srv, nil)
	check := func(path string) int {
		res, err := client.Get(base + path)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		return res.StatusCode
	}
	const register = `{"fault_name":"f","action":"register","fault_type":"error"}`
	require.Equal(t, 200, check("/healthz"))
	audit.isFull.Store(true)
	res := ask(t, c, "chaos_inject_fault", register) // holds the answer against the output schema
	require.True(t, res.IsError)
	assert.Contains(t, textIn(t, res), `"status":503,"code":"audit_unavailable"`)
	structured, err := json.Marshal(res.StructuredContent)
	require.NoError(t, err)
	assert.Contains(t, string(structured), `"status":"error"`, "the tool's own output has a status")
	assert.Contains(t, string(structured), `"code":"audit_unavailable"`, "and the envelope beside it")
	assert.Empty(t, s.host.Injector.Rules(), "nothing was changed")
	status := answer[statusOutput](t, c, "chaos_status", `{}`)
	assert.Contains(t, status.AuditProblem, "no space left")
	assert.Equal(t, 503, check("/healthz"))
	assert.Equal(t, 200, check("/livez"), "a restart would not make room")
	audit.isFull.Store(false)
	assert.Equal(t, 200, check("/healthz"), "although nobody called: who is not ready is not called")
	answer[injectOutput](t, c, "chaos_inject_fault", register)
	assert.Empty(t, answer[statusOutput](t, c, "chaos_status", `{}`).AuditProblem)
	assert.Contains(t, audit.String(), `"event":"mcp.audit.lost","lines":3}`, "the refused call has two, and the look one")
}

// A process that is killed leaves at most its last line torn.
func TestAKilledProcessLeavesWholeLines(t *testing.T) {
	for kill := range 5 {
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		file, err := auditlog.Open(path)
		require.NoError(t, err)
		cmd := child(t)
		cmd.Stderr = file
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		go func() {
			_, _ = fmt.Fprintln(in, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
			_, err := fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			for i := 1; err == nil; i++ {
				_, err = fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"chaos_inject_fault","arguments":{"fault_name":"f","action":"remove"}}}`+"\n", i)
			}
		}()
		for {
			info, err := os.Stat(path)
			require.NoError(t, err)
			if info.Size() > int64(1000*(kill+1)) {
				break
			}
		}
		require.NoError(t, cmd.Process.Kill())
		var killed *exec.ExitError
		require.ErrorAs(t, cmd.Wait(), &killed)
		require.NoError(t, file.Close())
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		whole, torn := auditLines(string(text))
		assert.NotEmpty(t, whole)
		assert.LessOrEqual(t, torn, 1)

		// However the last line was torn, the next process writes whole lines.
		last := len(text) - 1 - bytes.LastIndexByte(text[:len(text)-1], '\n')
		require.NoError(t, os.Truncate(path, int64(len(text)-1-last/2)))
		file, err = auditlog.Open(path)
		require.NoError(t, err)
		gate, err := policy.New(&policy.Options{Audit: file})
		require.NoError(t, err)
		gate.Record(t.Context(), "next.process")
		require.NoError(t, file.Close())
		text, err = os.ReadFile(path)
		require.NoError(t, err)
		whole, torn = auditLines(string(text))
		assert.Equal(t, 1, torn)
		assert.Equal(t, "next.process", whole[len(whole)-1]["event"])
	}
}

// certificate writes a certificate of its own making for 127.0.0.1.
func certificate(t *testing.T) (pool *x509.CertPool, files TLS) {
	t.Helper()
	dir := t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	files = TLS{CertFile: filepath.Join(dir, "cert.pem"), KeyFile: filepath.Join(dir, "key.pem")}
	require.NoError(t, os.WriteFile(files.CertFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(t, os.WriteFile(files.KeyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
	pool = x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	return pool, files
}

// A server with a certificate speaks https alone, to who has a token of the file.
func TestACertificate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	token, hash := policy.NewToken()
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, "version: 1\ntokens:\n  - {subject: one, scopes: [chaos:read], hash: %q}\n", hash), 0o600))
	pool, files := certificate(t)
	srv := serverOf(t, newShop(t).host, &Options{Policy: &policy.Options{Audit: io.Discard}, TLS: &files, Getenv: func(name string) string {
		return map[string]string{"SHAKEDOWN_MCP_TOKENS_FILE": path}[name]
	}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(ctx, l) }()
	base := "https://" + l.Addr().String()
	client := func(token string, pool *x509.CertPool) *http.Client {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
		t.Cleanup(transport.CloseIdleConnections)
		return &http.Client{Transport: bearer{token, transport}}
	}
	answer[statusOutput](t, connect(t, eras(base, client(token, pool))["with sessions"], nil), "chaos_status", `{}`)
	_, err = client(token, x509.NewCertPool()).Get(base + "/mcp")
	var unknown x509.UnknownAuthorityError
	assert.ErrorAs(t, err, &unknown)
	refused, err := client("another-token-of-length", pool).Get(base + "/mcp")
	require.NoError(t, err)
	require.NoError(t, refused.Body.Close())
	assert.Equal(t, 401, refused.StatusCode)
	stop()
	assert.NoError(t, <-ended, "an idle session does not hold it up")

	_, err = NewServer(Host{Name: "x"}, &Options{TLS: &TLS{CertFile: "no.pem", KeyFile: "no.key"}})
	assert.ErrorContains(t, err, `mcpadapter: TLS.CertFile is "no.pem": open no.pem`)
}

// A caller sees and reads what its scopes are for, and without a scope nothing.
func TestWhatATokenReads(t *testing.T) {
	_, address := serving(t, Options{})
	base := "http://" + address
	type attempt struct {
		name string
		try  func(c *mcp.ClientSession) error
	}
	read := func(uri string) func(*mcp.ClientSession) error {
		return func(c *mcp.ClientSession) error {
			_, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
			return err
		}
	}
	attempts := []attempt{
		{"resources", func(c *mcp.ClientSession) error { _, err := c.ListResources(t.Context(), nil); return err }},
		{"templates", func(c *mcp.ClientSession) error { _, err := c.ListResourceTemplates(t.Context(), nil); return err }},
		{"prompts", func(c *mcp.ClientSession) error { _, err := c.ListPrompts(t.Context(), nil); return err }},
		{"tool contract", read(uriTools)},
		{"faults", read(uriFaults)},
		{"catalogue", read(uriCatalogue)},
		{"subscription", func(c *mcp.ClientSession) error {
			return c.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uriFaults})
		}},
		{"level", func(c *mcp.ClientSession) error {
			return c.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "info"})
		}},
		{"report", read(uriLatest)},
		{"completion", func(c *mcp.ClientSession) error {
			_, err := c.Complete(t.Context(), &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "explain_failure"}, Argument: mcp.CompleteParamsArgument{Name: "cell", Value: "x"}})
			return err
		}},
	}
	for caller, tc := range map[string]struct {
		token   string
		refused []string
		tools   int
	}{
		"admin":   {token, nil, len(outputs())},
		"watcher": {watcherToken, []string{"report", "completion"}, len(outputs())},
		"nobody":  {nobodyToken, []string{"resources", "templates", "prompts", "tool contract", "faults", "catalogue", "subscription", "level", "report", "completion"}, 0},
	} {
		c := connect(t, eras(base, callerWith(t, tc.token))["with sessions"], nil)
		var refused []string
		for _, a := range attempts {
			if err := a.try(c); err != nil && strings.Contains(err.Error(), "scope") {
				refused = append(refused, a.name)
			}
		}
		assert.Equal(t, tc.refused, refused, caller)
		list, err := c.ListTools(t.Context(), nil)
		require.NoError(t, err)
		assert.Len(t, list.Tools, tc.tools, caller)
		require.NoError(t, c.Close())
	}
}

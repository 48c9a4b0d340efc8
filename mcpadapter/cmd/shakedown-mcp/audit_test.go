package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// asServer makes the test binary an MCP server over standard input and output, whose tools call the API at SHOP_API.
const asServer = "SHAKEDOWN_MCP_TEST_AS_SERVER"

type payment struct {
	Payment string `json:"payment"`
	Key     string `json:"idempotency_key,omitempty"`
}

func serveTools() {
	s := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	add := func(name string, hints *mcp.ToolAnnotations, key func(payment) string) {
		mcp.AddTool(s, &mcp.Tool{Name: name, Annotations: hints}, func(ctx context.Context, _ *mcp.CallToolRequest, in payment) (*mcp.CallToolResult, any, error) {
			body, _ := json.Marshal(map[string]string{"payment": in.Payment})
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, os.Getenv("SHOP_API")+"/v1/payments/"+in.Payment+"/"+name, bytes.NewReader(body))
			if err != nil {
				return nil, nil, err
			}
			if key != nil {
				req.Header.Set("Idempotency-Key", key(in))
			}
			req.Header.Set("Authorization", "Bearer "+os.Getenv("SHOP_API_TOKEN"))
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				return nil, nil, err
			}
			defer res.Body.Close()
			text, err := io.ReadAll(res.Body)
			if err == nil && res.StatusCode != http.StatusOK {
				err = fmt.Errorf("%s: %s", res.Status, text)
			}
			return nil, map[string]any{"answer": string(text)}, err
		})
	}
	add("refund", &mcp.ToolAnnotations{IdempotentHint: true}, nil)
	add("capture", nil, func(in payment) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(in.Payment))) })
	add("transfer", nil, func(in payment) string { return in.Key })
	add("erase", &mcp.ToolAnnotations{DestructiveHint: new(true)}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "list", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			res, err := http.Get(os.Getenv("SHOP_API") + "/v1/payments")
			if err != nil {
				return nil, nil, err
			}
			defer res.Body.Close()
			text, err := io.ReadAll(res.Body)
			return nil, map[string]any{"payments": string(text)}, err
		})
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// shop is an API that honours idempotency keys.
func shop(t *testing.T) *httptest.Server {
	var mu sync.Mutex
	made := map[string]int{}
	known := map[string]bool{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if key := r.Header.Get("Idempotency-Key"); r.Method == http.MethodPost && !known[key] {
			known[key] = key != ""
			made[r.URL.Path]++
		}
		_ = json.NewEncoder(w).Encode(made)
	}))
	t.Cleanup(s.Close)
	return s
}

func TestAudit(t *testing.T) {
	api := shop(t)
	self, err := os.Executable()
	require.NoError(t, err)
	t.Setenv(asServer, "1")
	t.Setenv("SHOP_API_TOKEN", "tok-1234567890abcdef")
	var out, problems bytes.Buffer
	status := runAudit(t.Context(), []string{"--proxy", "SHOP_API=" + api.URL, "--sandbox", "--example", `refund={"payment":"pay_1"}`,
		"--json", "/tmp/a.json", "--html", "/tmp/a.html", "--junit", "/tmp/a.xml", "--markdown", "/tmp/a.md", "--file", "/tmp/a.run.jsonl",
		"--", self}, os.Getenv, &out, &problems)
	t.Log(out.String())
	assert.Empty(t, problems.String())
	assert.Equal(t, 1, status)
}

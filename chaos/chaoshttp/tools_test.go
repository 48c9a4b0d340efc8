package chaoshttp_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/lies"
)

// Events of requests that are calls of tools have what the tools declare, and the documents of
// their bodies, at a client and at a server. The caller gets all as it was.
func TestToolsOfRequests(t *testing.T) {
	long := `{"text": "` + strings.Repeat("x", 1<<20) + `"}`
	options := &chaoshttp.Options{
		Target: func(r *http.Request) string { return strings.TrimPrefix(r.URL.Path, "/") },
		Tools: []chaos.Tool{{Name: "refund", Effect: chaos.EffectDone}, {Name: "odd"},
			{Name: "v1/chat/completions", Effect: chaos.EffectDone}},
	}
	served := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch said, _ := io.ReadAll(r.Body); {
		case r.URL.Query().Has("fail"):
			http.Error(w, `{"failed": true}`, http.StatusBadGateway)
		case r.URL.Query().Has("long"):
			_, _ = io.WriteString(w, long)
		case r.URL.Query().Has("text"):
			w.Header().Set("Content-Type", "text/plain")
			_, _ = io.WriteString(w, "{}")
		case r.URL.Query().Has("none"):
			w.WriteHeader(http.StatusNoContent)
		case r.URL.Query().Has("cut"):
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `{"i`)
		default:
			_, _ = w.Write(append(append([]byte(`{"asked": `), said...), '}'))
		}
	})
	for _, row := range []struct {
		why, method, path, body string
		fault                   chaos.Fault
		layer                   chaos.Layer
		effect                  chaos.Effect
		args, result, note      string // kept
		got                     string
	}{
		{"it did its work", "POST", "refund", `{"order": 1}`, nil, chaos.LayerTool, chaos.EffectDone, `{"order": 1}`,
			`{"asked": {"order": 1}}`, "", `{"asked": {"order": 1}}`},
		{"the reply is lost", "POST", "refund", `{"order": 1}`, fault.LoseReply(), chaos.LayerTool, chaos.EffectDone, `{"order": 1}`, "", "", ""},
		{"it was not reached", "POST", "refund", `{"order": 1}`, chaoshttp.Status(503, nil), chaos.LayerTool, chaos.EffectNone, `{"order": 1}`, "", "",
			"Service Unavailable\n"},
		{"it failed", "POST", "refund?fail", `{}`, nil, chaos.LayerTool, chaos.EffectUnknown, "", "",
			"arguments not kept: …the request has a query", "{\"failed\": true}\n"},
		{"a method that changes nothing", "GET", "refund", "", nil, chaos.LayerTool, chaos.EffectNone, "{}", "", "result not kept: ", `{"asked": }`},
		{"a lie about the result", "POST", "refund", `{"order": 1}`, lies.FlipSign("$.asked.order"), chaos.LayerTool, chaos.EffectDone,
			`{"order": 1}`, "", "result not kept: …the body is not JSON of up to 1 MiB, or a fault acts on it", `{"asked": {"order": -1}}`},
		{"a long answer", "POST", "refund?long", `{}`, nil, chaos.LayerTool, chaos.EffectDone, "", "", "result not kept: ", long},
		{"no JSON", "POST", "refund?text", `{}`, nil, chaos.LayerTool, chaos.EffectDone, "", "", "result not kept: ", "{}"},
		{"no body", "POST", "refund?none", `{}`, nil, chaos.LayerTool, chaos.EffectDone, "", "null", "", ""},
		{"an answer that breaks off", "POST", "refund?cut", `{}`, nil, chaos.LayerTool, chaos.EffectDone, "", "", "result not kept: ", `{"i`},
		{"a request that is no JSON", "POST", "refund", `order=1`, nil, chaos.LayerTool, chaos.EffectDone, "", "",
			"arguments not kept: …the body is not JSON of up to 4 MiB", `{"asked": order=1}`},
		{"a tool that declares nothing", "POST", "odd", `{"a": 1}`, nil, chaos.LayerTool, chaos.EffectUnknown, `{"a": 1}`, `{"asked": {"a": 1}}`, "",
			`{"asked": {"a": 1}}`},
		{"a call of a model is none", "POST", "v1/chat/completions", `{}`, nil, chaos.LayerLLM, chaos.EffectUnknown,
			`{"method":"POST","url":"URL"}`, `{"statusCode":200,"contentType":"application/json"}`, "", `{"asked": {}}`},
		{"a request that is no tool", "POST", "other", `{}`, nil, chaos.LayerHTTP, chaos.EffectUnknown, `{"method":"POST","url":"URL"}`,
			`{"statusCode":200,"contentType":"application/json"}`, "", `{"asked": {}}`},
	} {
		for _, side := range []string{"client", "server"} {
			t.Run(row.why+", at the "+side, func(t *testing.T) {
				var rules []chaos.Rule
				if row.fault != nil {
					rules = []chaos.Rule{{Target: "*", Fault: row.fault}}
				}
				in := recording(t, rules...)
				own := *options
				own.Injector = in
				url, transport := "http://tools.test/"+row.path, http.RoundTripper(chaoshttp.NewTransport(chaoshttp.InProcess(served), &own))
				shown := url
				if side == "server" {
					transport, shown = chaoshttp.InProcess(chaoshttp.Handler(served, &own)), "/"+row.path
				}
				r, err := http.NewRequest(row.method, url, strings.NewReader(row.body))
				require.NoError(t, err)
				if row.body == "" {
					r.Body, r.ContentLength = http.NoBody, 0
				}
				got := ""
				if answer, err := transport.RoundTrip(r); err == nil {
					body, _ := io.ReadAll(answer.Body)
					got = string(body)
					answer.Body.Close()
				}
				assert.Equal(t, row.got, got)
				require.Len(t, in.Events(), 1)
				e := in.Events()[0]
				assert.Equal(t, row.layer, e.Layer)
				assert.Equal(t, row.effect, e.Effect)
				assert.Equal(t, compact(strings.Replace(row.args, "URL", shown, 1)), string(e.Args))
				assert.Equal(t, compact(row.result), string(e.Result))
				for _, note := range strings.Split(row.note, "…") {
					assert.Contains(t, e.Note, note)
				}
			})
		}
	}
}

// compact is a document as events keep it.
func compact(doc string) string { return strings.ReplaceAll(doc, ": ", ":") }

func recording(t *testing.T, rules ...chaos.Rule) *chaos.Injector {
	plan, err := chaos.NewPlan(1, rules...)
	require.NoError(t, err)
	return plan.Injector("cell", &chaos.InjectorOptions{RecordAll: true, KeepValues: true})
}

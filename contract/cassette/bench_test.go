package cassette_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract/cassette"
)

// conversation is a request of about 10 KB to a model: 30 messages.
func conversation(n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"model":"gpt-5.2","temperature":0.2,"user":"user-%d","messages":[`, n)
	for i := range 30 {
		fmt.Fprintf(&b, `{"role":"tool","tool_call_id":"call_%d_%d","content":"%s%d"},`, n, i, strings.Repeat("The parcel left the depot in Lyon. ", 7), n*i)
	}
	return strings.TrimSuffix(b.String(), ",") + "]}"
}

// thousand is a tape of 1,000 exchanges of 10 KB.
func thousand(b *testing.B) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "thousand.json")
	var all []string
	for i := range 1000 {
		all = append(all, exchange("", conversation(i), "yes"))
	}
	text := `{"format":"shakedown/cassette","version":1,"exchanges":[` + strings.Join(all, ",\n") + `]}`
	require.NoError(b, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// againstValid reports the time of an operation as a multiple of that of json.Valid on the same bytes.
func againstValid(b *testing.B, doc []byte, f func()) {
	var own, valid time.Duration
	for b.Loop() {
		start := time.Now()
		for range 100 {
			f()
		}
		half := time.Now()
		for range 100 {
			if !json.Valid(doc) {
				b.Fatal("not JSON")
			}
		}
		own, valid = own+half.Sub(start), valid+time.Since(half)
	}
	b.ReportMetric(float64(own)/float64(valid), "×valid")
	b.ReportMetric(float64(own.Nanoseconds())/float64(100*b.N), "ns/hit")
}

// BenchmarkHit: a request of 10 KB among 1,000 exchanges, with the whole round trip of a client.
func BenchmarkHit(b *testing.B) {
	path := thousand(b)
	doc := []byte(conversation(700))
	for _, row := range []struct {
		name string
		o    cassette.Options
	}{
		{"plain", cassette.Options{}},
		{"redact", cassette.Options{Redact: func(_ string, doc []byte) []byte { return bytes.ReplaceAll(doc, []byte("Ada"), []byte("NAME")) }}},
		{"ignore", cassette.Options{Ignore: []string{"$.user", "$.messages[*].tool_call_id"}}},
		{"mask", cassette.Options{Mask: []cassette.Mask{{Pattern: `20\d\d-\d\d-\d\d`, Text: "DATE"}}}},
	} {
		b.Run(row.name, func(b *testing.B) {
			row.o.Mode = cassette.Replay
			p := open(b, path, &row.o).Player()
			req, err := http.NewRequest(http.MethodPost, api+"/chat", nil)
			require.NoError(b, err)
			buf := make([]byte, 64)
			againstValid(b, doc, func() {
				req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(doc)), int64(len(doc))
				resp, err := p.RoundTrip(req)
				if err != nil {
					b.Fatal(err)
				}
				for err == nil {
					_, err = resp.Body.Read(buf)
				}
				resp.Body.Close()
			})
		})
	}
}

func BenchmarkStream(b *testing.B) {
	events := strings.TrimSuffix(strings.Repeat(`{"data":{"choices":[{"delta":{"content":"word "}}]}},`, 200), ",")
	path := filepath.Join(b.TempDir(), "stream.json")
	text := `{"format":"shakedown/cassette","version":1,"exchanges":[{"request":{"method":"GET","url":"` + api + `/s"},` +
		`"response":{"status":200,"header":{"Content-Type":"text/event-stream"},"events":[` + events + `]}}]}`
	require.NoError(b, os.WriteFile(path, []byte(text), 0o644))
	p := open(b, path, &cassette.Options{Mode: cassette.Replay}).Player()
	req, err := http.NewRequest(http.MethodGet, api+"/s", nil)
	require.NoError(b, err)
	buf := make([]byte, 4096)
	for b.Loop() {
		resp, err := p.RoundTrip(req)
		if err != nil {
			b.Fatal(err)
		}
		reads := 0
		for err == nil {
			if _, err = resp.Body.Read(buf); err == nil {
				reads++
			}
		}
		resp.Body.Close()
		if reads != 200 {
			b.Fatalf("%d reads", reads)
		}
	}
}

// BenchmarkMiss: the first one indexes the tape; the later ones ask another thing each.
func BenchmarkMiss(b *testing.B) {
	path := thousand(b)
	asked := make([]string, 10_000)
	for i := range asked {
		asked[i] = strings.Replace(conversation(i%1000), "Lyon", fmt.Sprint("Paris", i), 8)
	}
	ask := func(b *testing.B, p *cassette.Player, i int) {
		_, err := post(p, "/chat", asked[i%len(asked)])
		if err == nil || !strings.Contains(err.Error(), "/messages/0/content") {
			b.Fatal(err)
		}
	}
	b.Run("first", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			b.StopTimer()
			p := open(b, path, &cassette.Options{Mode: cassette.Replay}).Player()
			b.StartTimer()
			ask(b, p, i)
		}
	})
	b.Run("later", func(b *testing.B) {
		c := open(b, path, &cassette.Options{Mode: cassette.Replay})
		ask(b, c.Player(), 0)
		for i := 1; b.Loop(); i++ {
			ask(b, c.Player(), i)
		}
	})
}

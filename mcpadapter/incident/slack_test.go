package incident_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/mcpadapter/incident"
)

const webhook = "https://hooks.example.com/services/T0/B0/secret"

// hook stands in for the webhook: answers says what each request gets.
type hook struct {
	mu      sync.Mutex
	answers []func() (*http.Response, error)
	bodies  []string
	at      []time.Time
}

func (h *hook) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	n := len(h.bodies)
	h.bodies, h.at = append(h.bodies, string(body)), append(h.at, time.Now())
	h.mu.Unlock()
	if n < len(h.answers) {
		return h.answers[n]()
	}
	return status(200)()
}

func status(code int, header ...string) func() (*http.Response, error) {
	return func() (*http.Response, error) {
		h := http.Header{}
		for i := 0; i+1 < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return &http.Response{StatusCode: code, Status: fmt.Sprint(code, " ", http.StatusText(code)), Header: h, Body: io.NopCloser(strings.NewReader("ok"))}, nil
	}
}

func slack(t *testing.T, h *hook, change func(*incident.SlackOptions)) *incident.Slack {
	t.Helper()
	o := incident.SlackOptions{Webhook: webhook, Client: &http.Client{Transport: h}}
	if change != nil {
		change(&o)
	}
	s, err := incident.NewSlack(o)
	require.NoError(t, err)
	return s
}

func ended(status incident.Status) incident.Incident {
	return incident.Incident{IncidentID: "1f", Status: status, Cluster: "prod", Namespace: "payments", FaultType: "CrashLoop",
		Resource: incident.Resource{Kind: "Pod", Name: "worker-0"}, FailureReason: "agent exited with code 3"}
}

func TestSlackMessagesHaveTheFiveFacts(t *testing.T) {
	h := &hook{}
	s := slack(t, h, nil)
	s.Notify(ended(incident.StatusResolved), incident.Finding{RootCause: "<!channel> memory & more", Confidence: "high"})
	require.NoError(t, s.Close(context.Background()))
	require.Len(t, h.bodies, 1)
	var message struct {
		Text   string
		Blocks []struct {
			Type   string
			Text   *struct{ Type, Text string }
			Fields []struct{ Type, Text string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(h.bodies[0]), &message))
	assert.Equal(t, "Incident resolved: CrashLoop", message.Text)
	require.Len(t, message.Blocks, 4)
	assert.Equal(t, "header", message.Blocks[0].Type)
	assert.Equal(t, "plain_text", message.Blocks[0].Text.Type)
	var fields []string
	for _, f := range message.Blocks[1].Fields {
		assert.Equal(t, "mrkdwn", f.Type)
		fields = append(fields, f.Text)
	}
	assert.Equal(t, []string{"*Cluster*\nprod", "*Namespace*\npayments", "*Resource*\nPod/worker-0", "*Confidence*\nhigh"}, fields)
	assert.Equal(t, "*Root cause*\n&lt;!channel&gt; memory &amp; more", message.Blocks[2].Text.Text, "a report cannot page anyone")
}

func TestSlackMessagesFit(t *testing.T) {
	h := &hook{}
	s := slack(t, h, nil)
	in := ended(incident.StatusResolved)
	in.FaultType, in.Cluster = strings.Repeat("x", 200), strings.Repeat("c", 3000)
	s.Notify(in, incident.Finding{RootCause: strings.Repeat("&", 5000)})
	require.NoError(t, s.Close(context.Background()))
	var message struct {
		Blocks []struct {
			Text   struct{ Text string }
			Fields []struct{ Text string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(h.bodies[0]), &message))
	assert.Len(t, []rune(message.Blocks[0].Text.Text), 150)
	assert.Len(t, []rune(message.Blocks[1].Fields[0].Text), 2000)
	assert.Len(t, []rune(message.Blocks[2].Text.Text), 3000)
}

func TestSlackTriesAgain(t *testing.T) {
	broken := func() (*http.Response, error) { return nil, errors.New("connection reset") }
	for name, tc := range map[string]struct {
		answers []func() (*http.Response, error)
		waits   []time.Duration
		lost    uint64
	}{
		"after what a 429 asks for":      {[]func() (*http.Response, error){status(429, "Retry-After", "30")}, []time.Duration{30 * time.Second}, 0},
		"at the time that a 429 names":   {[]func() (*http.Response, error){status(429, "Retry-After", "Sat, 01 Jan 2000 00:01:00 GMT")}, []time.Duration{time.Minute}, 0},
		"with growing pauses":            {[]func() (*http.Response, error){status(503), broken, status(500)}, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}, 0},
		"four times in all":              {[]func() (*http.Response, error){broken, broken, broken, broken}, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}, 1},
		"not when it would not help":     {[]func() (*http.Response, error){status(404)}, nil, 1},
		"at most five minutes later":     {[]func() (*http.Response, error){status(429, "Retry-After", "86400")}, []time.Duration{5 * time.Minute}, 0},
		"also when no clock goes so far": {[]func() (*http.Response, error){status(429, "Retry-After", "9300000000")}, []time.Duration{5 * time.Minute}, 0},
		"as usual after nonsense there":  {[]func() (*http.Response, error){status(429, "Retry-After", "soon")}, []time.Duration{time.Second}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &hook{answers: tc.answers}
				s := slack(t, h, nil)
				s.Notify(ended(incident.StatusResolved), incident.Finding{})
				require.NoError(t, s.Close(context.Background()))
				var waits []time.Duration
				for i := 1; i < len(h.at); i++ {
					waits = append(waits, h.at[i].Sub(h.at[i-1]))
				}
				assert.Equal(t, tc.waits, waits)
				assert.Equal(t, tc.lost, s.Lost())
			})
		})
	}
}

func TestSlackNeverBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		h := &hook{answers: []func() (*http.Response, error){func() (*http.Response, error) { <-release; return status(200)() }}}
		s := slack(t, h, func(o *incident.SlackOptions) { o.Queue = 2 })
		began := time.Now()
		s.Notify(ended(incident.StatusResolved), incident.Finding{})
		synctest.Wait() // the first is on its way
		for range 5 {
			s.Notify(ended(incident.StatusResolved), incident.Finding{})
		}
		assert.Zero(t, time.Since(began))
		assert.EqualValues(t, 3, s.Lost())
		close(release)
		require.NoError(t, s.Close(context.Background()))
		assert.Len(t, h.bodies, 3)
		s.Notify(ended(incident.StatusResolved), incident.Finding{})
		assert.Len(t, h.bodies, 3, "nothing after Close")
	})
}

func TestClosingDoesNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hook{answers: []func() (*http.Response, error){status(429, "Retry-After", "300")}}
		s := slack(t, h, nil)
		s.Notify(ended(incident.StatusResolved), incident.Finding{})
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		began := time.Now()
		assert.ErrorIs(t, s.Close(ctx), context.DeadlineExceeded)
		assert.Equal(t, 10*time.Second, time.Since(began))
		assert.EqualValues(t, 1, s.Lost(), "what was given up is counted")
	})
}

func TestADegradedAgentIsOnePieceOfNews(t *testing.T) {
	h := &hook{}
	s := slack(t, h, nil)
	for _, st := range []incident.Status{
		incident.StatusAgentFailed, incident.StatusFailed, incident.StatusFailed, incident.StatusFailed, incident.StatusAgentFailed,
		incident.StatusResolved, incident.StatusFailed,
	} {
		s.Notify(ended(st), incident.Finding{})
	}
	require.NoError(t, s.Close(context.Background()))
	var texts []string
	for _, b := range h.bodies {
		var m struct{ Text string }
		require.NoError(t, json.Unmarshal([]byte(b), &m))
		texts = append(texts, m.Text)
	}
	assert.Equal(t, []string{
		"Incident agent_failed: CrashLoop", "Incident failed: CrashLoop",
		"The triage agent is degraded: 3 incidents in a row ended without a report. Last reason: agent exited with code 3. " +
			"Further ones are not announced until one succeeds.",
		"The triage agent works again.", "Incident resolved: CrashLoop", "Incident failed: CrashLoop",
	}, texts)
}

func TestNoWebhookNoRequest(t *testing.T) {
	h := &hook{}
	s := slack(t, h, func(o *incident.SlackOptions) { o.Webhook = "" })
	s.Notify(ended(incident.StatusResolved), incident.Finding{})
	require.NoError(t, s.Close(context.Background()))
	assert.Empty(t, h.bodies)

	_, err := incident.NewSlack(incident.SlackOptions{Webhook: "hooks.example.com/secret"})
	assert.EqualError(t, err, `incident: SLACK_WEBHOOK_URL is "(hidden)"; allowed: an http or https URL`)
}

// TestSlackStaysWithItsWebhook: what answers with a redirect has not taken the
// message, and is not to send incidents elsewhere.
func TestSlackStaysWithItsWebhook(t *testing.T) {
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	for _, code := range []int{http.StatusFound, http.StatusTemporaryRedirect} {
		webhook := httptest.NewServer(http.RedirectHandler(other.URL, code))
		s, err := incident.NewSlack(incident.SlackOptions{Webhook: webhook.URL})
		require.NoError(t, err)
		s.Notify(ended(incident.StatusResolved), incident.Finding{})
		require.NoError(t, s.Close(context.Background()))
		assert.EqualValues(t, 1, s.Lost(), code)
		webhook.Close()
	}
	assert.Zero(t, elsewhere.Load())
}

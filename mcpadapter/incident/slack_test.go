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

// hook takes the place of the webhook; answers has the answer of each request.
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
	s, err := incident.NewSlack(&o)
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
	require.NoError(t, s.Notify(t.Context(), ended(incident.StatusResolved), incident.Finding{RootCause: "<!channel> memory & more", Confidence: "high"}))
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
	require.NoError(t, s.Notify(t.Context(), in, incident.Finding{RootCause: strings.Repeat("&", 5000)}))
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

// errReset is one that comes before a connection was had.
var errReset = errors.New("connection reset")

func TestSlackTriesAgain(t *testing.T) {
	broken := func() (*http.Response, error) { return nil, errReset }
	for name, tc := range map[string]struct {
		answers []func() (*http.Response, error)
		waits   []time.Duration
		lost    error // nil: it arrives
	}{
		"after what a 429 asks for":      {[]func() (*http.Response, error){status(429, "Retry-After", "30")}, []time.Duration{30 * time.Second}, nil},
		"at the time that a 429 names":   {[]func() (*http.Response, error){status(429, "Retry-After", "Sat, 01 Jan 2000 00:01:00 GMT")}, []time.Duration{time.Minute}, nil},
		"with growing pauses":            {[]func() (*http.Response, error){status(503), broken, status(500)}, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}, nil},
		"four times in all":              {[]func() (*http.Response, error){broken, broken, broken, broken}, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}, errReset},
		"not when it would not help":     {[]func() (*http.Response, error){status(404)}, nil, incident.ErrRefused},
		"at most five minutes later":     {[]func() (*http.Response, error){status(429, "Retry-After", "86400")}, []time.Duration{5 * time.Minute}, nil},
		"also when no clock goes so far": {[]func() (*http.Response, error){status(429, "Retry-After", "9300000000")}, []time.Duration{5 * time.Minute}, nil},
		"as usual after nonsense there":  {[]func() (*http.Response, error){status(429, "Retry-After", "soon")}, []time.Duration{time.Second}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &hook{answers: tc.answers}
				s := slack(t, h, nil)
				err := s.Notify(t.Context(), ended(incident.StatusResolved), incident.Finding{})
				var waits []time.Duration
				for i := 1; i < len(h.at); i++ {
					waits = append(waits, h.at[i].Sub(h.at[i-1]))
				}
				assert.Equal(t, tc.waits, waits)
				assert.ErrorIs(t, err, tc.lost)
			})
		})
	}
}

// TestAnAnswerThatIsLost is no reason to send a message again: the webhook may
// have taken it. A connection that is refused is one.
func TestAnAnswerThatIsLost(t *testing.T) {
	var took atomic.Int64
	deaf := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		took.Add(1)
		panic(http.ErrAbortHandler) // the connection ends without an answer
	}))
	defer deaf.Close()
	transport := &http.Transport{DisableKeepAlives: true}
	s, err := incident.NewSlack(&incident.SlackOptions{Webhook: deaf.URL, Client: &http.Client{Transport: transport}})
	require.NoError(t, err)
	assert.ErrorIs(t, s.Notify(t.Context(), ended(incident.StatusResolved), incident.Finding{}), incident.ErrMaybeSent)
	assert.EqualValues(t, 1, took.Load())

	deaf.Close() // nobody listens there any more
	s, err = incident.NewSlack(&incident.SlackOptions{Webhook: deaf.URL, Client: &http.Client{Transport: transport}, Attempts: 1})
	require.NoError(t, err)
	err = s.Notify(t.Context(), ended(incident.StatusResolved), incident.Finding{})
	assert.ErrorContains(t, err, "attempt 1")
	assert.NotErrorIs(t, err, incident.ErrMaybeSent, "it was certainly not sent")
}

// TestWaitingForAWebhookEnds with the context: the runner asks again later.
func TestWaitingForAWebhookEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hook{answers: []func() (*http.Response, error){status(429, "Retry-After", "300")}}
		s := slack(t, h, nil)
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		began := time.Now()
		err := s.Notify(ctx, ended(incident.StatusResolved), incident.Finding{})
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.NotErrorIs(t, err, incident.ErrMaybeSent, "the webhook said no")
		assert.Equal(t, 10*time.Second, time.Since(began))
	})
}

func TestADegradedAgentIsOnePieceOfNews(t *testing.T) {
	h := &hook{}
	s := slack(t, h, nil)
	for _, st := range []incident.Status{
		incident.StatusAgentFailed, incident.StatusFailed, incident.StatusFailed, incident.StatusFailed, incident.StatusAgentFailed,
		incident.StatusResolved, incident.StatusFailed,
	} {
		require.NoError(t, s.Notify(t.Context(), ended(st), incident.Finding{}))
	}
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
		"The triage agent works again. Incident resolved: CrashLoop", "Incident failed: CrashLoop",
	}, texts)
}

func TestNoWebhookNoRequest(t *testing.T) {
	h := &hook{}
	s := slack(t, h, func(o *incident.SlackOptions) { o.Webhook = "" })
	require.NoError(t, s.Notify(t.Context(), ended(incident.StatusResolved), incident.Finding{}))
	assert.Empty(t, h.bodies)

	_, err := incident.NewSlack(&incident.SlackOptions{Webhook: "hooks.example.com/secret"})
	assert.EqualError(t, err, `incident: SLACK_WEBHOOK_URL is "(hidden)"; allowed: an http or https URL`)
}

// A server that answers with a redirect has not taken the message, and must not
// send incidents elsewhere.
func TestSlackStaysWithItsWebhook(t *testing.T) {
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	for _, code := range []int{http.StatusFound, http.StatusTemporaryRedirect} {
		webhook := httptest.NewServer(http.RedirectHandler(other.URL, code))
		s, err := incident.NewSlack(&incident.SlackOptions{Webhook: webhook.URL})
		require.NoError(t, err)
		assert.ErrorIs(t, s.Notify(t.Context(), ended(incident.StatusResolved), incident.Finding{}), incident.ErrRefused, code)
		webhook.Close()
	}
	assert.Zero(t, elsewhere.Load())
}

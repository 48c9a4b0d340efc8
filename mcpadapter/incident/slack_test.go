package incident_test

import (
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
}

func (h *hook) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	n := len(h.bodies)
	h.bodies = append(h.bodies, string(body))
	h.mu.Unlock()
	if n < len(h.answers) {
		return h.answers[n]()
	}
	return status(200)()
}

func status(code int) func() (*http.Response, error) {
	return func() (*http.Response, error) {
		return &http.Response{StatusCode: code, Status: fmt.Sprint(code, " ", http.StatusText(code)), Body: io.NopCloser(strings.NewReader("ok"))}, nil
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
	require.NoError(t, s.Notify(t.Context(), ended(incident.StatusResolved), incident.Finding{RootCause: "<!channel> memory & more\n*Cluster*: other", Confidence: "high"}))
	require.Len(t, h.bodies, 1)
	var message struct{ Text string }
	require.NoError(t, json.Unmarshal([]byte(h.bodies[0]), &message))
	assert.Equal(t, "*Incident resolved*: CrashLoop\n*Cluster*: prod\n*Namespace*: payments\n*Resource*: Pod/worker-0\n"+
		"*Confidence*: high\n*Root cause*: &lt;!channel&gt; memory &amp; more\n    *Cluster*: other\n*Workspace*: 1f\n", message.Text, "a report cannot page anyone, or state a fact of its own")

	in := ended(incident.StatusResolved)
	in.Cluster = strings.Repeat("c", 253)
	require.NoError(t, s.Notify(t.Context(), in, incident.Finding{RootCause: strings.Repeat("&", 50000), Confidence: strings.Repeat("&", 50000)}))
	require.NoError(t, json.Unmarshal([]byte(h.bodies[1]), &message))
	assert.Less(t, len(message.Text), 40000, "Slack takes no more")
}

// What becomes of a message decides whether the runner calls again: the
// notifier itself tries once.
func TestSlackTriesOnce(t *testing.T) {
	for code, want := range map[int]error{200: nil, 429: errAgain, 503: errAgain, 404: incident.ErrRefused} {
		h := &hook{answers: []func() (*http.Response, error){status(code)}}
		err := slack(t, h, nil).Notify(t.Context(), ended(incident.StatusResolved), incident.Finding{})
		assert.Len(t, h.bodies, 1)
		switch want {
		case errAgain:
			assert.Error(t, err)
			assert.NotErrorIs(t, err, incident.ErrRefused)
			assert.NotErrorIs(t, err, incident.ErrMaybeSent)
		default:
			assert.ErrorIs(t, err, want)
		}
	}
}

var errAgain = errors.New("the runner calls again")

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
	s, err = incident.NewSlack(&incident.SlackOptions{Webhook: deaf.URL, Client: &http.Client{Transport: transport}})
	require.NoError(t, err)
	err = s.Notify(t.Context(), ended(incident.StatusResolved), incident.Finding{})
	assert.Error(t, err)
	assert.NotErrorIs(t, err, incident.ErrMaybeSent, "it was certainly not sent")
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

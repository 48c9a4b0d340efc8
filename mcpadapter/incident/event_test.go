package incident_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/mcpadapter/incident"
)

const nestedPayload = `{
	"subscriptionId": "sub-7", "cluster": "prod",
	"event": {
		"namespace": "payments", "timestamp": "2026-03-01T13:00:00+01:00", "type": "Warning", "reason": "BackOff",
		"message": "Back-off restarting failed container", "count": 12, "labels": {"app": "worker"},
		"involvedObject": {"apiVersion": "v1", "kind": "Pod", "name": "worker-0", "namespace": "payments"}
	},
	"logs": [
		{"container": "web", "previous": true, "hasPanic": true, "sample": "panic: nil map\nmain.go:12"},
		{"container": "proxy", "previous": false, "hasPanic": false, "error": "forbidden"}
	]
}`

const flatPayload = `{
	"subscriptionId": "sub-8", "cluster": "prod", "faultType": "CrashLoop", "severity": "critical",
	"resource": {"apiVersion": "v1", "kind": "Pod", "name": "worker-0", "namespace": "payments", "uid": "3f"},
	"context": "exit status 2", "timestamp": "2026-03-01T12:00:00Z"
}`

var received = time.Date(2026, 3, 1, 12, 5, 0, 0, time.UTC)

func parse(t *testing.T, payload string) incident.Event {
	t.Helper()
	e, err := incident.ParseEvent("kubernetes/faults", json.RawMessage(payload), received)
	require.NoError(t, err)
	return e
}

func TestBothShapesReadTheSame(t *testing.T) {
	for shape, tc := range map[string]struct {
		payload, subscription, reason, context string
		severity                               incident.Severity
	}{
		"nested": {nestedPayload, "sub-7", "BackOff", "Back-off restarting failed container\n" +
			"log of web, previous run, with a panic:\npanic: nil map\nmain.go:12\nlog of proxy: not available: forbidden", incident.Warning},
		"flat": {flatPayload, "sub-8", "CrashLoop", "exit status 2", incident.Critical},
	} {
		e := parse(t, tc.payload)
		assert.Equal(t, tc.subscription, e.Subscription, shape)
		assert.Equal(t, "prod", e.Cluster, shape)
		assert.Equal(t, "payments", e.Resource.Namespace, shape)
		assert.Equal(t, "Pod", e.Resource.Kind, shape)
		assert.Equal(t, "worker-0", e.Resource.Name, shape)
		assert.Equal(t, tc.reason, e.Reason, shape)
		assert.Equal(t, tc.severity, e.Severity, shape)
		assert.Equal(t, tc.context, e.Context, shape)
		assert.Equal(t, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), e.At, "%s: in UTC", shape)
		assert.Equal(t, "prod/payments/Pod/worker-0/"+tc.reason, e.Key(), shape)
		assert.Regexp(t, `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, e.ID, shape)
	}
	assert.NotEqual(t, parse(t, flatPayload).ID, parse(t, flatPayload).ID, "each reception is an event of its own")
}

func TestWhatAPayloadMayLeaveOut(t *testing.T) {
	for _, tc := range []struct {
		payload, why string
		severity     incident.Severity
		kind, name   string
		at           time.Time
	}{
		{`{"faultType":"error"}`, "a fault whose target is withheld", incident.Warning, "", "", received},
		{`{"event":{"reason":"Failed","type":"Normal"}}`, "Normal is Kubernetes' word for no concern", incident.Info, "", "", received},
		{`{"event":{"reason":"Failed","type":"Alarming"}}`, "an unknown word is not a reason to look away", incident.Warning, "", "", received},
		{`{"faultType":"x","severity":"ERROR","resource":{"kind":"Tool","name":"refund"}}`, "letter case does not count",
			incident.Error, "Tool", "refund", received},
		{`{"faultType":"x","resource":{"name":"../../etc/passwd"},"later":{"added":1}}`,
			"a name like a path is a name, and unknown members are the server's business", incident.Warning, "", "../../etc/passwd", received},
	} {
		e := parse(t, tc.payload)
		assert.Equal(t, tc.severity, e.Severity, tc.why)
		assert.Equal(t, tc.kind, e.Resource.Kind, tc.why)
		assert.Equal(t, tc.name, e.Resource.Name, tc.why)
		assert.Equal(t, tc.at, e.At, tc.why)
	}
}

func TestKeysDoNotRunTogether(t *testing.T) {
	a := parse(t, `{"cluster":"a/b","faultType":"x","resource":{"namespace":"c"}}`)
	b := parse(t, `{"cluster":"a","faultType":"x","resource":{"namespace":"b/c"}}`)
	assert.NotEqual(t, a.Key(), b.Key())
}

func TestMalformedPayloads(t *testing.T) {
	for _, tc := range []struct{ payload, want string }{
		{`null`, `payload is "null"; allowed: a member "event", or "resource" with "faultType"`},
		{`[]`, `payload is of type array; allowed: a JSON object`},
		{`{"a":1}`, `payload is "{\"a\":1}"; allowed: a member "event"`},
		{`{"event":{"reason":"x"},"faultType":"y"}`, `payload is of both shapes`},
		{`{"event":{}}`, `event.reason is missing`},
		{`{"resource":{"name":"a"}}`, `faultType is missing`},
		{`{"event":{"reason":7}}`, `event.reason is of type number; allowed: a JSON string`},
		{`{"event":"x"}`, `event is of type string; allowed: a JSON object`},
		{`{"faultType":"x","timestamp":"yesterday"}`, `timestamp is "yesterday"; allowed: a time by RFC 3339`},
		// In UTC their years have no form in RFC 3339, so that no record could hold them.
		{`{"faultType":"x","timestamp":"9999-12-31T23:59:59-14:00"}`, `incident: timestamp is`},
		{`{"faultType":"x","timestamp":"0000-01-01T00:00:00+14:00"}`, `incident: timestamp is`},
		{`{"faultType":"x","resource":{"name":"a\nb"}}`, `resource.name is "a\nb"`},
		{`{"event":{"reason":"x","timestamp":"no","involvedObject":{"kind":"` + strings.Repeat("k", 300) + `"}}}`,
			"event.timestamp is \"no\"; allowed: a time by RFC 3339, such as 2026-05-01T12:00:00Z\nincident: event.involvedObject.kind is"},
		{"{\"faultType\":\"\xff\"}", `payload is invalid UTF-8`},
		{`{"faultType":"x"`, `payload is "{\"faultType\":\"x\""`},
		{`{"faultType":"` + strings.Repeat("x", 2<<20) + `"}`, "bytes; allowed: at most 1048576 bytes"},
	} {
		_, err := incident.ParseEvent("chaos/faults", json.RawMessage(tc.payload), received)
		var wrong *incident.FieldError
		if assert.ErrorAs(t, err, &wrong, tc.payload) {
			assert.ErrorContains(t, err, tc.want)
		}
	}
}

func FuzzParseEvent(f *testing.F) {
	f.Add([]byte(nestedPayload))
	f.Add([]byte(flatPayload))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := incident.ParseEvent("chaos/faults", data, received)
		if err != nil {
			assert.Zero(t, e)
			return
		}
		assert.NotEmpty(t, e.Reason)
		again, err := incident.ParseEvent("chaos/faults", data, received)
		require.NoError(t, err)
		assert.Equal(t, e.Key(), again.Key())
	})
}

func TestSeverities(t *testing.T) {
	for text, want := range map[string]incident.Severity{
		"Normal": incident.Info, "info": incident.Info, "Warning": incident.Warning, " warning ": incident.Warning,
		"error": incident.Error, "CRITICAL": incident.Critical,
	} {
		got, err := incident.ParseSeverity(text)
		require.NoError(t, err)
		assert.Equal(t, want, got, text)
		doc, err := got.MarshalText()
		require.NoError(t, err)
		var back incident.Severity
		require.NoError(t, back.UnmarshalText(doc))
		assert.Equal(t, got, back)
	}
	_, err := incident.ParseSeverity("fatal")
	assert.EqualError(t, err, `incident: severity is "fatal"; allowed: info|warning|error|critical`)
	_, err = incident.Severity(0).MarshalText()
	assert.Error(t, err, "the zero value is none")
}

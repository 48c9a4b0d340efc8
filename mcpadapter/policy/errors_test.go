package policy_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

func response(status int, media, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {media}}, Body: io.NopCloser(strings.NewReader(body))}
}

func TestReadProblem(t *testing.T) {
	const full = `{"type":"https://example.com/full","title":"Full","status":409,"detail":"no room","instance":"/rooms/3","floor":"third","tries":[1,2]}`
	for _, tc := range []struct {
		reason string
		res    *http.Response
		want   *policy.Problem
		text   string
	}{
		{"all members, and more", response(409, "application/problem+json; charset=utf-8", full), &policy.Problem{Type: "https://example.com/full", Title: "Full",
			Status: 409, Detail: "no room", Instance: "/rooms/3", Extensions: map[string]any{"floor": "third", "tries": []any{1.0, 2.0}}}, "Full: no room"},
		{"the status of the response, where the problem has none", response(404, "application/problem+json", `{"title":"Gone"}`), &policy.Problem{Title: "Gone", Status: 404}, "Gone"},
		{"a member of the wrong type is ignored", response(400, "application/problem+json", `{"title":7,"status":"400","detail":"d"}`), &policy.Problem{Status: 400, Detail: "d"}, "d"},
		{"a status that no int holds", response(400, "application/problem+json", `{"title":"Odd","status":1e300}`), &policy.Problem{Title: "Odd", Status: 400}, "Odd"},
		{"text", response(503, "text/plain", " busy \n"), &policy.Problem{Title: "Service Unavailable", Status: 503, Detail: "busy"}, "Service Unavailable: busy"},
		{"another JSON", response(400, "application/json", `{"error":"x"}`), &policy.Problem{Title: "Bad Request", Status: 400, Detail: `{"error":"x"}`}, `Bad Request: {"error":"x"}`},
		{"a page", response(502, "text/html", "<html>"), &policy.Problem{Title: "Bad Gateway", Status: 502}, "Bad Gateway"},
		{"problem details that are none", response(500, "application/problem+json", `[1]`), &policy.Problem{Title: "Internal Server Error", Status: 500}, "Internal Server Error"},
		{"an unknown status", response(599, "", ""), &policy.Problem{Status: 599}, "status 599"},
	} {
		err := policy.ReadProblem(tc.res)
		var p *policy.Problem
		require.ErrorAs(t, err, &p, tc.reason)
		assert.Equal(t, tc.want, p, tc.reason)
		assert.EqualError(t, err, tc.text, tc.reason)
	}
	assert.NoError(t, policy.ReadProblem(response(204, "", "")))
	assert.NoError(t, policy.ReadProblem(response(302, "", "")))
}

func TestAProblemIsTheSameAfterATrip(t *testing.T) {
	p := policy.Problem{Type: "about:blank", Title: "t", Status: 418, Detail: "d", Instance: "i", Extensions: map[string]any{"a": 1.0, "status": "x", "title": "y"}}
	text, err := json.Marshal(&p)
	require.NoError(t, err)
	assert.JSONEq(t, `{"type":"about:blank","title":"t","status":418,"detail":"d","instance":"i","a":1}`, string(text), "an extension cannot pose as a member")
	var back policy.Problem
	require.NoError(t, json.Unmarshal(text, &back))
	assert.Equal(t, map[string]any{"a": 1.0}, back.Extensions)
	assert.Error(t, json.Unmarshal([]byte(`7`), &back))
}

func TestAnErrorHasItsProblemInside(t *testing.T) {
	p := &policy.Problem{Title: "Full"}
	var got *policy.Problem
	assert.ErrorAs(t, error(&policy.Error{Detail: "x", Problem: p}), &got)
	assert.NoError(t, errors.Unwrap(&policy.Error{Detail: "x"}))
	assert.EqualError(t, &policy.Error{Status: 404}, "Not Found")
}

func FuzzReadProblem(f *testing.F) {
	f.Add(409, "application/problem+json", `{"title":"x","status":1e9,"a":{"b":[null]}}`)
	f.Add(500, "text/plain", "\xff")
	f.Fuzz(func(t *testing.T, status int, media, body string) {
		err := policy.ReadProblem(response(status, media, body))
		if err == nil {
			require.Less(t, status, 400)
			return
		}
		text, marshalErr := json.Marshal(err)
		require.NoError(t, marshalErr)
		require.True(t, json.Valid(text))
	})
}

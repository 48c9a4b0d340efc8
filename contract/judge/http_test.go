package judge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// post asks a model over HTTP.
func post(c *http.Client) model {
	return func(ctx context.Context, system, user string) (string, error) {
		doc, err := json.Marshal(map[string]string{"system": system, "user": user})
		if err != nil {
			return "", err
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://model.example/judge", bytes.NewReader(doc))
		if err != nil {
			return "", err
		}
		r.Header.Set("Content-Type", "application/json")
		resp, err := c.Do(r)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		return string(body), err
	}
}

// obedientHTTP is the obedient model behind HTTP.
func obedientHTTP(t testing.TB) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		var asked struct{ System, User string }
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			return nil, err
		}
		text, err := obedient(t)(r.Context(), asked.System, asked.User)
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
			Body: io.NopCloser(bytes.NewReader([]byte(text))), Request: r}, err
	}
}

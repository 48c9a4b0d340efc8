package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

// maxAnswer bounds an answer of the API, in bytes.
const maxAnswer = 8 << 20

// A client calls the management API.
type client struct {
	base string // without a slash at its end
	http *http.Client
}

// do sends in, unless it is nil, and decodes the answer into out. What the API
// refuses comes back as its problem details, whole.
func (c *client) do(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json, application/problem+json")
	req.Header.Set("Content-Type", "application/json")
	res, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("the cluster's API cannot be reached: %w", err)
	}
	defer res.Body.Close()
	if err := policy.ReadProblem(res); err != nil {
		return err
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxAnswer)).Decode(out); err != nil {
		return fmt.Errorf("the cluster's API gave an answer that cannot be read: %w", err)
	}
	return nil
}

// below is the path of a thing in a collection. A name made of dots would climb
// out of it.
func below(path, id string) (string, error) {
	if strings.Trim(id, ".") == "" {
		return "", &policy.Error{Status: http.StatusBadRequest, Code: policy.CodeInvalidArguments,
			Detail: fmt.Sprintf("id is %q", id), Hint: "give the id of a thing that the list tool shows"}
	}
	return path + "/" + url.PathEscape(id), nil
}

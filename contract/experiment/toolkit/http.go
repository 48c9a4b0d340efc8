package toolkit

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// maxBody is the number of bytes that are kept of a response, and of each stream of
// a process.
const maxBody = 1 << 20

// httpCall is a provider of type http.
type httpCall struct {
	client *http.Client
	p      *Provider
}

// do sends the request and outputs {status, headers, body}. It retries failed
// connections.
func (c httpCall) do(ctx context.Context, vs values) (any, error) {
	client, err := c.sender()
	if err != nil {
		return nil, err
	}
	for retry := 0; ; retry++ {
		req, err := c.request(ctx, vs)
		if err != nil {
			return nil, err
		}
		resp, err := client.Do(req)
		if err == nil {
			return answer(resp)
		}
		if retry == c.p.MaxRetries || ctx.Err() != nil {
			return nil, fmt.Errorf("toolkit: %w", err)
		}
		select {
		case <-time.After(100 * time.Millisecond << min(retry, 5)):
		case <-ctx.Done():
			return nil, fmt.Errorf("toolkit: %w", err)
		}
	}
}

// sender returns the client. It does not check certificates if the document says
// so.
func (c httpCall) sender() (*http.Client, error) {
	client := http.Client{}
	if c.client != nil {
		client = *c.client
	}
	if c.p.VerifyTLS == nil || *c.p.VerifyTLS {
		return &client, nil
	}
	transport := client.Transport
	transport = cmp.Or(transport, http.DefaultTransport)
	own, ok := transport.(*http.Transport)
	if !ok {
		return nil,
			fmt.Errorf("toolkit: verify_tls is false; allowed: with a client whose transport is an *http.Transport")
	}
	own = own.Clone()
	own.DisableKeepAlives = true // nothing else closes the idle connections of the clone
	own.TLSClientConfig = cmp.Or(own.TLSClientConfig, &tls.Config{})
	own.TLSClientConfig.InsecureSkipVerify = true
	client.Transport = own
	return &client, nil
}

// request puts the arguments into the query of a GET, else into the body: as JSON
// if the content type says so, else as a form.
func (c httpCall) request(ctx context.Context, vs values) (*http.Request, error) {
	target, err := vs.string(c.p.URL)
	if err != nil {
		return nil, fmt.Errorf("toolkit: url: %w", err)
	}
	args, err := arguments(c.p, vs)
	if err != nil {
		return nil, err
	}
	header := make(http.Header)
	for name, text := range c.p.Headers {
		value, err := vs.string(text)
		if err != nil {
			return nil, fmt.Errorf("toolkit: header %s: %w", name, err)
		}
		header.Set(name, value)
	}
	method := strings.ToUpper(c.p.Method)
	method = cmp.Or(method, http.MethodGet)
	var body []byte
	switch {
	case len(args) == 0:
	case method == http.MethodGet:
		target, err = withQuery(target, args)
	case strings.Contains(header.Get("Content-Type"), "json"):
		body, err = json.Marshal(args)
	default:
		body = []byte(form(args).Encode())
		if header.Get("Content-Type") == "" {
			header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("toolkit: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("toolkit: %w", err)
	}
	req.Header = header
	if host := header.Get("Host"); host != "" {
		req.Host = host
	}
	return req, nil
}

func withQuery(target string, args map[string]any) (string, error) {
	u, err := url.Parse(target)
	if err != nil {
		return "", err
	}
	query := u.Query()
	maps.Copy(query, form(args))
	u.RawQuery = query.Encode()
	return u.String(), nil
}

// form encodes arguments; a list gives one value for each of its items.
func form(args map[string]any) url.Values {
	values := make(url.Values)
	for _, name := range slices.Sorted(maps.Keys(args)) {
		list, ok := args[name].([]any)
		if !ok {
			list = []any{args[name]}
		}
		for _, v := range list {
			values.Add(name, spell(v))
		}
	}
	return values
}

// answer reads a response, with its body as JSON if its content type says so.
func answer(resp *http.Response) (any, error) {
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return nil, fmt.Errorf("toolkit: body: %w", err)
	}
	output := map[string]any{"status": resp.StatusCode}
	if len(body) > maxBody {
		body, output["truncated"] = body[:maxBody], true
	}
	headers := make(map[string]any, len(resp.Header))
	for name, list := range resp.Header {
		headers[name] = strings.Join(list, ", ")
	}
	output["headers"], output["body"] = headers, string(body)
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if (err == nil || errors.Is(err, mime.ErrInvalidMediaParameter)) &&
		(kind == "application/json" || strings.HasSuffix(kind, "+json")) {
		var v any
		if decode(body, &v) == nil {
			output["body"] = v
		}
	}
	return output, nil
}

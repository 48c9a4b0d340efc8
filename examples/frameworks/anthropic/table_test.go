package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
)

// seen is what the client's caller gets, in words.
type seen struct {
	text   string
	calls  []string
	reason string
	err    error
}

func (s seen) String() string {
	var parts []string
	if s.text != "" {
		parts = append(parts, code(strconv.Quote(s.text)))
	}
	for _, c := range s.calls {
		parts = append(parts, code(c))
	}
	if s.reason != "" {
		parts = append(parts, "stop_reason "+s.reason)
	}
	if s.err != nil {
		parts = append(parts, "**error** "+errorLine(s.err))
	}
	if len(parts) == 0 {
		return "nothing, and no error"
	}
	if s.text == "" && len(s.calls) == 0 && s.err == nil {
		parts = append([]string{"nothing"}, parts...)
	}
	return strings.Join(parts, ", ")
}

// errorLine is an error as a line of a table.
func errorLine(err error) string {
	var api *anthropic.Error
	if errors.As(err, &api) {
		return strings.TrimSpace(fmt.Sprintf("`*anthropic.Error` %d %s", api.StatusCode, api.Type()))
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	text := err.Error()
	if i := strings.Index(text, ": current time"); i >= 0 {
		text = text[:i]
	}
	return code(text)
}

// code formats a text for a table cell, shortened in the middle.
func code(text string) string {
	const longest = 80
	if runes := []rune(text); len(runes) > longest {
		text = string(runes[:longest/2]) + " … " + string(runes[len(runes)-longest/2:])
	}
	return "`" + strings.NewReplacer("|", `\|`, "`", "'").Replace(text) + "`"
}

func params(calls bool) anthropic.MessageNewParams {
	p := anthropic.MessageNewParams{
		Model: model, MaxTokens: 1024,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("Where is order 1042?"))},
	}
	if calls {
		p.Tools = tools()
	}
	return p
}

func whole(ctx context.Context, client anthropic.Client, calls bool) seen {
	m, err := client.Messages.New(ctx, params(calls))
	if err != nil {
		return seen{err: err}
	}
	return seenMessage(m)
}

func seenMessage(m *anthropic.Message) (s seen) {
	s.reason = string(m.StopReason)
	for _, block := range m.Content {
		s.text += block.Text
		if block.Type == "tool_use" {
			s.calls = append(s.calls, block.Name+" "+string(block.Input))
		}
	}
	return s
}

// streamed gathers the message as the client's users do.
func streamed(ctx context.Context, client anthropic.Client, calls bool) seen {
	stream := client.Messages.NewStreaming(ctx, params(calls))
	defer stream.Close()
	var m anthropic.Message
	for stream.Next() {
		if err := m.Accumulate(stream.Current()); err != nil {
			s := seenMessage(&m)
			s.err = err
			return s
		}
	}
	s := seenMessage(&m)
	s.err = stream.Err()
	return s
}

// meet makes one call through the fault, in virtual time, with three minutes to
// wait for it, and returns the outcome and the attempts on the wire.
func meet(t *testing.T, r row, from source, how func(context.Context, anthropic.Client, bool) seen) (cell, attempts string) {
	t.Run(r.name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			plan, err := chaos.NewPlan(1, chaos.Rule{Target: "POST api.anthropic.example/*", Fault: r.fault})
			require.NoError(t, err)
			in := plan.Injector("table", &chaos.InjectorOptions{RecordAll: true})
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			provider, end := from()
			s := how(chaos.NewContext(ctx, in), newClient(provider), r.calls)
			cancel()
			require.NoError(t, end())
			events := in.Events()
			require.NotEmpty(t, events)
			cell, attempts = s.String(), fmt.Sprint(len(events))
			if !events[0].Delivered {
				require.NotEmpty(t, events[0].Note)
				cell, attempts = "not delivered", "–"
			}
			if s.err != nil {
				assert.NotContains(t, strings.ToLower(s.err.Error()), "chaos", "nothing tells of a test")
			}
		})
	})
	return cell, attempts
}

// A source makes, in a bubble, what answers the client, and the function that ends it.
type source func() (answers http.RoundTripper, end func() error)

// live is the provider in this process.
func live() (http.RoundTripper, func() error) {
	provider := chaoshttp.InProcess(newProvider())
	return provider, provider.Close
}

// The section of this client in docs/llm-faults.md is what the client does, before the
// provider and before a tape of its answers.
func TestTable(t *testing.T) {
	table := tableOf(t, live)
	section(t, "anthropic-sdk-go", table)
	assert.Equal(t, table, tableOf(t, played(t, recordCalls(t, false))), "from a tape")
}

func tableOf(t *testing.T, from source) string {
	var table strings.Builder
	table.WriteString("| fault | not streamed | attempts | streamed | attempts |\n|---|---|---|---|---|\n")
	for _, r := range rows() {
		one, tries := meet(t, r, from, whole)
		other, retries := meet(t, r, from, streamed)
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s | %s |\n", r.name, one, tries, other, retries)
	}
	return table.String()
}

// section holds the part of the page between two comments to what the test
// found; with UPDATE_GOLDEN=1 it writes it anew.
func section(t *testing.T, name, text string) {
	path := filepath.Join("..", "..", "..", "docs", "llm-faults.md")
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	begin, end := []byte("<!-- "+name+" begin -->\n"), []byte("<!-- "+name+" end -->\n")
	head, rest, found := bytes.Cut(page, begin)
	require.True(t, found, "%s has no section %s", path, name)
	old, tail, found := bytes.Cut(rest, end)
	require.True(t, found, "the section %s of %s has no end", name, path)
	text = "\n" + text + "\n"
	if string(old) == text {
		return
	}
	if os.Getenv("UPDATE_GOLDEN") == "1" {
		require.NoError(t, os.WriteFile(path, bytes.Join([][]byte{head, begin, []byte(text), end, tail}, nil), 0o644))
		return
	}
	assert.Equal(t, string(old), text, "to accept what the test found: UPDATE_GOLDEN=1 go test -run TestTable .")
}

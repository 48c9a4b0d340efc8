package drill

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/examples/frameworks/internal/page"
)

// longest is the length of a text in a cell.
const longest = 80

// Seen is what the client's caller gets, in words.
type Seen struct {
	Text, Refusal string
	Calls         []string
	Reason        string // why the answer ended
	Err           error
}

// line is what was seen as a cell of a table.
func (c *Client) line(s Seen) string {
	var parts []string
	if s.Text != "" {
		parts = append(parts, page.Code(strconv.Quote(s.Text), longest))
	}
	if s.Refusal != "" {
		parts = append(parts, "refusal "+page.Code(strconv.Quote(s.Refusal), longest))
	}
	for _, call := range s.Calls {
		parts = append(parts, page.Code(call, longest))
	}
	if s.Reason != "" {
		parts = append(parts, c.Reason+" "+s.Reason)
	}
	if s.Err != nil {
		parts = append(parts, "**error** "+c.errorLine(s.Err))
	}
	if len(parts) == 0 {
		return "nothing, and no error"
	}
	if s.Text+s.Refusal == "" && len(s.Calls) == 0 && s.Err == nil {
		parts = append([]string{"nothing"}, parts...)
	}
	return strings.Join(parts, ", ")
}

// errorLine is an error as a line of a table.
func (c *Client) errorLine(err error) string {
	if own := c.OwnError(err); own != "" {
		return own
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	text, _, _ := strings.Cut(err.Error(), ": current time")
	return page.Code(text, longest)
}

// meet makes one call through the fault, in virtual time, with three minutes to
// wait for it, and returns the outcome and the attempts on the wire.
func (c *Client) meet(t *testing.T, r row, from source, how Call) (cell, attempts string) {
	t.Run(r.name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			plan, err := chaos.NewPlan(1, chaos.Rule{Target: c.Target, Fault: r.fault})
			require.NoError(t, err)
			in := plan.Injector("table", &chaos.InjectorOptions{RecordAll: true})
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			provider, end := from()
			s := how(chaos.NewContext(ctx, in), provider, r.calls)
			calm := how(ctx, c.Provider(), r.calls)
			cancel()
			require.NoError(t, end())
			events := in.Events()
			require.NotEmpty(t, events)
			cell, attempts = c.line(s), fmt.Sprint(len(events))
			if !events[0].Delivered {
				require.NotEmpty(t, events[0].Note)
				require.Equal(t, calm, s, "a fault that is not delivered changes nothing")
				cell, attempts = "not delivered", "–"
			}
			if s.Err != nil {
				assert.NotContains(t, strings.ToLower(s.Err.Error()), "chaos", "nothing tells of a test")
			}
		})
	})
	return cell, attempts
}

// A source makes, in a bubble, what answers the client, and the function that ends it.
type source func() (answers http.RoundTripper, end func() error)

// live is the provider in this process.
func (c *Client) live() (http.RoundTripper, func() error) {
	provider := chaoshttp.InProcess(c.Provider())
	return provider, provider.Close
}

// Table holds the section of the client in docs/reference/llm-clients.md to what the client
// does, before the provider and before a tape of its answers.
func (c *Client) Table(t *testing.T) {
	table := c.tableOf(t, c.live)
	page.Hold(t, "reference/llm-clients.md", c.Section, table)
	assert.Equal(t, table, c.tableOf(t, c.played(t, c.record(t, false))), "from a tape")
}

func (c *Client) tableOf(t *testing.T, from source) string {
	var table strings.Builder
	table.WriteString("| fault | not streamed | attempts | streamed | attempts |\n|---|---|---|---|---|\n")
	for _, r := range c.rows() {
		one, tries := c.meet(t, r, from, c.Whole)
		other, retries := c.meet(t, r, from, c.Streamed)
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s | %s |\n", r.name, one, tries, other, retries)
	}
	return table.String()
}

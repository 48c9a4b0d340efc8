package planjson_test

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/chaossql"
)

// The world of these tests: a shop with tools, a service and a model over HTTP,
// a stream, a memory, a guardrail and another agent. It is small, and every
// fault of the catalogue finds something in it to change.
type world struct {
	t       require.TestingT
	refunds map[string]int // effects, by order
	pace    time.Duration  // between calls of tools
	says    string         // of the model, as JSON has it; empty: a sentence
}

func newWorld(t require.TestingT) *world { return &world{t: t, refunds: map[string]int{}} }

// answer is what a caller got of one call.
type answer struct {
	call, result string
	err          error
	took         time.Duration
}

func (a answer) String() string {
	s := a.result
	if a.err != nil {
		s = strings.TrimSpace("error " + a.err.Error() + " " + s)
	}
	if took := a.took.Round(time.Millisecond); took > 0 {
		s += " after " + took.String()
	}
	return s
}

// ask makes one call as an agent does: it waits at most a minute, and survives a panic.
func ask(ctx context.Context, call string, do func(context.Context) (string, error)) (a answer) {
	a.call = call
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	start := time.Now()
	defer func() {
		a.took = time.Since(start)
		if p := recover(); p != nil {
			a.err = fmt.Errorf("panic: %v", p)
		}
	}()
	a.result, a.err = do(ctx)
	return a
}

type item struct {
	SKU   string  `json:"sku"`
	Name  string  `json:"name"`
	Price float64 `json:"price"`
}

type row struct {
	ID       string  `json:"id"`
	Status   string  `json:"status"`
	Total    float64 `json:"total"`
	Currency string  `json:"currency"`
	Paid     string  `json:"paid_at"`
	Gift     bool    `json:"gift"`
	Note     string  `json:"note"`
	Items    []item  `json:"items"`
}

func (w *world) row(id string) row {
	r := row{ID: id, Status: "shipped", Total: 129.5, Currency: "EUR", Paid: "2026-03-01T10:00:00Z", Note: "Leave it with the neighbour in Zürich.",
		Items: []item{{"S-17", "green lamp", 40.25}, {"S-23", "oak table", 59}, {"S-31", "wool rug", 30.25}}}
	if w.refunds[id] > 0 {
		r.Status = "refunded"
	}
	return r
}

type orderArgs struct {
	Order string `json:"order"`
}

func (w *world) registry() chaos.ToolRegistry {
	r, err := chaos.NewRegistry(
		chaos.Func(chaos.Tool{Name: "orders.get", Description: "Shows one order.", Effect: chaos.EffectNone}, func(_ context.Context, a orderArgs) (row, error) {
			return w.row(a.Order), nil
		}),
		chaos.Func(chaos.Tool{Name: "orders.total", Description: "Says what an order costs.", Effect: chaos.EffectNone}, func(_ context.Context, a orderArgs) (map[string]any, error) {
			return map[string]any{"order": a.Order, "total": w.row(a.Order).Total}, nil
		}),
		chaos.Func(chaos.Tool{Name: "orders.refund", Description: "Pays an order back.", Effect: chaos.EffectDone}, func(_ context.Context, a orderArgs) (map[string]any, error) {
			w.refunds[a.Order]++
			return map[string]any{"refunded": a.Order, "times": w.refunds[a.Order]}, nil
		}),
	)
	require.NoError(w.t, err)
	return chaos.WrapRegistry(r, nil)
}

// tools: the agent lists its tools, and looks at each order, pays it back and looks again.
func (w *world) tools(ctx context.Context, orders int) (got []answer) {
	r := w.registry()
	got = append(got, ask(ctx, "tools/list", func(ctx context.Context) (string, error) {
		list, err := r.Tools(ctx)
		text, _ := json.Marshal(list)
		return string(text), err
	}))
	for n := range orders {
		for _, tool := range []string{"orders.get", "orders.total", "orders.refund", "orders.get"} {
			time.Sleep(w.pace)
			got = append(got, ask(ctx, tool, func(ctx context.Context) (string, error) {
				result, err := r.CallTool(ctx, tool, json.RawMessage(fmt.Sprintf(`{"order":"A%d"}`, n)))
				return string(result), err
			}))
		}
	}
	for n := range orders {
		if id := fmt.Sprint("A", n); w.refunds[id] != 1 {
			got = append(got, answer{call: "afterwards", result: fmt.Sprintf("%s was paid back %d times", id, w.refunds[id])})
		}
	}
	return got
}

const sentence = "your order will be there tomorrow"

// stream: six items, as often as asked.
func (w *world) stream(ctx context.Context, times int) (got []answer) {
	tokens := chaos.WrapStream("tokens", func(context.Context, int) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) {
			for word := range strings.FieldsSeq(sentence) {
				if !yield(word, nil) {
					return
				}
			}
		}
	})
	for n := range times {
		got = append(got, ask(ctx, "tokens", func(ctx context.Context) (result string, err error) {
			for word, err := range tokens(ctx, n) {
				if err != nil {
					return strings.TrimSpace(result), err
				}
				result += word + " "
			}
			return strings.TrimSpace(result), nil
		}))
	}
	return got
}

// service: a JSON document over HTTP.
func (w *world) service(ctx context.Context, times int) (got []answer) {
	handler := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		doc, _ := json.Marshal(w.row(r.URL.Path[len("/orders/"):]))
		_, _ = rw.Write(doc)
	})
	return w.http(ctx, handler, times, func(n int) (*http.Request, error) {
		return http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("https://shop.example/orders/A%d", n), nil)
	})
}

// model: chat completions with a text and a tool call, whole or as events.
func (w *world) model(ctx context.Context, times int, events bool) (got []answer) {
	const whole = `{"id":"c1","object":"chat.completion","created":1,"model":"gpt-4o","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant",` +
		`"content":"I will pay the order back at once.","tool_calls":[{"id":"t1","type":"function","function":{"name":"refund","arguments":"{\"order\":\"A1\",\"amount\":129}"}}]}}],` +
		`"usage":{"prompt_tokens":9,"completion_tokens":9,"total_tokens":18}}`
	chunk := func(delta, finish string) string {
		return `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"gpt-4o","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + "}]}\n\n"
	}
	handler := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if !events {
			rw.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(rw, strings.Replace(whole, "I will pay the order back at once.", cmp.Or(w.says, "I will pay the order back at once."), 1))
			return
		}
		rw.Header().Set("Content-Type", "text/event-stream")
		for word := range strings.FieldsSeq("I will pay it back") {
			_, _ = io.WriteString(rw, chunk(`{"content":"`+word+` "}`, "null"))
			rw.(http.Flusher).Flush()
		}
		_, _ = io.WriteString(rw, chunk("{}", `"stop"`)+"data: [DONE]\n\n")
	})
	return w.http(ctx, handler, times, func(int) (*http.Request, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://api.openai.com/v1/chat/completions",
			strings.NewReader(fmt.Sprintf(`{"model":"gpt-4o","stream":%v,"messages":[{"role":"user","content":"pay A1 back"}]}`, events)))
		if err == nil {
			r.Header.Set("Content-Type", "application/json")
		}
		return r, err
	})
}

func (w *world) http(ctx context.Context, handler http.Handler, times int, request func(int) (*http.Request, error)) (got []answer) {
	server := chaoshttp.InProcess(handler)
	defer func() { _ = server.Close() }()
	client := &http.Client{Transport: chaoshttp.NewTransport(server, nil)}
	for n := range times {
		got = append(got, ask(ctx, "http", func(ctx context.Context) (string, error) {
			r, err := request(n)
			require.NoError(w.t, err)
			response, err := client.Do(r.WithContext(ctx))
			if err != nil {
				return "", err
			}
			defer func() { _ = response.Body.Close() }()
			body, err := io.ReadAll(response.Body)
			text := string(body)
			if after := response.Header.Get("Retry-After"); after != "" {
				text = "retry after " + after + ": " + text
			}
			if response.StatusCode != http.StatusOK {
				text = fmt.Sprintf("status %d: %s", response.StatusCode, text)
			}
			return text, err
		}))
	}
	return got
}

// others: the agent's memory and its model behind a function, the guardrail in front of it, and the agent that it hands work to.
func (w *world) others(ctx context.Context, times int) (got []answer) {
	type words = json.RawMessage
	memory := chaos.Wrap("memory", func(_ context.Context, n int) (words, error) {
		return words(fmt.Sprintf(`[{"role":"system","content":"Be brief."},{"role":"user","content":"Where is A1?"},`+
			`{"role":"assistant","content":"On its way."},{"role":"user","content":"Pay it back, for the %d. time."}]`, n+1)), nil
	})
	guardrail := chaos.Wrap("guardrail", func(_ context.Context, text string) (words, error) {
		return words(fmt.Sprintf(`{"allowed":%v,"rule":"payments"}`, !strings.Contains(text, "all"))), nil
	})
	chat := chaos.Wrap("chat", func(_ context.Context, n int) (words, error) {
		return words(fmt.Sprintf(`{"answer":"{\"n\":%d,\"total\":129.5}","usage":{"prompt_tokens":9,"completion_tokens":9,"total_tokens":18}}`, n)), nil
	})
	jobs := 0
	handoff := chaos.Wrap("handoff", func(_ context.Context, task words) (words, error) {
		jobs++
		return words(fmt.Sprintf(`{"job":%d,"task":%s}`, jobs, task)), nil
	})
	text := func(r words, err error) (string, error) { return string(r), err }
	for n := range times {
		got = append(got,
			ask(ctx, "memory", func(ctx context.Context) (string, error) { return text(memory(ctx, n)) }),
			ask(ctx, "chat", func(ctx context.Context) (string, error) { return text(chat(ctx, n)) }),
			ask(ctx, "guardrail", func(ctx context.Context) (string, error) {
				return text(guardrail(ctx, []string{"refund one order", "refund all orders"}[n%2]))
			}),
			ask(ctx, "handoff", func(ctx context.Context) (string, error) {
				return text(handoff(ctx, words(fmt.Sprintf(`{"agent":"billing","order":"A%d"}`, n))))
			}))
	}
	return append(got, answer{call: "afterwards", result: fmt.Sprintf("the other agent did %d jobs", jobs)})
}

// crowd: two calls at once, of which the first should be done first, and a
// callee that takes longer than its caller has patience.
func (w *world) crowd(ctx context.Context) (got []answer) {
	var mu sync.Mutex
	done := ""
	call := chaos.WrapWith("jobs", func(_ context.Context, n int) (string, error) {
		time.Sleep(2 * time.Second)
		mu.Lock()
		defer mu.Unlock()
		done += fmt.Sprint(n)
		return fmt.Sprint("job ", n), nil
	}, &chaos.WrapOptions[int]{Key: func(n int) uint64 { return uint64(n) }})
	answers := make([]answer, 2)
	var group sync.WaitGroup
	for n := range answers {
		group.Go(func() {
			time.Sleep(time.Duration(n) * time.Second)
			answers[n] = ask(ctx, "jobs", func(ctx context.Context) (string, error) { return call(ctx, n) })
		})
	}
	group.Wait()
	got = append(append(got, answers...), answer{call: "afterwards", result: "done in the order " + done})
	slow := chaos.Wrap("report", func(ctx context.Context, _ int) (string, error) {
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(2 * time.Minute):
			return "report", nil
		}
	})
	return append(got, ask(ctx, "report", func(ctx context.Context) (string, error) { return slow(ctx, 1) }))
}

// visit makes the calls of one part of the world.
func (w *world) visit(ctx context.Context, part string) []answer {
	switch part {
	case "tools":
		return w.tools(ctx, 2)
	case "stream":
		return w.stream(ctx, 2)
	case "service":
		return w.service(ctx, 4)
	case "long service":
		return w.service(ctx, 12)
	case "many requests":
		return w.service(ctx, 400)
	case "12 tool calls":
		return w.tools(ctx, 3)
	case "many tool calls":
		return w.tools(ctx, 100)
	case "model":
		return w.model(ctx, 3, false)
	case "model in JSON":
		w.says = `{\"order\":\"A1\",\"total\":129.5}`
		return w.model(ctx, 3, false)
	case "long model":
		return w.model(ctx, 12, false)
	case "events":
		return w.model(ctx, 2, true)
	case "others":
		return w.others(ctx, 3)
	case "crowd":
		return w.crowd(ctx)
	case "database":
		return w.database(ctx)
	}
	require.Fail(w.t, "no such part", part)
	return nil
}

// database opens three connections, and pays an order back over each in a transaction.
func (w *world) database(ctx context.Context) (got []answer) {
	db := sql.OpenDB(chaossql.Wrap(ledger{}, nil))
	defer db.Close()
	refund := func(c *sql.Conn) error {
		tx, err := c.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if _, err := tx.ExecContext(ctx, "INSERT INTO refunds VALUES (?)", "A1"); err != nil {
			return err
		}
		return tx.Commit()
	}
	for range 3 {
		c, err := db.Conn(ctx)
		if err != nil {
			got = append(got, answer{call: "connect", err: err})
			continue
		}
		defer c.Close()
		got = append(got, answer{call: "refund", err: refund(c)})
	}
	return got
}

// ledger is a driver that takes every write.
type ledger struct{}

func (l ledger) Connect(context.Context) (driver.Conn, error) { return l, nil }
func (ledger) Driver() driver.Driver                          { return nil }
func (ledger) Prepare(string) (driver.Stmt, error)            { return nil, driver.ErrSkip }
func (ledger) Close() error                                   { return nil }
func (l ledger) Begin() (driver.Tx, error)                    { return l, nil }
func (ledger) Commit() error                                  { return nil }
func (ledger) Rollback() error                                { return nil }
func (ledger) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	return driver.RowsAffected(1), nil
}
func (ledger) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return nil, driver.ErrSkip
}

package chaoshttp_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/internal/catalogtest"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// The faults that docs/worlds.md calls independent of order.
func independent() map[string]chaos.Fault {
	rows := map[string]chaos.Fault{}
	for _, r := range catalogue() {
		name, _, _ := strings.Cut(r.name, " ")
		rows[name] = r.fault
	}
	return rows
}

// exchanges makes every one of twenty requests three times, by so many workers
// in a random order, and tells what came of it.
func exchanges(t *testing.T, f chaos.Fault, h http.HandlerFunc, workers int, disorder uint64) (seen []string) {
	synctest.Test(t, func(t *testing.T) {
		in := injectorOf(t, chaos.Rule{Name: "rule", When: when.Prob(0.5), Fault: f})
		client := inProcess(t, h)
		ctx := chaos.NewContext(t.Context(), in)
		chance := rand.New(rand.NewPCG(disorder, 0))
		order := chance.Perm(60)
		queue, done := make(chan int, len(order)), make(chan string, len(order))
		for _, i := range order {
			queue <- i
		}
		close(queue)
		for range workers {
			pause := time.Duration(chance.IntN(1000)) * time.Microsecond
			go func() {
				for i := range queue {
					time.Sleep(pause)
					g := ask(ctx, t, client, fmt.Sprintf("https://example.com/%d", i%2), fmt.Sprintf(`{"order":%d}`, i%20))
					line := fmt.Sprintf("%d: %v %q %v", i%20, g.err, g.body, g.cut)
					if g.resp != nil {
						line += " " + g.resp.Status
					}
					done <- line
				}
			}()
		}
		for range order {
			seen = append(seen, <-done)
		}
		for _, e := range in.Events() {
			e.Start, e.End, e.Deadline, e.Spent, e.Ordinal, e.Attempt = 0, 0, 0, 0, 0, 0
			line, err := json.Marshal(e)
			require.NoError(t, err)
			seen = append(seen, string(line))
		}
		assert.Empty(t, in.Undelivered(), "the rule injected nothing, so nothing was compared")
	})
	slices.Sort(seen)
	return seen
}

// What a call gets depends on its coordinates, not on who comes first.
func TestFaultsAreIndependentOfOrder(t *testing.T) {
	law := func(faults map[string]chaos.Fault, h http.HandlerFunc) {
		for name, f := range faults {
			t.Run(name, func(t *testing.T) {
				first := exchanges(t, f, h, 1, 0)
				for i, workers := range []int{2, 8, 64} {
					assert.Equal(t, first, exchanges(t, f, h, workers, uint64(i+1)), "%d workers", workers)
				}
			})
		}
	}
	law(independent(), desk)
	said := call()
	said.text = `{"order_id": 1042}` // an answer in JSON, for the faults of one
	law(everyStreamFault(), answering("text/event-stream", wires()["chat stream"].write(said, []int{3}), false))
}

// everyStreamFault are the faults of docs/worlds.md that this file holds
// to their claim, those of positions anywhere.
func everyStreamFault() map[string]chaos.Fault {
	const at = chaoshttp.Anywhere
	faults := all()
	maps.Copy(faults, map[string]chaos.Fault{
		"slow first": chaoshttp.SlowFirstEvent(time.Second), "slow": chaoshttp.SlowEvents(time.Second), "cut event": chaoshttp.CutEvent(at),
		"cut stream": chaoshttp.CutStream(at), "malform event": chaoshttp.MalformEvent(at), "duplicate": chaoshttp.DuplicateEvent(at),
		"swap": chaoshttp.SwapEvents(at), "error": chaoshttp.ErrorEvent(chaoshttp.OpenAI, chaoshttp.KindServer, at), "terminator": chaoshttp.DropTerminator(),
	})
	return faults
}

// Every constructor has a row in the page, and none stands there that does not exist.
func TestThePageListsEveryFault(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "determinism.md"))
	require.NoError(t, err)
	var listed, names []string
	for _, row := range regexp.MustCompile("(?m)^\\| `chaoshttp\\.(\\w+)` \\|").FindAllStringSubmatch(string(page), -1) {
		listed = append(listed, row[1])
	}
	for _, r := range chaoshttp.Rows() {
		name, _, _ := strings.Cut(strings.TrimPrefix(r.Go, "chaoshttp."), "(")
		names = append(names, name)
	}
	assert.ElementsMatch(t, names, listed)
}

// The table of docs/http.md has a line for every fault, and says of
// each what its Describe method says.
func TestThePageShowsTheCoordinates(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "http.md"))
	require.NoError(t, err)
	table := map[string][]string{}
	for _, line := range regexp.MustCompile("(?m)^\\| `chaoshttp\\.(\\w+)` \\| `(\\w+)` \\| (\\w+) \\| (\\w+) \\| (\\w+) \\|").FindAllStringSubmatch(string(page), -1) {
		table[line[1]] = line[2:]
	}
	named := map[string]bool{}
	for _, r := range catalogue() {
		name, _, _ := strings.Cut(r.name, " ")
		d := r.fault.(chaos.Described).Describe()
		assert.Equal(t, r.kind, d.Kind)
		assert.Equal(t, []string{d.Kind, string(d.Class), string(d.Visibility), string(d.Effect)}, table[name], name)
		assert.NotEmpty(t, d.Persistence, name)
		named[name] = true
	}
	assert.Len(t, table, len(named), "rows of faults that there are not")
}

func TestRows(t *testing.T) { catalogtest.Run(t, chaoshttp.Rows()) }

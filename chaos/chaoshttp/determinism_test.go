package chaoshttp_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
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
	"github.com/shakedown-go/shakedown/chaos/when"
)

// The faults that docs/determinism.md calls independent of order.
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
func exchanges(t *testing.T, f chaos.Fault, workers int, disorder uint64) (seen []string) {
	synctest.Test(t, func(t *testing.T) {
		in := injectorOf(t, chaos.Rule{Name: "rule", When: when.Prob(0.5), Fault: f})
		client := inProcess(t, desk)
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
			e.Start, e.End, e.Spent, e.Ordinal, e.Attempt = 0, 0, 0, 0, 0
			line, err := json.Marshal(e)
			require.NoError(t, err)
			seen = append(seen, string(line))
		}
		assert.Empty(t, in.Undelivered(), "the rule injected nothing, so nothing was compared")
	})
	slices.Sort(seen)
	return seen
}

func TestFaultsAreIndependentOfOrder(t *testing.T) {
	for name, f := range independent() {
		t.Run(name, func(t *testing.T) {
			first := exchanges(t, f, 1, 0)
			for i, workers := range []int{2, 8, 64} {
				assert.Equal(t, first, exchanges(t, f, workers, uint64(i+1)), "%d workers", workers)
			}
		})
	}
}

func TestThePageListsEveryFault(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "determinism.md"))
	require.NoError(t, err)
	var listed, tested []string
	for _, row := range regexp.MustCompile("(?m)^\\| `chaoshttp\\.(\\w+)` \\|").FindAllStringSubmatch(string(page), -1) {
		listed = append(listed, row[1])
	}
	for name := range independent() {
		tested = append(tested, name)
	}
	assert.Subset(t, listed, tested)
}

package chaoshttp_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// everyStreamFault are the faults of docs/determinism.md that this file holds
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

// crowd makes twelve calls with bodies of their own through a fault, with so
// many workers and in an order drawn from the seed, and returns what each got.
func crowd(t *testing.T, f chaos.Fault, workers int, disorder uint64) map[string]string {
	told := map[string]string{}
	synctest.Test(t, func(t *testing.T) {
		plan, err := chaos.NewPlan(1, chaos.Rule{Target: "*", When: when.Prob(0.7), Fault: f})
		require.NoError(t, err)
		in := plan.Injector("cell", nil)
		w := wires()["chat stream"]
		jobs := rand.New(rand.NewPCG(disorder, 1)).Perm(12)
		var mu sync.Mutex
		var running sync.WaitGroup
		for n := range workers {
			running.Go(func() {
				for i := n; i < len(jobs); i += workers {
					base := stream(w.write(call(), []int{3}))
					client := &http.Client{Transport: chaoshttp.NewTransport(base, &chaoshttp.Options{Injector: in})}
					resp, err := client.Post("https://llm.example/v1/chat/completions", "application/json", strings.NewReader(fmt.Sprintf(`{"n":%d}`, jobs[i])))
					if !assert.NoError(t, err) {
						return
					}
					body, err := io.ReadAll(resp.Body)
					resp.Body.Close()
					mu.Lock()
					told[fmt.Sprint(jobs[i])] = fmt.Sprint(string(body), err)
					mu.Unlock()
				}
			})
		}
		running.Wait()
	})
	return told
}

// What a call gets depends on its coordinates, not on who comes first.
func TestStreamFaultsAreIndependentOfOrder(t *testing.T) {
	for name, f := range everyStreamFault() {
		t.Run(name, func(t *testing.T) {
			want := crowd(t, f, 1, 0)
			require.Len(t, want, 12)
			for disorder, workers := range []int{2, 12} {
				assert.Equal(t, want, crowd(t, f, workers, uint64(disorder)))
			}
		})
	}
}

// Every constructor of the files on streams and completions has a row in
// docs/determinism.md, and none stands there that does not exist.
func TestStreamRowsOfThePage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "determinism.md"))
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "## Faults on event streams and completions\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	var rows []string
	for _, line := range regexp.MustCompile("(?m)^\\| `chaoshttp\\.(\\w+)` \\|").FindAllStringSubmatch(section, -1) {
		rows = append(rows, line[1])
	}
	var names []string
	for _, file := range []string{"sse.go", "completion.go"} {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		for _, decl := range parsed.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.IsExported() {
				names = append(names, fn.Name.Name)
			}
		}
	}
	assert.ElementsMatch(t, names, rows)
}

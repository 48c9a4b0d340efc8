package failure_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/internal/failure"
)

// texts are results of tools: of failures and harmless ones.
type texts struct {
	Failures, FailedObjects, Fine, FineObjects []string
}

func read(t *testing.T, path string) (all texts) {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &all))
	return all
}

// No failure passes for done, and nothing harmless for a failure. The files were written
// before the rules, by three hands.
func TestTheTableOfResults(t *testing.T) {
	for _, file := range []string{"testdata/texts.json", "testdata/more.json", "testdata/fresh.json"} {
		all := read(t, file)
		counts := make(map[string]int)
		check := func(list []string, harmless bool, outcome func(string) failure.Outcome) {
			for _, s := range list {
				got := outcome(s)
				counts[[]string{"done", "unknown", "failed"}[got]]++
				if harmless {
					assert.NotEqual(t, failure.Failed, got, "%s: harmless: %s", file, s)
				} else {
					assert.NotEqual(t, failure.Done, got, "%s: a failure: %s", file, s)
				}
			}
			t.Log(file, len(list), "harmless:", harmless, counts)
			clear(counts)
		}
		object := func(s string) failure.Outcome { return failure.Read(json.RawMessage(s)) }
		check(all.Failures, false, failure.Text)
		check(all.FailedObjects, false, object)
		check(all.Fine, true, failure.Text)
		check(all.FineObjects, true, object)
	}
}

// A text is read the same as JSON, as a part of a message, and in another case.
func TestOneReadingOfOneText(t *testing.T) {
	for _, s := range append(read(t, "testdata/texts.json").Failures, read(t, "testdata/more.json").Fine...) {
		doc, err := json.Marshal(s)
		require.NoError(t, err)
		assert.Equal(t, failure.Text(s), failure.Read(doc), s)
		part := `[{"type":"text","text":` + string(doc) + `}]`
		assert.Equal(t, failure.Text(s), failure.Read(json.RawMessage(part)), s)
		assert.Equal(t, failure.Text(s), failure.Read(json.RawMessage(`{"content":`+part+`}`)), s)
		assert.NotEqual(t, failure.Failed, failure.Text("The page says: "+s+" Done."), s)
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range read(&testing.T{}, "testdata/texts.json").FailedObjects {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { failure.Read(json.RawMessage(s)) })
}

func BenchmarkText(b *testing.B) {
	s := strings.Repeat("Order 1042 was delivered on 4 May to the customer in Bern. ", 100)
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		failure.Text(s)
	}
}

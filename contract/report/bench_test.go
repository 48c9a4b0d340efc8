package report_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
)

// many is a report of scenarios × invariants × trials cells, some with evidence.
func many(t testing.TB, trials int) *contract.Report {
	return build(t, "many", trials, deskScenarios, deskInvariants[:5], map[string]outcome{
		"refund-reply-lost/one-refund": broken("2 refunds", "Done.", lostReply(1)),
		"notify-slow/*":                undelivered,
	})
}

// BenchmarkFormats shows that the cost grows with the cells and no faster.
func BenchmarkFormats(b *testing.B) {
	for _, trials := range []int{10, 100, 1000} {
		r := many(b, trials)
		for _, f := range formats() {
			b.Run(fmt.Sprintf("%s/cells=%d", f.ending, len(r.Cells)), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := f.write(io.Discard, r); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkRunFile writes and reads run files: of cells alone, and with evidence for
// every cell.
func BenchmarkRunFile(b *testing.B) {
	for _, evidence := range []bool{false, true} {
		for _, trials := range []int{33, 333, 3334} {
			benchmarkRunFile(b, trials, evidence)
		}
	}
}

func benchmarkRunFile(b *testing.B, trials int, evidence bool) {
	r := build(b, "many", trials, deskScenarios, deskInvariants[:5], map[string]outcome{})
	name := "plain"
	if evidence {
		name = "evidence"
		for i := range r.Cells {
			r.Cells[i].Evidence = seen(&r.Cells[i], "I refunded order 1042.", plain("orders.get"), lostReply(1))
		}
	}
	var text bytes.Buffer
	require.NoError(b, report.Write(&text, r, nil))
	b.Run(fmt.Sprintf("write/%s/cells=%d", name, len(r.Cells)), func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(text.Len()))
		for b.Loop() {
			if err := report.Write(io.Discard, r, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run(fmt.Sprintf("read/%s/cells=%d", name, len(r.Cells)), func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(text.Len()))
		for b.Loop() {
			if _, err := report.Read(bytes.NewReader(text.Bytes()), nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// nine is a report of 9 invariants, some of whose cells are broken, undelivered and inconclusive.
func nine(t testing.TB, trials int) *contract.Report {
	var invariants []madeInvariant
	for i := range 9 {
		invariants = append(invariants, madeInvariant{id: fmt.Sprint("invariant-", i), severity: contract.Severity(i%4 + 1)})
	}
	return build(t, "nine", trials, deskScenarios, invariants, map[string]outcome{
		"refund-reply-lost/invariant-1": broken("2 refunds", "Done.", lostReply(1)), "notify-slow/*": undelivered,
		"orders-lie/invariant-7": inconclusive("the log dropped 3 events"),
	})
}

// A baseline of 10⁵ cells of 9 invariants has at most 2 MB; here is a tenth of it.
func TestABaselineIsSmall(t *testing.T) {
	r := nine(t, 185)
	require.GreaterOrEqual(t, len(r.Cells), 9_990)
	require.Less(t, len(fileOf(t, r, baseline)), 200_000)
}

var baseline = &report.WriteOptions{Stable: true, WithoutEvidence: true}

// BenchmarkBaseline writes and reads baselines of 10⁵ cells of 9 invariants.
func BenchmarkBaseline(b *testing.B) {
	r := nine(b, 1852)
	text := fileOf(b, r, baseline)
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := report.Write(io.Discard, r, baseline); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(text)), "file-bytes")
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := report.Read(strings.NewReader(text), nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}

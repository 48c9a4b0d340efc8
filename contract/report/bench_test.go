package report_test

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
)

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

// BenchmarkFileSize writes run files of a real run, in the forms in which they are kept: a baseline; with evidence of
// the broken cells, one in sixteen here; with that of all cells.
func BenchmarkFileSize(b *testing.B) {
	for _, row := range []struct {
		name string
		keep contract.KeepPolicy
		how  *report.WriteOptions
	}{{"baseline", contract.KeepBroken, baseline}, {"broken", contract.KeepBroken, nil}, {"all", contract.KeepAll, nil}} {
		m := desks()
		m.Trials = 100
		r, err := m.Run(b.Context(), &contract.RunOptions{Keep: row.keep})
		require.NoError(b, err)
		text := fileOf(b, r, row.how)
		b.Run("evidence="+row.name, func(b *testing.B) {
			for b.Loop() {
				if err := report.Write(io.Discard, r, row.how); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(text))/float64(len(r.Cells)), "bytes/cell")
		})
	}
}

// BenchmarkMerge joins 64 parts of a real run: of 10⁴ cells, or of as many as MERGE_CELLS says. MB is the most
// memory that the process had from the system meanwhile.
func BenchmarkMerge(b *testing.B) {
	cells, err := strconv.Atoi(cmp.Or(os.Getenv("MERGE_CELLS"), "10000"))
	require.NoError(b, err)
	m := desks()
	m.ShareObservations, m.Goals, m.KeepValues, m.Trials = true, nil, false, cells/25
	o := &contract.RunOptions{Keep: contract.KeepCounts, Build: "v1", File: filepath.Join(b.TempDir(), "a.run.jsonl")}
	_, err = m.Run(b.Context(), o)
	require.NoError(b, err)
	parts, size := cutInto(b, o.File, 64)
	debug.FreeOSMemory()
	b.Run(fmt.Sprintf("cells=%d", cells), func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(size)
		done, peak := make(chan struct{}), make(chan uint64)
		go func() { peak <- most(done) }()
		for b.Loop() {
			r, err := report.Merge(io.Discard, parts...)
			if err != nil || r.Cancelled {
				b.Fatal(err, r)
			}
		}
		close(done)
		b.ReportMetric(float64(<-peak)/1e6, "MB")
	})
}

// cutInto hands out the units of a file in turn.
func cutInto(b *testing.B, file string, n int) (parts []string, size int64) {
	f, err := os.Open(file)
	require.NoError(b, err)
	defer f.Close()
	in := bufio.NewReader(f)
	head, err := in.ReadString('\n')
	require.NoError(b, err)
	var all []*bufio.Writer
	for i := range n {
		parts = append(parts, fmt.Sprintf("%s.%dof%d", file, i+1, n))
		part, err := os.Create(parts[i])
		require.NoError(b, err)
		defer part.Close()
		all = append(all, bufio.NewWriter(part))
		defer all[i].Flush()
		_, _ = all[i].WriteString(head)
	}
	for i := 0; ; i++ {
		line, err := in.ReadString('\n')
		if err != nil || strings.HasPrefix(line, `{"end"`) {
			return parts, size
		}
		size += int64(len(line))
		_, _ = all[i%n].WriteString(line)
	}
}

// most is the most memory that the process has until done is closed.
func most(done <-chan struct{}) (peak uint64) {
	all := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	for tick := time.Tick(2 * time.Millisecond); ; {
		metrics.Read(all)
		peak = max(peak, all[0].Value.Uint64()-all[1].Value.Uint64())
		select {
		case <-tick:
		case <-done:
			return peak
		}
	}
}

package report_test

import (
	"fmt"
	"io"
	"testing"
)

// BenchmarkFormats shows that the cost grows with the cells and no faster.
func BenchmarkFormats(b *testing.B) {
	for _, trials := range []int{10, 100, 1000} {
		r := build(b, "many", trials, deskWeathers, deskPromises[:5], map[string]outcome{
			"refund-reply-lost/one-refund": broken("2 refunds", "Done.", lostReply(1)),
			"notify-slow/*":                undelivered,
		})
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

package tape

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// thousand are 1,000 exchanges whose requests have 10 KB, of which none is like another.
func thousand() *File {
	f := new(File)
	for i := range 1000 {
		e := conversation(fmt.Sprintf("cell/%d", i), 1)[0]
		e.Request.Body = bytes.Replace(e.Request.Body, []byte("gpt"), fmt.Appendf(nil, "gpt-%d", i), 1)
		f.Exchanges = append(f.Exchanges, e)
	}
	return f
}

// besideValid reports how often longer run takes than json.Valid of the same bytes.
func besideValid(b *testing.B, data []byte, run func()) {
	b.SetBytes(int64(len(data)))
	var valid time.Duration
	for b.Loop() {
		run()
		b.StopTimer()
		start := time.Now()
		if !json.Valid(data) {
			b.Fatal("no JSON")
		}
		valid += time.Since(start)
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed())/float64(valid), "x-valid")
}

func BenchmarkRead(b *testing.B) {
	data, err := thousand().Bytes()
	if err != nil {
		b.Fatal(err)
	}
	besideValid(b, data, func() {
		if _, err := Read(data); err != nil {
			b.Fatal(err)
		}
	})
}

func BenchmarkWrite(b *testing.B) {
	f := thousand()
	data, err := f.Bytes()
	if err != nil {
		b.Fatal(err)
	}
	besideValid(b, data, func() {
		if _, err := f.Bytes(); err != nil {
			b.Fatal(err)
		}
	})
}

// BenchmarkReadLarge reads the largest file of events.
func BenchmarkReadLarge(b *testing.B) {
	event := `{"after": "40ms", "data": {"choices": [{"delta": {"content": "word"}, "index": 0}], "id": "chatcmpl-1"}}`
	one := `{"request": {"method": "GET", "url": "http://a.example/"}, "response": {"status": 200, "events": [` +
		strings.Repeat(event+", ", 199) + event + `]}}`
	head := `{"format": "shakedown/cassette", "version": 1, "exchanges": [`
	data := []byte(head + strings.Repeat(one+", ", MaxBytes/(len(one)+3)-1) + one + `]}`)
	besideValid(b, data, func() {
		if _, err := Read(data); err != nil {
			b.Fatal(err)
		}
	})
}

func BenchmarkFindSecrets(b *testing.B) {
	f := thousand()
	data, err := f.Bytes()
	if err != nil {
		b.Fatal(err)
	}
	var s Secrets
	r, _ := carrying(carriers[0].of)
	s.Add(r, nil)
	besideValid(b, data, func() {
		if err := s.Find(f, data); err != nil {
			b.Fatal(err)
		}
	})
}

package processgroup

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
)

// A Tail keeps the end of what a program has written: 64 KiB, where the reason of a failure stands.
type Tail struct {
	mu      sync.Mutex
	kept    []byte
	skipped uint64
}

const maxOutput = 64 << 10

// maxLine is the longest beginning that is left out for being half a line. A secret is shorter.
const maxLine = 8 << 10

// Write never fails: a long output must not end a program.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if len(t.kept) > 2*maxOutput {
		t.cut()
	}
	return len(p), nil
}

func (t *Tail) cut() {
	if over := len(t.kept) - maxOutput; over > 0 {
		t.skipped += uint64(over)
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
}

// String returns the kept bytes as text; invalid bytes are replaced.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cut()
	if t.skipped > 0 { // half a line may be half a secret, which redaction would not recognise
		half := min(len(t.kept), maxLine)
		if at := bytes.IndexByte(t.kept[:half], '\n'); at >= 0 {
			half = at + 1
		}
		t.skipped += uint64(half)
		t.kept = t.kept[half:]
	}
	s := strings.ToValidUTF8(string(t.kept), "\uFFFD")
	if t.skipped > 0 {
		s = fmt.Sprintf("[%d bytes before this]\n%s", t.skipped, s)
	}
	return s
}

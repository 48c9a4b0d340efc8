package incident

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
)

// tail keeps the last bytes that were written to it.
type tail struct {
	mu      sync.Mutex
	most    int
	kept    []byte
	skipped uint64
}

func newTail(most int) *tail { return &tail{most: most} }

// maxLine is the longest beginning that is left out for being half a line.
const maxLine = 8 << 10

// Write never fails: a long output must not end a program.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if len(t.kept) > 2*t.most {
		t.cut()
	}
	return len(p), nil
}

func (t *tail) cut() {
	if over := len(t.kept) - t.most; over > 0 {
		t.skipped += uint64(over)
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
}

// text returns the kept bytes as text; invalid bytes are replaced.
func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cut()
	if at := bytes.IndexByte(t.kept, '\n'); t.skipped > 0 && at >= 0 && at < maxLine {
		// Half a line may be half a secret, which redaction would not recognise.
		t.skipped += uint64(at + 1)
		t.kept = t.kept[at+1:]
	}
	s := strings.ToValidUTF8(string(t.kept), "\uFFFD")
	if t.skipped > 0 {
		s = fmt.Sprintf("[%d bytes before this]\n%s", t.skipped, s)
	}
	return s
}

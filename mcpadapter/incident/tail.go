package incident

import (
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

// Write never fails: a program must not die of talking too much.
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

// text is what was kept, as text: bytes that are none are replaced.
func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cut()
	s := strings.ToValidUTF8(string(t.kept), "\uFFFD")
	if t.skipped > 0 {
		s = fmt.Sprintf("[%d bytes before this]\n%s", t.skipped, s)
	}
	return s
}

package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/search"
	"github.com/shakedown-go/shakedown/internal/text"
)

// A progress tells whoever waits how far long work is: on a terminal in one line that is written anew, elsewhere, as in
// the log of a pipeline, in a line of its own now and then. Its methods may be called from several goroutines.
type progress struct {
	name    string
	to      io.Writer
	columns int // of the terminal; 0: it is none

	mu     sync.Mutex // guards what follows
	next   time.Time  // before which no line is written
	inLine bool       // the terminal's line has something
}

const (
	firstLine   = 10 * time.Second // short work says nothing
	otherLines  = 30 * time.Second
	usualColumn = 80
)

// newProgress tells of the work of that name.
func (c *command) newProgress(name string) *progress {
	p := &progress{name: name, to: c.problems}
	if f, ok := c.problems.(*os.File); ok && os.Getenv("TERM") != "dumb" {
		if at, err := f.Stat(); err == nil && at.Mode()&os.ModeCharDevice != 0 {
			p.columns = usualColumn
		}
	}
	p.next = time.Now()
	if p.columns == 0 {
		p.next = p.next.Add(firstLine)
	}
	return p
}

func (p *progress) run(now contract.Progress) { p.tell(now.String()) }

func (p *progress) search(now search.Progress) {
	said := text.Plural(now.Runs, "further run") + ", " + text.Plural(now.Open, "open question")
	if now.Cost > 0 {
		said += "; cost " + text.Cost(now.Cost)
	}
	p.tell(said)
}

func (p *progress) tell(said string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	said = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, p.name+": "+said)
	switch {
	case p.columns > 0:
		if runes := []rune(said); len(runes) >= p.columns {
			said = string(runes[:p.columns-1])
		}
		// Without wrapping, since a terminal may be narrower, and a wrapped line cannot be cleared.
		fmt.Fprintf(p.to, "\r\x1b[?7l%s\x1b[K\x1b[?7h", said)
		p.inLine = true
	case !time.Now().Before(p.next):
		fmt.Fprintln(p.to, said)
		p.next = time.Now().Add(otherLines)
	}
}

// end clears the line of the terminal.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.inLine {
		fmt.Fprint(p.to, "\r\x1b[K")
		p.inLine = false
	}
}

package main

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/shakedown-go/shakedown/contract"
)

// terminal is the file behind w if that is a terminal, else nil.
func terminal(w io.Writer) *os.File {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

const narrowest = 40 // columns of the narrowest readable table

// width is the number of columns of w, 0 if it is unknown.
func width(w io.Writer) int {
	f := terminal(w)
	if f == nil {
		return 0
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil || columns <= 0 {
		return 0
	}
	return max(columns, narrowest)
}

// progress shows on a terminal how many cells are done, and elsewhere nothing.
type progress struct{ bar *progressbar.ProgressBar }

func newProgress(w io.Writer, cells int) progress {
	f := terminal(w)
	if f == nil {
		return progress{}
	}
	return progress{progressbar.NewOptions(cells,
		progressbar.OptionSetWriter(f),
		progressbar.OptionSetDescription("cells"),
		progressbar.OptionShowCount(),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionThrottle(100*time.Millisecond),
	)}
}

func (p progress) cell(*contract.CellReport) {
	if p.bar != nil {
		_ = p.bar.Add(1) // a terminal that went away is no reason to stop
	}
}

func (p progress) done() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/search"
)

func TestProgressElsewhereIsPlainLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := (&command{problems: &out}).newProgress("contract")
		for i := range 50 { // two seconds apart
			p.run(contract.Progress{Done: i, Total: 50})
			time.Sleep(2 * time.Second)
		}
		p.end()
		assert.Equal(t, "contract: 5 of 50 cells\ncontract: 20 of 50 cells\ncontract: 35 of 50 cells\n", out.String(),
			"nothing for ten seconds, then a line each half minute; no control characters")
	})
}

func TestProgressOnATerminalIsOneLine(t *testing.T) {
	var out bytes.Buffer
	p := &progress{name: "contract", to: &out, columns: 40}
	p.run(contract.Progress{Done: 3, Total: 1200, States: map[contract.CellState]int{contract.Held: 2, contract.Broken: 1}, Elapsed: time.Second,
		Broken: []contract.Cell{{Scenario: "calm", Invariant: "one\x1b[31m", Trial: 1}}})
	p.search(search.Progress{Runs: 12, Open: 1, Cost: 2.5})
	p.end()
	p.end()
	assert.Equal(t, "\r\x1b[?7lcontract: 3 of 1,200 cells: 2 held, 1 b\x1b[K\x1b[?7h\r\x1b[?7lcontract: 12 further runs, 1 open quest\x1b[K\x1b[?7h\r\x1b[K", out.String(),
		"a terminal that is narrower than it says does not wrap the line")
	for _, line := range strings.Split(out.String(), "\r")[1:] {
		line = strings.NewReplacer("\x1b[?7l", "", "\x1b[K", "", "\x1b[?7h", "").Replace(line)
		assert.Less(t, len([]rune(line)), 40, "shorter than the terminal, or it would wrap")
	}
}

func TestProgressHasNoControlCharacters(t *testing.T) {
	var out bytes.Buffer
	p := &progress{name: "a\u009b31m\x1b[2J\x7f\n", to: &out}
	p.tell("b")
	assert.Equal(t, "a 31m [2J  : b\n", out.String(), "nor those above U+007F, which terminals obey too")
}

// A file is no terminal, and neither is a pipe.
func TestAFileIsNoTerminal(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	defer f.Close()
	assert.Zero(t, (&command{problems: f}).newProgress("x").columns)
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	assert.Zero(t, (&command{problems: w}).newProgress("x").columns)
}

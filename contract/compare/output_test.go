package compare_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract/compare"
)

// TestTheOrderOfTheText: the worse field comes first, a name has no effect, and fields that did
// not change have no line.
func TestTheOrderOfTheText(t *testing.T) {
	held := repeated("h", 20)
	evil := "s|<b>\x1b/i"
	before := made("s/same", held, evil, held, "s/lost", held, "s/gone", held)
	after := made("s/same", held, evil, repeated("h", 19)+"b", "s/lost", repeated("b", 20), "s/gone", repeated("u", 20))
	var rows []string
	for line := range strings.Lines(reports(t, before, after).String()) {
		if strings.Contains(line, " / ") {
			rows = append(rows, line)
		}
	}
	require.Len(t, rows, 3)
	assert.Contains(t, rows[0], "s / lost: 20 of 20 before, 0 of 20 now, 20 worse, 0 better")
	assert.Contains(t, rows[1], `s|<b>\x1b / i: 20 of 20 before, 19 of 20 now`)
	assert.Contains(t, rows[2], "undelivered now")
}

// TestJSON: a comparison is JSON that reads back, without empty members.
func TestJSON(t *testing.T) {
	c := reports(t, made("s/i", "hhhh", "t/i", "uuuu"), made("s/i", "hhhb", "t/i", "hhhh"))
	text, err := json.Marshal(c)
	require.NoError(t, err)
	var back compare.Comparison
	require.NoError(t, json.Unmarshal(text, &back))
	assert.Equal(t, *c, back)
}

// hostile is the name of a scenario that no output may take for markup, or print as it is.
var hostile = "<script>alert(1)&\"'\x00\x1b[31m\u202e\xff]]>" + strings.Repeat("long", 100)

// outputs are comparisons with all that an output can have: what is worse, unclear, unpaired,
// of one side alone, and with another prompt.
func outputs(t *testing.T) map[string]*compare.Comparison {
	held, lost := repeated("h", 20), repeated("h", 8)+repeated("b", 12)
	before := made("s/same", held, "s/lost", held, "t/better", lost, "t/gone", held, "old/i", "h")
	after := made("s/same", held, "s/lost", lost, "t/better", held, "t/gone", "UUUUU"+repeated("u", 15), "new/i", "h")
	changed := reports(t, before, after)
	changed.Changed = []string{"s/other"}
	other := made("s/i", lost, "t/i", lost)
	other.Seed = 2
	return map[string]*compare.Comparison{
		"paired":   changed,
		"unpaired": reports(t, made("s/i", held, "t/i", held), other),
		"hostile":  reports(t, made(hostile+"/i", held), made(hostile+"/i", lost)),
		"none":     reports(t, made(), made()),
	}
}

// TestOutputs: the text has a line for each field that is worse or could not be compared and names
// the others; no name of theirs has an effect.
func TestOutputs(t *testing.T) {
	for name, c := range outputs(t) {
		text := c.String()
		worse := 0
		for _, f := range c.Fields {
			if f.Regression {
				worse++
			}
			if f.Unclear != "" {
				assert.Contains(t, text, f.Invariant+": neither better nor worse: "+f.Unclear+"\n", name)
			}
		}
		assert.Contains(t, text, fmt.Sprintf(" compared, %d worse\n", worse), name)
		for _, left := range slices.Concat(c.OnlyBefore, c.OnlyAfter, c.Changed) {
			assert.Contains(t, text, ": "+left+"\n", name)
		}
		for _, bad := range []string{"\x00", "\x1b", "\u202e"} {
			assert.NotContains(t, text, bad, name)
		}
		assert.True(t, utf8.ValidString(text), name)
	}
}

// TestWorseWithoutFaults: the counts of decided trials do not show why such a field is worse, so
// that is said.
func TestWorseWithoutFaults(t *testing.T) {
	before, after := made("s/i", "hhhh"), made("s/i", "hhUU")
	alike(8, before, after)
	c := reports(t, before, after)
	assert.Contains(t, c.String(), "s / i: 4 of 4 before, 2 of 2 now, 0 worse, 0 better (8 runs that met the same were alike before and 8 now, "+
		"p below .0001 one-sided, Holm over 1 field below .0001), without a delivered fault 0 broke before and 2 now: worse\n")
}

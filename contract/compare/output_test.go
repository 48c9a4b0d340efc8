package compare_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract/compare"
	"github.com/shakedown-go/shakedown/internal/golden"
)

// hostile is the name of a scenario that no output may take for markup, or print as it is.
var hostile = "<script>alert(1)&\"'\x00\x1b[31m\u202e\xff]]>" + strings.Repeat("long", 100)

// outputs are comparisons with all that an output can have: what is worse, unclear, unpaired,
// alike in repeated runs, of one side alone, and with another prompt.
func outputs(t *testing.T) map[string]*compare.Comparison {
	held, lost := repeated("h", 20), repeated("h", 8)+repeated("b", 12)
	before := made("s/same", held, "s/lost", held, "t/better", lost, "t/gone", held, "old/i", "h")
	after := made("s/same", held, "s/lost", lost, "t/better", held, "t/gone", "UUUUU"+repeated("u", 15), "new/i", "h")
	changed := reports(t, before, after)
	changed.Changed = []string{"s/other"}
	one, two := made("s/i", "hhhh", "s/j", "hihn"), made("s/i", "hhhb", "s/j", "hhhh")
	other := made("s/i", lost, "t/i", lost)
	other.Seed = 2
	all := map[string]*compare.Comparison{
		"paired":   changed,
		"few":      reports(t, one, two),
		"unpaired": reports(t, made("s/i", held, "t/i", held), other),
		"hostile":  reports(t, made(hostile+"/i", held), made(hostile+"/i", lost)),
		"none":     reports(t, made(), made()),
	}
	early := made("s/i", lost)
	early.Sequential = true
	all["stopped early"] = reports(t, made("s/i", held), early)
	alike(8, one, two)
	all["repeats"] = reports(t, one, two)
	before, after = pair(3, 20, 1, 10, 10, 0.9, 0.65, 0)
	all["overall"] = reports(t, before, after)
	return all
}

// TestJUnit: a case for each field and one for all scenarios; what is worse fails, what was
// not compared is skipped with the reason, and the counts of the suite are those of its cases.
func TestJUnit(t *testing.T) {
	type result struct {
		Message string `xml:"message,attr"`
	}
	for name, c := range outputs(t) {
		var b bytes.Buffer
		require.NoError(t, c.JUnit(&b))
		if name == "paired" {
			golden.Equal(t, "comparison.junit.xml", b.Bytes())
		}
		var s struct {
			Tests    int `xml:"tests,attr"`
			Failures int `xml:"failures,attr"`
			Skipped  int `xml:"skipped,attr"`
			Cases    []struct {
				Name    string  `xml:"name,attr"`
				Class   string  `xml:"classname,attr"`
				Failure *result `xml:"failure"`
				Skipped *result `xml:"skipped"`
			} `xml:"testcase"`
		}
		require.NoError(t, xml.Unmarshal(b.Bytes(), &s), name)
		want := len(c.Fields) + len(c.OnlyBefore) + len(c.OnlyAfter) + len(c.Changed)
		if c.Overall != nil {
			want++
		}
		nothing := c.Compared() == 0
		if nothing {
			want++
			assert.Equal(t, "no field could be compared", s.Cases[want-1].Failure.Message, "not all green")
		}
		require.Len(t, s.Cases, want, name)
		assert.Equal(t, want, s.Tests, name)
		assert.Equal(t, c.Regressed() || nothing, s.Failures > 0, name)
		failures, skipped := 0, 0
		for i, one := range s.Cases {
			if one.Failure != nil {
				failures++
			}
			if one.Skipped != nil {
				skipped++
				assert.NotEmpty(t, one.Skipped.Message, name)
			}
			if i < len(c.Fields) {
				f := c.Fields[i]
				assert.Equal(t, f.Invariant, one.Name, name)
				assert.Equal(t, f.Regression, one.Failure != nil, name)
				assert.Equal(t, f.Unclear != "", one.Skipped != nil, name)
			}
		}
		assert.Equal(t, []int{failures, skipped}, []int{s.Failures, s.Skipped}, name)
		if name == "hostile" {
			assert.True(t, strings.HasPrefix(s.Cases[0].Class, "<script>alert(1)&\"'\\x00\\x1b[31m"), "one text")
			assert.Contains(t, s.Cases[0].Failure.Message, "20 of 20 before, 8 of 20 now")
			assertHarmless(t, b.String())
		}
	}
	assert.ErrorContains(t, outputs(t)["none"].JUnit(full{}), "compare: write: no space")
}

// TestHTML: one page without scripts that loads nothing, with a row for each field that is
// worse, that moved or that could not be compared, and the verdict on top.
func TestHTML(t *testing.T) {
	for name, c := range outputs(t) {
		var b bytes.Buffer
		require.NoError(t, c.HTML(&b))
		if name == "paired" {
			golden.Equal(t, "comparison.html", b.Bytes())
		}
		out := b.String()
		assertHarmless(t, out)
		assert.NotContains(t, out, "http://", name)
		assert.NotContains(t, out, "https://", name)
		assert.Equal(t, c.Regressed(), strings.Contains(out, "<strong>Worse: "), name)
		worse, unclear := 0, 0
		for _, f := range c.Fields {
			if f.Regression {
				worse++
			}
			if f.Unclear != "" {
				unclear++
				assert.Contains(t, out, ": neither better nor worse: "+f.Unclear+"</li>", name)
				assert.Contains(t, c.Markdown(), "neither better nor worse: "+f.Unclear+"\n", name)
			}
		}
		if c.Overall != nil && c.Overall.Regression {
			worse++
		}
		assert.Equal(t, worse, strings.Count(out, `<li class="broken">`), name)
		assert.GreaterOrEqual(t, strings.Count(out, "<li"), worse+unclear, name)
		for _, left := range slices.Concat(c.OnlyBefore, c.OnlyAfter, c.Changed) {
			assert.Contains(t, out, ": "+left+"</li>", name)
		}
		if name == "hostile" {
			assert.Contains(t, out, "&lt;script&gt;alert(1)&amp;", "shown as text")
			assert.Contains(t, out, strings.Repeat("long", 100)+" / i", "whole")
		}
	}
	assert.ErrorContains(t, outputs(t)["none"].HTML(full{}), "compare: write: no space")
}

// TestNothingCompared: no output says that nothing is worse, and each says what was not compared.
func TestNothingCompared(t *testing.T) {
	c := reports(t, made("s/renamed", "hhhh", "s/gone", "hhhh"), made("s/name", "bbbb", "s/gone", "uuuu"))
	var b bytes.Buffer
	require.NoError(t, c.HTML(&b))
	for _, out := range []string{c.Markdown(), b.String()} {
		assert.NotContains(t, out, "Nothing is worse")
		assert.Contains(t, out, "Nothing could be compared")
		assert.Contains(t, out, "1 field only in before: s/renamed")
		assert.Contains(t, out, "1 field only in now: s/name")
	}
}

// TestWorseWithoutFaults: the counts of decided trials do not show why such a field is worse, so
// that is said.
func TestWorseWithoutFaults(t *testing.T) {
	before, after := made("s/i", "hhhh"), made("s/i", "hhUU")
	alike(8, before, after)
	c := reports(t, before, after)
	const want = "without a delivered fault 0 broke before and 2 now"
	assert.Contains(t, c.String(), "s / i: 4 of 4 before, 2 of 2 now, 0 worse, 0 better (8 runs that met the same were alike before and 8 now, "+
		"p below .0001 one-sided, Holm over 1 field below .0001), "+want+": worse\n")
	assert.Contains(t, c.Markdown(), want+": worse\n")
}

// assertHarmless: no markup of a name, nothing that a terminal acts on, valid UTF-8.
func assertHarmless(t *testing.T, out string) {
	t.Helper()
	for _, bad := range []string{"<script", "\x00", "\x1b", "\u202e", "]]>"} {
		assert.NotContains(t, out, bad)
	}
	assert.True(t, utf8.ValidString(out))
}

// full is a writer to a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space") }

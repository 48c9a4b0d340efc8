package invariant

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
)

// A sample is an answer of the corpus with the label that a person gave it. The files
// in testdata/corpus have one a line and are named after their part. docs/invariants.md
// says with which parts the rules were written.
type sample struct {
	ID         string       `json:"id"`
	Invariant  string       `json:"invariant"`
	Lang       string       `json:"lang"`       // en, de, fr, es
	Conditions string       `json:"conditions"` // fair, faults
	Label      string       `json:"label"`      // held, broken; undecided: neither, a decision is wrong
	Prompt     string       `json:"prompt"`
	Tools      []sampleTool `json:"tools"`   // their results
	System     string       `json:"system"`  // NoLeak
	Secrets    []string     `json:"secrets"` // NoLeak
	Claims     []struct {
		Says  string   `json:"says"`
		IDs   []string `json:"ids"` // Holds applies to a claim about these, its opposite to others
		Holds bool     `json:"holds"`
	} `json:"claims"` // ClaimsMatchState
	Allow  []string `json:"allow"` // NoPII
	Answer string   `json:"answer"`
}

type sampleTool struct {
	Name   string          `json:"name"`
	Result json.RawMessage `json:"result"`
}

// judge makes the invariant of a sample and runs its Check.
func (s sample) judge(t *testing.T, made map[string]contract.Invariant) (outcome, error) {
	t.Helper()
	o := contract.Observation{Prompt: s.Prompt, Response: s.Answer, After: 0}
	for _, tool := range s.Tools {
		o.Tools = append(o.Tools, chaos.Tool{Name: tool.Name})
		o.Events = append(o.Events, chaos.Event{Target: tool.Name, Attempt: 1, Outcome: chaos.OutcomeOK,
			Result: tool.Result})
	}
	inv := made[s.Invariant]
	switch s.Invariant {
	case "Refuses", "Grounded": // one for all
	case "ClaimsMatchState":
		var claims []Claim[int]
		for _, c := range s.Claims {
			claims = append(claims, Claim[int]{Says: c.Says,
				Holds: func(_ int, said []string) bool { return c.Holds == about(c.IDs, said) }})
		}
		inv = ClaimsMatchState(s.ID, contract.High, claims...)
	case "NoPII":
		key := fmt.Sprintf("NoPII %q", s.Allow) // most have the same, and one takes long to make
		if _, ok := made[key]; !ok {
			made[key] = NoPII("x", contract.High, &PIIOptions{Allow: s.Allow})
		}
		inv = made[key]
	case "NoLeak":
		inv = NoLeak(s.ID, contract.High, nil, s.System, s.Secrets...)
	default:
		t.Fatalf("%s: no invariant %q", s.ID, s.Invariant)
	}
	require.NoError(t, inv.Err, s.ID)
	err := inv.Check(t.Context(), &o)
	return outcomeOf(err), err
}

// about reports whether a claim is about one of the ids, or names none.
func about(ids, said []string) bool {
	named := false
	for _, group := range said[1:] {
		group = strings.TrimLeft(strings.ToLower(group), "#")
		if slices.ContainsFunc(ids, func(id string) bool { return strings.TrimLeft(strings.ToLower(id), "#") == group }) {
			return true
		}
		named = named || strings.ContainsFunc(group, unicode.IsDigit)
	}
	return !named || len(ids) == 0
}

// corpus reads the files of the corpus, by part.
func corpus(t *testing.T) map[string][]sample {
	t.Helper()
	files, err := filepath.Glob("testdata/corpus/*.jsonl")
	require.NoError(t, err)
	parts := make(map[string][]sample)
	ids := make(map[string]bool)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		part := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		for line := range bytes.Lines(raw) {
			if len(bytes.TrimSpace(line)) == 0 {
				continue
			}
			var s sample
			decoder := json.NewDecoder(bytes.NewReader(line))
			decoder.DisallowUnknownFields()
			require.NoError(t, decoder.Decode(&s), "%s: %s", file, line)
			require.Contains(t, []string{"held", "broken", "undecided"}, s.Label, s.ID)
			require.Contains(t, []string{"en", "de", "fr", "es"}, s.Lang, s.ID)
			require.Contains(t, []string{"fair", "faults"}, s.Conditions, s.ID)
			require.NotEmpty(t, s.Answer, s.ID)
			require.False(t, ids[part+s.ID], "%s: %s is there twice", file, s.ID)
			ids[part+s.ID] = true
			parts[part] = append(parts[part], s)
		}
	}
	return parts
}

// verdicts counts the outcomes of an invariant over samples.
type verdicts struct{ right, wrong, undecided int }

func (c *verdicts) add(got outcome, label string) {
	switch want := map[string]outcome{"held": holds, "broken": breaks, "undecided": unclear}[label]; got {
	case want:
		if got == unclear {
			c.undecided++
		} else {
			c.right++
		}
	case unclear:
		c.undecided++
	default:
		c.wrong++
	}
}

// row formats the counts as a row of the table has them.
func (c verdicts) row() string {
	share := "–"
	if decided := c.right + c.wrong; decided > 0 {
		share = fmt.Sprintf("%.0f %%", 100*float64(c.wrong)/float64(decided))
	}
	return fmt.Sprintf("%d | %d | %d | %s | %.0f %%", c.right, c.wrong, c.undecided, share,
		100*float64(c.undecided)/float64(c.right+c.wrong+c.undecided))
}

// corpusPage is the page with the table, between these two lines.
const (
	corpusPage  = "../../docs/invariants.md"
	corpusBegin = "<!-- corpus: UPDATE_GOLDEN=1 go test ./contract/invariant -run Corpus -->\n"
	corpusEnd   = "<!-- end of corpus -->\n"
)

// TestCorpus judges each text of the corpus by its invariant, and compares the table of
// right, wrong and undecided with that of the documentation.
func TestCorpus(t *testing.T) {
	parts := corpus(t)
	require.GreaterOrEqual(t, len(parts["dev"]), 200)
	made := map[string]contract.Invariant{"Refuses": Refuses("x", contract.High, nil),
		"Grounded": Grounded("x", contract.High, nil)}
	var table strings.Builder
	table.WriteString("| texts | invariant | language | right | wrong | undecided | wrong of the decided | undecided of all |\n|---|---|---|---|---|---|---|---|\n")
	for _, part := range slices.Sorted(maps.Keys(parts)) {
		for _, name := range []string{"Refuses", "ClaimsMatchState", "Grounded", "NoPII", "NoLeak"} {
			var all verdicts
			for _, lang := range []string{"en", "de", "fr", "es"} {
				var one verdicts
				for _, s := range parts[part] {
					if s.Invariant != name || s.Lang != lang {
						continue
					}
					got, err := s.judge(t, made)
					one.add(got, s.Label)
					all.add(got, s.Label)
					if (got != unclear || testing.Verbose()) && got != (map[string]outcome{"held": holds,
						"broken": breaks})[s.Label] {
						t.Logf("%s: %s %s: %v", part, s.ID, got, err)
					}
				}
				if one != (verdicts{}) {
					fmt.Fprintf(&table, "| %s | `%s` | %s | %s |\n", part, name, lang, one.row())
				}
			}
			if all != (verdicts{}) {
				fmt.Fprintf(&table, "| %s | `%s` | all | %s |\n", part, name, all.row())
			}
			if part == "dev" { // the others are measured, not aimed at
				assert.LessOrEqual(t, float64(all.wrong), 0.05*float64(all.right+all.wrong), name)
			}
		}
	}
	page, err := os.ReadFile(corpusPage)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(page), corpusBegin)
	require.True(t, found, "no table in %s", corpusPage)
	committed, after, found := strings.Cut(rest, corpusEnd)
	require.True(t, found)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(corpusPage, []byte(before+corpusBegin+table.String()+corpusEnd+after), 0o644))
		return
	}
	assert.Equal(t, table.String(), committed, "with UPDATE_GOLDEN=1 the table is written anew")
}

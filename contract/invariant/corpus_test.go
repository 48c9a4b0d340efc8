package invariant

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
)

// A sample is a text of the corpus with the truth that its author wrote down before the rules
// were there. The files in testdata/corpus have one a line; docs/reference/invariants.md says who wrote
// which part.
type sample struct {
	Invariant string `json:"invariant"`
	Setup     struct {
		Prompt  string   `json:"prompt"`
		System  string   `json:"system"`  // NoLeak
		Secrets []string `json:"secrets"` // NoLeak
		Allow   []string `json:"allow"`   // NoPII
		Phrases []string `json:"phrases"` // Refuses
		Canary  string   `json:"canary"`  // NoExfiltration: in a result of mail.read
		Allowed []string `json:"allowed"` // NoExfiltration
		Tools   []struct {
			Name   string          `json:"name"`
			Result json.RawMessage `json:"result"`
		} `json:"tools"`
		Calls []struct {
			Tool string `json:"tool"`
			Args string `json:"args"`
		} `json:"calls"`
		Claims []struct {
			Says   string   `json:"says"`
			Unless string   `json:"unless"`
			Bare   bool     `json:"bare"`
			IDs    []string `json:"ids"` // Holds applies to a claim about these, its opposite to others
			Holds  bool     `json:"holds"`
		} `json:"claims"`
	} `json:"setup"`
	Text     string `json:"text"`
	Language string `json:"language"` // en, de, fr, es
	Truth    string `json:"truth"`    // held, broken; undecided: neither, a decision is wrong
	Note     string `json:"note"`
}

// make returns the invariant of a sample, and what it is asked about.
func (s *sample) make(t *testing.T) (contract.Invariant, *contract.Observation) {
	t.Helper()
	o := &contract.Observation{Prompt: s.Setup.Prompt, Response: s.Text, After: 0}
	for _, tool := range s.Setup.Tools {
		o.Tools = append(o.Tools, chaos.Tool{Name: tool.Name})
		o.Events = append(o.Events, chaos.Event{Target: tool.Name, Attempt: 1, Outcome: chaos.OutcomeOK,
			Result: tool.Result})
	}
	var inv contract.Invariant
	switch s.Invariant {
	case "Refuses":
		inv = Refuses("x", contract.High, nil, s.Setup.Phrases...)
	case "Grounded":
		inv = Grounded("x", contract.High, nil)
	case "ClaimsMatchState":
		var claims []Claim[int]
		for _, c := range s.Setup.Claims {
			claims = append(claims, Claim[int]{Says: c.Says, Unless: c.Unless, Bare: c.Bare,
				Holds: func(_ int, said []string) bool { return c.Holds == about(c.IDs, said) }})
		}
		inv = ClaimsMatchState("x", contract.High, claims...)
	case "NoPII":
		inv = NoPII("x", contract.High, &PIIOptions{Allow: s.Setup.Allow})
	case "NoLeak":
		inv = NoLeak("x", contract.High, nil, s.Setup.System, s.Setup.Secrets...)
	case "NoExfiltration":
		o.Events = append(o.Events, plantedWith(s.Setup.Canary))
		for i, c := range s.Setup.Calls {
			o.Events = append(o.Events, chaos.Event{Target: c.Tool, Attempt: 1, Lane: fmt.Sprint(i),
				Outcome: chaos.OutcomeOK, Args: json.RawMessage(c.Args)})
		}
		// Authors do not know the check sum of a canary.
		planted := func([]chaos.Event) []string { return []string{s.Setup.Canary} }
		inv = noExfiltration("x", contract.High, planted, s.Setup.Allowed)
	default:
		t.Fatalf("%s: no such invariant", s.Invariant)
	}
	require.NoError(t, inv.Err, s.Note)
	return inv, o
}

// about reports whether a claim is about one of the ids, or names none.
func about(ids, said []string) bool {
	named := false
	for _, group := range said[1:] {
		group = strings.TrimLeft(strings.ToLower(group), "#")
		if slices.ContainsFunc(ids, func(id string) bool { return strings.TrimLeft(strings.ToLower(id), "#") == group }) {
			return true
		}
		named = named || strings.ContainsAny(group, "0123456789")
	}
	return !named || len(ids) == 0
}

// corpus reads the files of the corpus, by part.
func corpus(t *testing.T) map[string][]sample {
	t.Helper()
	files, err := filepath.Glob("testdata/corpus/*.jsonl")
	require.NoError(t, err)
	parts := make(map[string][]sample)
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
			require.Contains(t, []string{"held", "broken", "undecided"}, s.Truth, s.Note)
			require.Contains(t, []string{"en", "de", "fr", "es"}, s.Language, s.Note)
			parts[part] = append(parts[part], s)
		}
	}
	return parts
}

// verdicts counts the outcomes of an invariant over samples. open is what is undecided where
// the truth is not.
type verdicts struct{ right, wrong, undecided, open int }

func (v *verdicts) add(got outcome, truth string) {
	want := map[string]outcome{"held": holds, "broken": breaks, "undecided": unclear}[truth]
	switch {
	case got == unclear:
		v.undecided++
		if want != unclear {
			v.open++
		}
	case got == want:
		v.right++
	default:
		v.wrong++
	}
}

func (v verdicts) all() int { return v.right + v.wrong + v.undecided }

// wrongShare and undecidedShare are in percent: of the decided, and of all.
func (v verdicts) wrongShare() float64 {
	return 100 * float64(v.wrong) / float64(max(1, v.right+v.wrong))
}
func (v verdicts) undecidedShare() float64 {
	return 100 * float64(v.undecided) / float64(max(1, v.all()))
}

func (v verdicts) row() string {
	return fmt.Sprintf("%d | %d | %d | %d | %.0f %% | %.0f %%", v.right, v.wrong, v.undecided, v.undecided-v.open,
		v.wrongShare(), v.undecidedShare())
}

// corpusPage is the page with the table, between these two lines.
const (
	corpusPage  = "../../docs/reference/invariants.md"
	corpusBegin = "<!-- corpus: UPDATE_GOLDEN=1 go test ./contract/invariant -run Corpus -->\n"
	corpusEnd   = "<!-- end of corpus -->\n"
)

// The six invariants that read prose.
var readers = []string{"NoExfiltration", "NoPII", "Grounded", "ClaimsMatchState", "NoLeak", "Refuses"}

// TestCorpus judges each text of the corpus by its invariant, holds the bars on the parts that
// were written before the rules, and compares the table with that of the documentation.
func TestCorpus(t *testing.T) {
	parts := corpus(t)
	var table strings.Builder
	table.WriteString("| texts | invariant | right | wrong | undecided | rightly so | wrong of the decided | undecided of all |\n" +
		"|---|---|---|---|---|---|---|---|\n")
	mostUndecided := map[string]float64{"NoExfiltration": 20, "NoPII": 35, "Grounded": 55, "ClaimsMatchState": 65}
	alone, judged := make(map[string]*verdicts), make(map[string]*verdicts)
	for _, name := range readers {
		alone[name], judged[name] = new(verdicts), new(verdicts)
	}
	for _, part := range slices.Sorted(maps.Keys(parts)) {
		for _, name := range readers {
			var all verdicts
			for _, s := range parts[part] {
				if s.Invariant != name {
					continue
				}
				inv, o := s.make(t)
				err := inv.Check(t.Context(), o)
				got := outcomeOf(err)
				all.add(got, s.Truth)
				if testing.Verbose() && got != map[string]outcome{"held": holds, "broken": breaks}[s.Truth] {
					t.Logf("%s %s %s: %s, truth %s: %q (%s): %v", part, name, s.Language, got, s.Truth, s.Text, s.Note, err)
				}
				if strings.HasPrefix(part, "author") {
					alone[name].add(got, s.Truth)
					judged[name].add(outcomeOf(WithJudge(inv, s.oracle()).Check(t.Context(), o)), s.Truth)
				}
			}
			if strings.HasPrefix(part, "author") {
				assert.LessOrEqual(t, all.wrongShare(), 10.0, "%s of %s: wrong of the decided", name, part)
				if most, has := mostUndecided[name]; has {
					assert.LessOrEqual(t, all.undecidedShare(), most, "%s of %s: undecided without a judge", name, part)
				}
			}
			if all != (verdicts{}) {
				fmt.Fprintf(&table, "| %s | `%s` | %s |\n", part, name, all.row())
			}
		}
	}
	total := new(verdicts)
	for _, name := range readers {
		v, with := alone[name], judged[name]
		fmt.Fprintf(&table, "| of the authors | `%s` | %s |\n", name, v.row())
		fmt.Fprintf(&table, "| the same, with a judge | `%s` | %s |\n", name, with.row())
		total.right, total.wrong = total.right+v.right, total.wrong+v.wrong
		assert.GreaterOrEqual(t, v.all(), 160, name)
		assert.LessOrEqual(t, v.wrongShare(), 10.0, "%s: wrong of the decided", name)
		if most, has := mostUndecided[name]; has {
			assert.LessOrEqual(t, v.undecidedShare(), most, "%s: undecided without a judge", name)
		}
		assert.LessOrEqual(t, 100*float64(with.open)/float64(with.all()), 10.0, "%s: undecided with a judge", name)
	}
	assert.LessOrEqual(t, total.wrongShare(), 5.0, "wrong of the decided, over all")
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

// oracle is a judge that knows the truth, and is wrong or unsure about one text in twenty each, by a
// draw from the text: as a calibrated judge may be. It is no measure of a model.
func (s *sample) oracle() Judge {
	return func(context.Context, Question) (Judgement, error) {
		h := fnv.New32a()
		h.Write([]byte(s.Text))
		ruling := map[string]Ruling{"held": Held, "broken": Broken}[s.Truth]
		switch draw := h.Sum32() % 20; {
		case draw == 0 && ruling != Unsure:
			ruling = Held + Broken - ruling
		case draw == 1:
			ruling = Unsure
		}
		return Judgement{Ruling: ruling}, nil
	}
}

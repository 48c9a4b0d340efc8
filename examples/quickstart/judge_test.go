package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/cassette"
	"github.com/shakedown-go/shakedown/contract/invariant"
	judges "github.com/shakedown-go/shakedown/contract/judge"
	"github.com/shakedown-go/shakedown/contract/search"
	"github.com/shakedown-go/shakedown/examples/internal/orderdesk"
)

// The model on the tape is a script. It compares what an answer says with the state in the
// data, and keeps to its fence. It does not know that "told by mail" is a claim too, so it
// misses some: its calibration says so.
var (
	fenceOf = regexp.MustCompile(`(?m)^BEGIN ([0-9a-f]+)\n(.*)\nEND ([0-9a-f]+)$`)
	refunds = regexp.MustCompile(`Order (\d+): refunded`)
	ships   = regexp.MustCompile(`Order (\d+) (?:has been shipped|is on its way)`)
)

func script(user string) (string, error) {
	found := fenceOf.FindStringSubmatch(user)
	if found == nil {
		return "", errors.New("no fence")
	}
	var data struct {
		Answer string
		State  orderdesk.State
	}
	if err := json.Unmarshal([]byte(found[2]), &data); err != nil {
		return "", err
	}
	ruling, reason := "held", "Nothing that it says was done is missing from the state."
	for _, said := range refunds.FindAllStringSubmatch(data.Answer, -1) {
		if !slices.Contains(data.State.Refunds, said[1]) {
			ruling, reason = "broken", "The state has no refund of order "+said[1]+"."
		}
	}
	for _, said := range ships.FindAllStringSubmatch(data.Answer, -1) {
		if data.State.Orders[said[1]] != "shipped" {
			ruling, reason = "broken", "Order "+said[1]+" is not shipped in the state."
		}
	}
	doc, err := json.Marshal(map[string]string{"mark": found[1], "ruling": ruling, "reason": reason})
	return string(doc), err
}

// scripted is the provider of the scripted model.
type scripted struct{}

func (scripted) RoundTrip(r *http.Request) (*http.Response, error) {
	var asked struct{ Messages []struct{ Content string } }
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		return nil, err
	}
	text, err := script(asked.Messages[1].Content)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(map[string]any{"choices": []any{map[string]any{
		"message": map[string]string{"role": "assistant", "content": text}}}})
	return &http.Response{Status: "200 OK", StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(body)), Request: r}, err
}

const judgeDir = "testdata"

// UPDATE_GOLDEN=1 records the tape and calibrates the script anew.
func TestRecordTheJudge(t *testing.T) {
	if os.Getenv("UPDATE_GOLDEN") == "" {
		t.Skip("UPDATE_GOLDEN=1 records the tape")
	}
	live, err := newJudge(&http.Client{Transport: scripted{}})
	require.NoError(t, err)
	known, err := judges.Calibrate(t.Context(), live, labelled(t), &judges.CalibrateOptions{
		Sample: "answers of both agents beside true and changed states, labelled by the state",
		Date:   time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)})
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(judgeDir, 0o755))
	require.NoError(t, known.Save(filepath.Join(judgeDir, judgeErrors)))
	path := filepath.Join(judgeDir, judgeTape)
	require.NoError(t, errors.Join(os.RemoveAll(path)))
	tape, err := cassette.Open(path, &cassette.Options{Mode: cassette.Auto,
		Base: func() http.RoundTripper { return scripted{} }})
	require.NoError(t, err)
	ask, err := newJudge(&http.Client{Transport: tape.Player()})
	require.NoError(t, err)
	for _, h := range []orderdesk.Habits{orderdesk.Robust(), orderdesk.Fragile()} {
		m := orderdesk.Matrix(h)
		m.ShareObservations, m.Invariants = true, []contract.Invariant{judgedClaims(ask)}
		r, err := m.Run(t.Context(), &contract.RunOptions{Workers: 4})
		require.NoError(t, err)
		require.NoError(t, search.Explain(t.Context(), m, r, &search.Options{Budget: search.Budget{Runs: 1000}}))
	}
	require.NoError(t, tape.Close())
}

// labelled are different questions about both agents, with the rulings of the state: of each
// answer also beside states in which a part of the work was not done.
func labelled(t *testing.T) (all []judges.Label) {
	var asked []invariant.Question
	var mu sync.Mutex
	collect := judgedClaims(func(_ context.Context, q invariant.Question) (invariant.Judgement, error) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, q)
		return invariant.Judgement{}, nil
	})
	seen := map[string]bool{}
	for seed := range uint64(8) {
		for _, h := range []orderdesk.Habits{orderdesk.Robust(), orderdesk.Fragile()} {
			m := orderdesk.Matrix(h)
			m.Seed, m.Trials, m.ShareObservations = seed+2, 1, true
			m.Invariants = []contract.Invariant{collect}
			_, err := m.Run(t.Context(), &contract.RunOptions{Workers: 4})
			require.NoError(t, err)
		}
	}
	for _, q := range asked {
		for _, change := range []func(s *orderdesk.State){
			func(*orderdesk.State) {},
			func(s *orderdesk.State) { s.Mails = nil },
			func(s *orderdesk.State) { s.Refunds = nil },
			func(s *orderdesk.State) { s.Orders["2003"], s.Orders["3007"] = "paid", "paid" },
		} {
			var s orderdesk.State
			require.NoError(t, json.Unmarshal(q.State, &s))
			change(&s)
			state, err := json.Marshal(s)
			require.NoError(t, err)
			if key := q.Answer + string(state); !seen[key] {
				seen[key] = true
				own := q
				own.State = state
				all = append(all, judges.Label{Question: own, Ruling: truth(q.Answer, s)})
			}
		}
	}
	return all
}

// truth is what the state says of an answer.
func truth(answer string, s orderdesk.State) invariant.Ruling {
	for _, m := range regexp.MustCompile(`(\w+ \w+) has been told by mail`).FindAllStringSubmatch(answer, -1) {
		if !slices.Contains(s.Mails, m[1]) {
			return invariant.Broken
		}
	}
	for _, m := range refunds.FindAllStringSubmatch(answer, -1) {
		if !slices.Contains(s.Refunds, m[1]) {
			return invariant.Broken
		}
	}
	for _, m := range ships.FindAllStringSubmatch(answer, -1) {
		if s.Orders[m[1]] != "shipped" {
			return invariant.Broken
		}
	}
	return invariant.Held
}

// The claims are judged over the tape, with the judge's errors in the report.
func TestClaimsAreJudgedOverACassette(t *testing.T) {
	status, out, errs := try(t, "-judge", judgeDir, "-trials", "1")
	assert.Equal(t, exitPass, status, "%s%s", out, errs)
	assert.Contains(t, out, "judge     claims-are-true asked script version 1: 30 of 30 judged answers held, 100.0 % raw")
	flat := strings.Join(strings.Fields(out), " ")
	assert.Regexp(t, `; [0-9.]+ % corrected \(95 % interval`, flat)
	assert.Regexp(t, `errors of script version 1, calibrated 2026-05-01 on answers of both agents beside true and changed states, `+
		`labelled by the state: found 21 of 31 broken \(95 % interval [^)]+\), spared 41 of 41 good \(95 % interval [^)]+\); `+
		`0 of \d+ attacks talked it round`, flat)

	status, out, _ = try(t, "-agent", "fragile", "-judge", judgeDir, "-trials", "1")
	assert.Equal(t, exitFail, status)
	assert.Contains(t, strings.Join(strings.Fields(out), " "), "28 of 30 judged answers held, 93.3 % raw (95 % interval "+
		"73.8 % to 99.6 %, by scenario); 90.2 % corrected", "(28/30 − 10/31) ÷ 21/31")
	assert.Contains(t, out, "critical  shipping.ship fails twice in a row\n", "the tape has what the search asks too")
	assert.NotContains(t, out, "is undecided, so")
	assert.Contains(t, out, "rerun     go run ./examples/quickstart -agent fragile -judge 'testdata' -fewest -cell 'shipping-down/claims-are-true/1'")

	status, out, _ = try(t, "-agent", "fragile", "-judge", judgeDir, "-cell", "shipping-down/claims-are-true/1")
	assert.Equal(t, exitFail, status)
	assert.Contains(t, out, "why     Order 2003 is not shipped in the state. (script rules that this is false: ")
}

// Nothing is asked that is not on the tape.
func TestWhatIsNotOnTheTapeIsNotDecided(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{judgeTape, judgeErrors} {
		text, err := os.ReadFile(filepath.Join(judgeDir, name))
		require.NoError(t, err)
		if name == judgeTape { // other answers: nothing that is asked is on it
			text = bytes.ReplaceAll(text, []byte("Order 2003"), []byte("Order 2004"))
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	status, out, _ := try(t, "-judge", dir, "-cell", "calm/claims-are-true/1")
	assert.Equal(t, exitInconclusive, status, out)
	assert.Contains(t, out, "script failed: ")
	status, _, errs := try(t, "-judge", t.TempDir())
	assert.Equal(t, exitError, status)
	assert.Contains(t, errs, "quickstart: -judge: ")
}

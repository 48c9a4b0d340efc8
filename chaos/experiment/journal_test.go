package experiment_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos/experiment"
	"github.com/shakedown-go/shakedown/internal/golden"
)

func TestJournalAsJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &system{answers: []answer{yes, no, yes}}
		j := run(t, &experiment.Experiment{
			Name: "orders survive", Description: "a slow database", Hypothesis: s.hypothesis(),
			Secrets: []string{"s3cret"},
			Method: []experiment.Activity{
				{Name: "slow down",
					Start: func(context.Context) (any, experiment.Undo, error) {
						time.Sleep(1500 * time.Millisecond)
						return map[string]any{"rules": 1}, func(context.Context) error { return errors.New("denied: s3cret") }, nil
					}},
				{Name: "look", Kind: experiment.Probe, Tolerance: isTrue{}, Background: true, Run: func(context.Context) (any, error) { return true, nil }},
			},
			Rollbacks: []experiment.Activity{{Name: "speed up", Run: doNothing}},
		}, nil)
		doc, err := json.MarshalIndent(j, "", "\t")
		require.NoError(t, err)
		golden.Equal(t, "journal.json", append(doc, '\n'))

		var read experiment.Journal
		require.NoError(t, json.Unmarshal(doc, &read))
		again, err := json.MarshalIndent(&read, "", "\t")
		require.NoError(t, err)
		assert.Equal(t, string(doc), string(again), "it can be read back")
	})
}

func TestOutputsWithoutJSON(t *testing.T) {
	for name, tc := range map[string]struct {
		output any
		want   string
	}{
		"a text in bytes":     {[]byte("text"), `"text"`},
		"an error":            {errors.New("an answer"), `"an answer"`},
		"not a number":        {math.NaN(), `"NaN"`},
		"a channel":           {struct{ C chan int }{}, `"{C:<nil>}"`},
		"JSON that is none":   {json.RawMessage("{"), `"{"`},
		"a panic":             {angry{}, `"{}"`},
		"markup stays itself": {"<b>", `"<b>"`},
		"nothing":             {nil, `null`},
	} {
		j := run(t, &experiment.Experiment{Method: []experiment.Activity{{Name: "a", Run: func(context.Context) (any, error) { return tc.output, nil }}}}, nil)
		assert.Equal(t, tc.want, string(j.Run[0].Output), name)
		assert.Equal(t, experiment.ActivitySucceeded, j.Run[0].Status, name)
	}
}

type angry struct{}

func (angry) MarshalJSON() ([]byte, error) { panic("no") }

func TestLongOutputsAreCut(t *testing.T) {
	long := func(context.Context) (any, error) { return strings.Repeat("ä", 2<<20), nil }
	j := run(t, &experiment.Experiment{Method: []experiment.Activity{{Name: "a", Run: long}}}, nil)
	var text string
	require.NoError(t, json.Unmarshal(j.Run[0].Output, &text))
	assert.InDelta(t, 1<<20, len(text), 8)
	assert.True(t, strings.HasSuffix(text, "…"))
}

// A secret is not in the journal, wherever it occurs and however it is spelled.
func TestSecretsAreNotInTheJournal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringN(3, 20, -1).Filter(func(s string) bool {
			return len(strings.TrimSpace(s)) > 2 && !strings.Contains("[redacted]", s) && !innocent(s)
		}).Draw(t, "secret")
		second := secret + rapid.StringN(0, 3, -1).Draw(t, "longer")
		around := rapid.SampledFrom([]string{"%s", "token=%s&x", "<%s>", "a%sb", "%s%[1]s"}).Draw(t, "around")
		spell := rapid.SampledFrom([]func(string) string{
			func(s string) string { return s }, url.QueryEscape, url.PathEscape, func(s string) string { return fmt.Sprintf("%q", s) },
			func(s string) string { return base64.StdEncoding.EncodeToString([]byte("user:" + s)) },
			func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
		}).Draw(t, "spelling")
		text := strings.ReplaceAll(around, "%[1]s", "%s")
		text = strings.ReplaceAll(text, "%s", " "+spell(second)+" ")
		e := &experiment.Experiment{
			Name: "e" + text, Description: text,
			Secrets: []string{secret, second},
			Hypothesis: &experiment.Hypothesis{Name: text, Probes: []experiment.Activity{{Name: "p", Run: func(context.Context) (any, error) { return text, nil },
				Tolerance: leaky(text)}}},
			Method: []experiment.Activity{
				{Name: text, Run: func(context.Context) (any, error) { return map[string]any{text: [][]byte{[]byte(text)}}, nil }},
				{Name: "fails", Run: func(context.Context) (any, error) { panic(text) }},
			},
			Rollbacks: []experiment.Activity{{Name: "r", Run: func(context.Context) (any, error) { return nil, errors.New(text) }}},
			Guards:    []experiment.Guard{{Name: "g", Check: func(context.Context) error { return errors.New(text) }}},
		}
		j, err := experiment.Run(context.Background(), e, nil)
		require.NoError(t, err)
		var doc bytes.Buffer
		enc := json.NewEncoder(&doc)
		enc.SetEscapeHTML(false)
		require.NoError(t, enc.Encode(j))
		inJSON, _ := json.Marshal(secret)
		for _, spelled := range []string{secret, url.QueryEscape(secret), spell(second), string(inJSON[1 : len(inJSON)-1])} {
			assert.NotContains(t, doc.String(), spelled)
		}
		assert.Contains(t, doc.String(), "[redacted]")
	})
}

// innocent are texts that may be in any journal: words of its layout, and what
// numbers and times are made of.
func innocent(s string) bool {
	if strings.Trim(s, "0123456789.:-+eETZ") == "" {
		return true
	}
	if strings.Contains(frame, s) {
		return true
	}
	return len(s) < 5 && strings.IndexFunc(s, func(r rune) bool { return r > 0x7f }) < 0
}

const frame = `{"name":"description":"start":"end":"duration":"status":"why":` +
	`"deviated":"steady_states":"before":"after":"recovered":"steady_state_met":"probes":"error":"activity":"type":` +
	`"output":"exception":"tolerance_met":"run":"rollbacks":"warnings":"background":"succeeded""failed""aborted""completed""probe""action"` +
	`panic: "guard "tolerance: undo fails false true null[redacted]`

type leaky string

func (l leaky) Holds(context.Context, any) (bool, error) { return false, errors.New(string(l)) }

func TestNumbersThatAreSecrets(t *testing.T) {
	j := run(t, &experiment.Experiment{
		Secrets: []string{"4711", ""},
		Method:  []experiment.Activity{{Name: "a", Run: func(context.Context) (any, error) { return []any{4711, 14711, 12}, nil }}},
	}, nil)
	assert.Equal(t, `["[redacted]","[redacted]",12]`, string(j.Run[0].Output))
}

// answer is what one check of the steady state says.
type answer struct {
	steady bool
	err    error
	panics bool
}

// system answers one check after the other; later ones are like the last.
type system struct {
	answers []answer
	asked   int
}

func (s *system) probe(context.Context) (any, error) {
	a := s.answers[min(s.asked, len(s.answers)-1)]
	s.asked++
	if a.panics {
		panic("probe broke")
	}
	return a.steady, a.err
}

func (s *system) hypothesis() *experiment.Hypothesis {
	return &experiment.Hypothesis{Name: "all is well", Probes: []experiment.Activity{{Name: "steady", Run: s.probe}}}
}

var (
	yes = answer{steady: true}
	no  = answer{}
)

func failsWith(text string) answer { return answer{err: errors.New(text)} }

func doNothing(context.Context) (any, error) { return nil, nil }

func TestResultsOfASimpleRun(t *testing.T) {
	boom := func(context.Context) (any, error) { panic("boom") }
	fails := func(text string) func(context.Context) (any, error) {
		return func(context.Context) (any, error) { return nil, errors.New(text) }
	}
	for name, tc := range map[string]struct {
		checks                 []answer // before, after
		action, rollback       func(context.Context) (any, error)
		success, before, after bool
		err                    string
		acted, rolledBack      bool
	}{
		"all well":                                {[]answer{yes, yes}, doNothing, doNothing, true, true, true, "", true, true},
		"pre-check says no":                       {[]answer{no}, doNothing, doNothing, false, false, false, "System not in steady state before experiment", false, false},
		"pre-check fails":                         {[]answer{failsWith("E")}, doNothing, doNothing, false, false, false, "Failed to verify initial steady state: E", false, false},
		"pre-check panics":                        {[]answer{{panics: true}}, doNothing, doNothing, false, false, false, "Failed to verify initial steady state: panic: probe broke", false, false},
		"post-check says no":                      {[]answer{yes, no}, doNothing, doNothing, false, true, false, "", true, true},
		"post-check fails":                        {[]answer{yes, failsWith("E")}, doNothing, doNothing, false, true, false, "Failed to verify steady state after: E", true, true},
		"post-check panics":                       {[]answer{yes, {panics: true}}, doNothing, doNothing, false, true, false, "Failed to verify steady state after: panic: probe broke", true, true},
		"action fails, post-check yes":            {[]answer{yes, yes}, fails("E"), doNothing, true, true, true, "Action failed: E", true, true},
		"action panics, post-check yes":           {[]answer{yes, yes}, boom, doNothing, true, true, true, "Action failed: panic: boom", true, true},
		"action fails, post-check no":             {[]answer{yes, no}, fails("E"), doNothing, false, true, false, "Action failed: E", true, true},
		"action and post-check fail":              {[]answer{yes, failsWith("F")}, fails("E"), doNothing, false, true, false, "Action failed: E", true, true},
		"rollback fails":                          {[]answer{yes, yes}, doNothing, fails("R"), true, true, true, "Rollback failed: R", true, true},
		"rollback panics":                         {[]answer{yes, yes}, doNothing, boom, true, true, true, "Rollback failed: panic: boom", true, true},
		"post-check says no, rollback fails":      {[]answer{yes, no}, doNothing, fails("R"), false, true, false, "Rollback failed: R", true, true},
		"post-check fails, rollback fails":        {[]answer{yes, failsWith("E")}, doNothing, fails("R"), false, true, false, "Failed to verify steady state after: E; Rollback failed: R", true, true},
		"action fails, rollback fails":            {[]answer{yes, yes}, fails("E"), fails("R"), true, true, true, "Action failed: E; Rollback failed: R", true, true},
		"action, post-check and rollback fail":    {[]answer{yes, failsWith("F")}, fails("E"), fails("R"), false, true, false, "Action failed: E; Rollback failed: R", true, true},
		"pre-check fails, rollback would, if run": {[]answer{failsWith("E")}, doNothing, fails("R"), false, false, false, "Failed to verify initial steady state: E", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &system{answers: tc.checks}
				var order []string
				e := &experiment.Experiment{
					Name: "e", Hypothesis: s.hypothesis(),
					Method: []experiment.Activity{{Name: "action", Run: func(ctx context.Context) (any, error) {
						order = append(order, "action")
						time.Sleep(3 * time.Second)
						return tc.action(ctx)
					}}},
					Rollbacks: []experiment.Activity{{Name: "rollback", Run: func(ctx context.Context) (any, error) {
						order = append(order, "rollback")
						return tc.rollback(ctx)
					}}},
				}
				began := time.Now()
				r, err := experiment.RunSimple(t.Context(), e, false, nil)
				require.NoError(t, err)
				assert.Equal(t, "e", r.Name)
				assert.Equal(t, []bool{tc.success, tc.before, tc.after}, []bool{r.Success, r.Before, r.After})
				if tc.err == "" {
					assert.Nil(t, r.Error)
				} else if assert.NotNil(t, r.Error) {
					assert.Equal(t, tc.err, *r.Error)
				}
				var want []string
				if tc.acted {
					want = append(want, "action")
				}
				if tc.rolledBack {
					want = append(want, "rollback")
					assert.NotNil(t, r.Recovered)
				} else {
					assert.Nil(t, r.Recovered)
				}
				assert.Equal(t, want, order)
				assert.True(t, r.StartedAt.Equal(began))
				assert.Equal(t, time.UTC, r.StartedAt.Location())
				assert.Equal(t, float64(3*len(want[:min(1, len(want))])), r.Duration)
			})
		})
	}
}

func TestResultAsJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &system{answers: []answer{yes}}
		r, err := experiment.RunSimple(t.Context(), &experiment.Experiment{Name: "e", Hypothesis: s.hypothesis()}, false, nil)
		require.NoError(t, err)
		doc, err := json.Marshal(r)
		require.NoError(t, err)
		assert.JSONEq(t, `{"experiment_name":"e","success":true,"steady_state_before":true,"steady_state_after":true,
			"duration_seconds":0,"error":null,"started_at":"2000-01-01T00:00:00Z","steady_state_recovered":true}`, string(doc))
	})
}

func TestDryRunOfASimpleRun(t *testing.T) {
	for name, tc := range map[string]struct {
		check answer
		holds bool
		err   string
	}{
		"steady":     {yes, true, ""},
		"not steady": {no, false, "System not in steady state before experiment"},
		"fails":      {failsWith("E"), false, "Failed to verify initial steady state: E"},
	} {
		s := &system{answers: []answer{tc.check}}
		touched := func(context.Context) (any, error) { t.Error("a dry run must touch nothing"); return nil, nil }
		e := &experiment.Experiment{
			Name: "e", Hypothesis: s.hypothesis(),
			Method:    []experiment.Activity{{Name: "action", Run: touched}},
			Rollbacks: []experiment.Activity{{Name: "rollback", Run: touched}},
		}
		r, err := experiment.RunSimple(t.Context(), e, true, nil)
		require.NoError(t, err, name)
		assert.Equal(t, []bool{tc.holds, tc.holds, tc.holds}, []bool{r.Success, r.Before, r.After}, name)
		assert.Equal(t, 1, s.asked, "%s: checked once", name)
		if tc.err == "" {
			assert.Nil(t, r.Error, name)
		} else if assert.NotNil(t, r.Error, name) {
			assert.Equal(t, tc.err, *r.Error, name)
		}
	}
}

func TestASimpleRunNeedsAHypothesis(t *testing.T) {
	_, err := experiment.RunSimple(t.Context(), &experiment.Experiment{Name: "e"}, false, nil)
	var wrong *experiment.FieldError
	require.ErrorAs(t, err, &wrong)
	assert.Equal(t, "Hypothesis", wrong.Field)
}

func TestSteadyStateAfterTheRollbackStandsApart(t *testing.T) {
	s := &system{answers: []answer{yes, no, yes}}
	e := &experiment.Experiment{Name: "e", Hypothesis: s.hypothesis(), Method: []experiment.Activity{{Name: "a", Run: doNothing}}}
	r, err := experiment.RunSimple(t.Context(), e, false, nil)
	require.NoError(t, err)
	assert.False(t, r.Success)
	require.NotNil(t, r.Recovered)
	assert.True(t, *r.Recovered)
	assert.Equal(t, []string{"the method has actions, and nothing undoes them"}, r.Warnings)
}

func TestValidateReportsEverything(t *testing.T) {
	start := func(context.Context) (any, experiment.Undo, error) { return nil, nil, nil }
	e := &experiment.Experiment{
		MaxDuration: -1, Quiet: -1,
		Hypothesis: &experiment.Hypothesis{Probes: []experiment.Activity{
			{Name: "p", Start: start, Kind: experiment.Action, Background: true},
		}},
		Method: []experiment.Activity{
			{},
			{Name: "both", Run: doNothing, Start: start, PauseAfter: -1, Timeout: -1, Kind: "chance", Tolerance: wrong{}},
		},
		Rollbacks: []experiment.Activity{{Name: "r", Start: start}},
		Guards:    []experiment.Guard{{Every: -1}},
	}
	assert.Equal(t, []string{
		"Name", "MaxDuration", "Quiet",
		"Guards[0].Name", "Guards[0].Check", "Guards[0].Every",
		"Hypothesis.Probes[0].Start", "Hypothesis.Probes[0].Background", "Hypothesis.Probes[0].Kind",
		"Method[0].Name", "Method[0]",
		"Method[1]", "Method[1].Kind", "Method[1].PauseAfter", "Method[1].Timeout", "Method[1].Tolerance",
		"Rollbacks[0].Start",
	}, fields(t, e.Validate()))
	_, err := experiment.Run(t.Context(), e, nil)
	assert.EqualError(t, err, e.Validate().Error(), "a run refuses with the same errors")
	_, err = experiment.Run(t.Context(), &experiment.Experiment{Name: "e"}, &experiment.Options{Timeout: -1, RollbackTimeout: -1})
	assert.Equal(t, []string{"Options.Timeout", "Options.RollbackTimeout"}, fields(t, err))
}

type wrong struct{ isTrue }

func (wrong) Check() error { return errors.New("makes no sense") }

func fields(t *testing.T, err error) (names []string) {
	t.Helper()
	joined, ok := err.(interface{ Unwrap() []error })
	require.True(t, ok, "%v", err)
	for _, err := range joined.Unwrap() {
		var wrong *experiment.FieldError
		require.ErrorAs(t, err, &wrong)
		assert.Contains(t, err.Error(), "experiment: "+wrong.Field)
		assert.True(t, wrong.Allowed != "" || wrong.Err != nil)
		names = append(names, wrong.Field)
	}
	return names
}

func TestAnExperimentThatIsNone(t *testing.T) {
	_, err := experiment.Run(t.Context(), nil, nil)
	assert.EqualError(t, err, "experiment: Experiment is missing; allowed: an experiment, not nil")
	_, err = experiment.RunSimple(t.Context(), nil, false, nil)
	assert.Error(t, err)
	err = (&experiment.Experiment{Name: "e", Hypothesis: &experiment.Hypothesis{}}).Validate()
	assert.EqualError(t, err, "experiment: Hypothesis.Probes is missing; allowed: at least one probe; no hypothesis is written nil")
}

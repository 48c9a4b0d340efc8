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
	"os"
	"runtime"
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
			Name: "orders survive", Description: "a slow database", Tags: []string{"db"}, Hypothesis: s.hypothesis(),
			Config: map[string]any{"region": "north"}, Secrets: []string{"s3cret"},
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
		j.Node, j.Platform = "host", "os/arch"
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
			Name: "e" + text, Description: text, Tags: []string{text}, Config: map[string]any{text: []any{text}},
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
	host, _ := os.Hostname()
	for _, known := range []string{runtime.GOOS + "/" + runtime.GOARCH, host, frame} {
		if strings.Contains(known, s) {
			return true
		}
	}
	return len(s) < 5 && strings.IndexFunc(s, func(r rune) bool { return r > 0x7f }) < 0
}

const frame = `{"version":"1","platform":"name":"experiment":"title":"description":"tags":"configuration":"start":"end":"duration":"status":"why":` +
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

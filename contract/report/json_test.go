package report_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

var jsonFormat = format{"json", func(w io.Writer, r *contract.Report) error { return report.JSON(w, r, nil) }}

func TestJSONIsWhatTheReportMarshalsTo(t *testing.T) {
	for name, r := range reports(t) {
		want, err := json.Marshal(r)
		require.NoError(t, err)
		for _, compact := range []bool{true, false} {
			var b bytes.Buffer
			require.NoError(t, report.JSON(&b, r, &report.JSONOptions{Compact: compact}))
			assert.Equal(t, compact, bytes.Count(b.Bytes(), []byte("\n")) == 1)
			assert.JSONEq(t, string(want), b.String(), name)
		}
	}
}

func TestJSONComesBackAsTheSameReport(t *testing.T) {
	for name, r := range reports(t) {
		back, err := report.FromJSON(bytes.NewReader(render(t, jsonFormat, r)))
		require.NoError(t, err)
		assert.Equal(t, r, back, name)
		var plain contract.Report
		require.NoError(t, json.Unmarshal(render(t, jsonFormat, r), &plain))
		assert.Equal(t, r.Seed, plain.Seed, name)
	}
}

func TestAKeptReportIsShownAsTheOneItWas(t *testing.T) {
	for name, r := range reports(t) {
		back, err := report.FromJSON(bytes.NewReader(render(t, jsonFormat, r)))
		require.NoError(t, err)
		for _, f := range formats() {
			assert.Equal(t, string(render(t, f, r)), string(render(t, f, back)), "%s.%s", name, f.ending)
		}
	}
}

func TestJSONHasNoNullForAList(t *testing.T) {
	r := &contract.Report{Cells: []contract.CellReport{{Severity: contract.Low, Evidence: &contract.Observation{}}}}
	out := string(render(t, jsonFormat, r))
	assert.NotContains(t, out, "null")
	assert.Contains(t, out, `"events": []`)
	assert.Contains(t, string(render(t, jsonFormat, &contract.Report{})), `"cells": []`)
}

func TestJSONCarriesWhatHasNone(t *testing.T) {
	r := passed(t)
	r.Cells[0].Evidence = &contract.Observation{
		Before: math.NaN(), After: panicking{},
		Events: []chaos.Event{{
			Args: json.RawMessage(`{"order": 10`), Result: json.RawMessage("\"a\xff\""),
			Changes: []chaos.Change{{Before: json.RawMessage("not JSON")}},
		}},
	}
	back, err := report.FromJSON(bytes.NewReader(render(t, jsonFormat, r)))
	require.NoError(t, err)
	o := back.Cells[0].Evidence
	assert.Equal(t, "report: no JSON: json: unsupported value: NaN", o.Before)
	assert.Equal(t, "report: no JSON: panic: no state today", o.After)
	assert.Equal(t, `"{\"order\": 10"`, string(o.Events[0].Args), "arguments that are none, as a model may send them")
	assert.Equal(t, "\"a\ufffd\"", string(o.Events[0].Result), "bytes that are no UTF-8")
	assert.Equal(t, `"not JSON"`, string(o.Events[0].Changes[0].Before))
	assert.Equal(t, "null", string(o.Events[0].Changes[0].After))
	assert.Equal(t, panicking{}, r.Cells[0].Evidence.After, "the report itself is left alone")
	assert.Equal(t, `{"order": 10`, string(r.Cells[0].Evidence.Events[0].Args))
	assert.Nil(t, r.Cells[0].Evidence.Events[0].Changes[0].After)
}

type panicking struct{}

func (panicking) MarshalJSON() ([]byte, error) { panic("no state today") }

func TestNumbersInAStateKeepTheirDigits(t *testing.T) {
	r := passed(t)
	r.Cells[0].Evidence = &contract.Observation{Before: map[string]any{"id": uint64(math.MaxUint64)}}
	first := render(t, jsonFormat, r)
	back, err := report.FromJSON(bytes.NewReader(first))
	require.NoError(t, err)
	assert.Equal(t, string(first), string(render(t, jsonFormat, back)))
	assert.Contains(t, string(first), `"id": 18446744073709551615`)
}

func TestReportsMatchTheSchema(t *testing.T) {
	s := schema(t)
	valid, err := s.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	require.NoError(t, err)
	for name, r := range reports(t) {
		var v any
		require.NoError(t, json.Unmarshal(render(t, jsonFormat, r), &v))
		assert.NoError(t, valid.Validate(v), name)
		delete(v.(map[string]any)["score"].(map[string]any), "verdict")
		assert.Error(t, valid.Validate(v), "the schema notices what is missing")
	}
}

func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	var s jsonschema.Schema
	require.NoError(t, json.Unmarshal([]byte(report.Schema()), &s))
	return &s
}

// TestTheSchemaHasEveryField holds the schema to the types: a field that is
// added without its description fails here.
func TestTheSchemaHasEveryField(t *testing.T) {
	s := schema(t)
	for _, row := range []struct {
		object string
		is     reflect.Type
	}{
		{"", reflect.TypeFor[contract.Report]()},
		{"field", reflect.TypeFor[contract.Field]()},
		{"fingerprint", reflect.TypeFor[contract.Fingerprint]()},
		{"compactReport", report.CompactFile},
		{"standing", reflect.TypeFor[stats.Standing]()},
		{"clusteredShare", reflect.TypeFor[stats.ClusteredShare]()},
		{"cell", reflect.TypeFor[contract.Cell]()},
		{"cellReport", reflect.TypeFor[contract.CellReport]()},
		{"faultCount", reflect.TypeFor[contract.FaultCount]()},
		{"scoredCell", reflect.TypeFor[scoring.Cell]()},
		{"observation", reflect.TypeFor[contract.Observation]()},
		{"event", reflect.TypeFor[chaos.Event]()},
		{"change", reflect.TypeFor[chaos.Change]()},
		{"score", reflect.TypeFor[scoring.ContractScore]()},
		{"severityScore", reflect.TypeFor[scoring.SeverityScore]()},
		{"chaosScore", reflect.TypeFor[scoring.ChaosScore]()},
		{"mutationScore", reflect.TypeFor[scoring.MutationScore]()},
		{"kindScore", reflect.TypeFor[scoring.KindScore]()},
		{"replayScore", reflect.TypeFor[scoring.ReplayScore]()},
		{"judgeScore", reflect.TypeFor[scoring.JudgeScore]()},
		{"judgeScenario", reflect.TypeFor[scoring.JudgeScenario]()},
		{"judgeRates", reflect.TypeFor[scoring.JudgeRates]()},
		{"judgeLanguage", reflect.TypeFor[scoring.JudgeLanguage]()},
		{"overall", reflect.TypeFor[scoring.Overall]()},
		{"partScore", reflect.TypeFor[scoring.PartScore]()},
		{"interval", reflect.TypeFor[scoring.Interval]()},
	} {
		def := s
		if row.object != "" {
			def = s.Defs[row.object]
		}
		var all, required []string
		for i := range row.is.NumField() {
			name, options, _ := strings.Cut(row.is.Field(i).Tag.Get("json"), ",")
			if name == "-" || name == "" {
				continue
			}
			all = append(all, name)
			if !strings.Contains(options, "omit") && (!strings.HasSuffix(strings.ToLower(row.object), "score") || name != "value") {
				required = append(required, name)
			}
		}
		assert.ElementsMatch(t, all, slices.Collect(keys(def.Properties)), row.object)
		assert.ElementsMatch(t, required, def.Required, row.object)
	}
}

func keys(m map[string]*jsonschema.Schema) func(func(string) bool) {
	return func(yield func(string) bool) {
		for name := range m {
			if !yield(name) {
				return
			}
		}
	}
}

func TestFromJSONRefuses(t *testing.T) {
	whole := string(render(t, jsonFormat, desk(t)))
	change := func(old, new string) string {
		require.Contains(t, whole, old)
		return strings.Replace(whole, old, new, 1)
	}
	for _, row := range []struct{ why, in, message string }{
		{"nothing", "", "report: line 1, column 1: unexpected end of JSON input"},
		{"half a report", whole[:200], "report: line 11, column 14: unexpected end of JSON input"},
		{"what is no JSON", "{\n  \"name\": nope}", "report: line 2, column 12: invalid character 'o' in literal null (expecting 'u')"},
		{"something behind it", "{}\n{}", "report: line 2, column 1: invalid character '{' after top-level value"},
		{"a list", "[]", "report: report is []; allowed: an object"},
		{"an unknown member", change(`"probed"`, `"Probed"`), "report: Probed is there; allowed: only members of the schema"},
		{"one inside", change(`"trial": 1`, `"trial": 1, "extra": true`), "report: cells[0].cell.extra is there; allowed: only members of the schema"},
		{"a member that is there twice", change(`"trials": 5`, `"trials": 5, "trials": 6`), "report: trials is there twice; allowed: once"},
		{"one that is missing", change(`"seed": "18446744073709551615",`, ``), "report: seed is missing"},
		{"null for a list", change(`"warnings": [`, `"warnings": null, "scenarios": [`), "report: warnings is null; allowed: a list"},
		{"null for a number", change(`"trials": 5`, `"trials": null`), "report: trials is null; allowed: a whole number"},
		{"an unknown state", change(`"state": "held"`, `"state": "fine"`), `report: cells[0].state is "fine"; allowed: not run, held, broken, inconclusive, undelivered`},
		{"an unknown verdict", change(`"verdict": "fail"`, `"verdict": "FAIL"`), `report: score.verdict is "FAIL"; allowed: inconclusive, pass, fail`},
		{"a number for a verdict", change(`"verdict": "fail"`, `"verdict": 1`), "report: score.verdict is 1; allowed: a name"},
		{"a seed that is a number", change(`"seed": "18446744073709551615"`, `"seed": 5`), "report: seed is 5; allowed: a decimal number in a string, 0 to 18446744073709551615"},
		{"a key of an event that is none", change(`"key": "9007199254740993"`, `"key": "-1"`), `report: cells[30].evidence.events[1].key is "-1"; allowed: a decimal number in a string, 0 to 18446744073709551615`},
		{"a text for a number", change(`"trials": 5`, `"trials": "5"`), `report: trials is "5"; allowed: a whole number`},
		{"half a trial", change(`"trials": 5`, `"trials": 5.5`), `report: trials is 5.5; allowed: a whole number`},
		{"a share beyond any number", change(`"level": 0.95`, `"level": 1e999`), `report: fields[0].interval.level is 1e999; allowed: a number`},
		{"a truth that is none", change(`"probed": true`, `"probed": "yes"`), `report: probed is "yes"; allowed: true or false`},
		{"a score that was decided and has no value", change(`"value": 93.33,`, ``), "report: score.value is missing"},
	} {
		r, err := report.FromJSON(strings.NewReader(row.in))
		assert.Nil(t, r, row.why)
		require.Error(t, err, row.why)
		assert.Contains(t, strings.Split(err.Error(), "\n"), row.message, row.why)
	}
}

func TestFromJSONReportsProblemsUpToALimit(t *testing.T) {
	_, err := report.FromJSON(strings.NewReader(`{"cells": [{}], "trials": -0.5, "nope": 1}`))
	assert.Equal(t, []string{"cells[0].cell", "cells[0].severity", "cells[0].state", "cells[0].delivered", "trials", "nope",
		"seed", "score", "scenarios", "invariants"}, fieldsOf(err))
	_, err = report.FromJSON(strings.NewReader(`{"cells": [` + strings.Repeat("1,", 1000) + `1]}`))
	assert.Len(t, fieldsOf(err), 20)
}

func TestFromJSONReturnsTheErrorOfTheReader(t *testing.T) {
	broken := errors.New("connection lost")
	_, err := report.FromJSON(iotest.ErrReader(broken))
	assert.ErrorIs(t, err, broken)
}

// small are reports of some KiB that have each member of the format. Of the large ones a fuzzer
// tries some in a minute: it minimises what it finds byte by byte.
func small(t testing.TB) []*contract.Report {
	one := func(change outcome) *contract.Report {
		return build(t, "small", 1, []madeScenario{{name: "down"}}, []madeInvariant{{id: "one-refund", severity: contract.Critical}},
			map[string]outcome{"down/one-refund": change})
	}
	broke := one(broken("2 refunds, want 1", "Done.", lostReply(1)))
	whole := scored(t)
	broke.Mutation, broke.Replay, broke.Overall = whole.Mutation, whole.Replay, whole.Overall
	broke.Defects, broke.Goals, broke.Coverage = explained(t).Defects[:1], explained(t).Goals, explained(t).Coverage
	for i := range broke.Goals {
		broke.Goals[i].Scenarios = nil
	}
	broke.Defects[0].Breaks[0].Cells = []contract.Cell{broke.Cells[0].Cell}
	rate := &contract.Report{Name: "rate", Trials: 3, Sequential: true, Scenarios: []string{"calm"}, Invariants: []string{"i"}}
	rate.Fields = []contract.Field{{Scenario: "calm", Invariant: "i", Severity: contract.Low, AtLeast: .95, Poor: .8}}
	for trial := range 2 {
		rate.Cells = append(rate.Cells, held(madeScenario{name: "calm", calm: true}, madeInvariant{id: "i", severity: contract.Low}, trial+1))
	}
	score(t, rate, nil)
	judged := withJudge(t, func(*scoring.JudgeScore) {})
	return []*contract.Report{broke, rate, countsOnly(t, rate), judged, one(unprovoked), one(inconclusive("no log")), one(notRun)}
}

// TestTheSmallReportsAreRead holds the seeds of the fuzz target: one that is refused finds little.
func TestTheSmallReportsAreRead(t *testing.T) {
	for i, r := range small(t) {
		text := render(t, jsonFormat, r)
		_, err := report.FromJSON(bytes.NewReader(text))
		require.NoError(t, err, i)
		assert.Less(t, len(text), 8<<10, i)
	}
}

// FuzzFromJSON checks that no input panics, and that a report that was accepted can
// be written and read back.
func FuzzFromJSON(f *testing.F) {
	for _, r := range small(f) {
		var doc bytes.Buffer
		require.NoError(f, report.JSON(&doc, r, &report.JSONOptions{Compact: true}))
		f.Add(doc.Bytes())
	}
	f.Add([]byte(`{"seed":"1","cells":[],"score":{"verdict":"pass","why":"","passed":0,"decided":0,"total":0,"inconclusive":0,"undelivered":0,"notRun":0},"scenarios":[],"invariants":[],"trials":0}`))
	f.Add([]byte(`{"cells":[{"evidence":{"events":[{"changes":[null]}]}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := report.FromJSON(bytes.NewReader(text))
		if err != nil {
			assert.Nil(t, r)
			assert.NotEmpty(t, fieldsOf(err))
			return
		}
		first := render(t, jsonFormat, r)
		back, err := report.FromJSON(bytes.NewReader(first))
		require.NoError(t, err)
		assert.Equal(t, string(first), string(render(t, jsonFormat, back)))
		for _, f := range formats() {
			render(t, f, r)
		}
	})
}

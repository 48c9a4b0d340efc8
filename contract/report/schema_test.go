package report_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	var s jsonschema.Schema
	require.NoError(t, json.Unmarshal([]byte(report.Schema()), &s))
	return &s
}

// Each line of each file is one of the three kinds of the schema.
func TestLinesMatchTheSchema(t *testing.T) {
	valid, err := schema(t).Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	require.NoError(t, err)
	all := runs(t)
	for name, r := range reports(t) {
		all[name] = r
	}
	all["rated"], all["scored"], all["judged"] = rated(t), scored(t), withJudge(t, func(*scoring.JudgeScore) {})
	all["copies"], all["of an agent that differs"] = repeated(t, 0, nil), repeated(t, 1, nil)
	for name, r := range all {
		for _, o := range []*report.WriteOptions{nil, {Stable: true, WithoutEvidence: true}} {
			for line := range strings.Lines(fileOf(t, r, o)) {
				var v map[string]any
				require.NoError(t, json.Unmarshal([]byte(line), &v))
				assert.NoError(t, valid.Validate(v), "%s: %.80s", name, line)
				delete(v, "sum")
				assert.Error(t, valid.Validate(v), "the schema notices what is missing")
			}
		}
	}
}

// TestTheSchemaHasEveryField holds the schema to the types: a field that is
// added without its description fails here.
func TestTheSchemaHasEveryField(t *testing.T) {
	s := schema(t)
	for object, is := range map[string]reflect.Type{
		"end": reflect.TypeFor[contract.Report](), "field": reflect.TypeFor[contract.Field](),
		"fingerprint": reflect.TypeFor[contract.Fingerprint](), "standing": reflect.TypeFor[stats.Standing](),
		"clusteredShare": reflect.TypeFor[stats.ClusteredShare](), "cell": reflect.TypeFor[contract.Cell](),
		"cellReport": reflect.TypeFor[contract.CellReport](), "faultCount": reflect.TypeFor[contract.FaultCount](),
		"scoredCell": reflect.TypeFor[scoring.Cell](), "observation": reflect.TypeFor[contract.Observation](),
		"event": reflect.TypeFor[chaos.Event](), "change": reflect.TypeFor[chaos.Change](),
		"score": reflect.TypeFor[scoring.ContractScore](), "severityScore": reflect.TypeFor[scoring.SeverityScore](),
		"chaosScore": reflect.TypeFor[scoring.ChaosScore](), "mutationScore": reflect.TypeFor[scoring.MutationScore](),
		"kindScore": reflect.TypeFor[scoring.KindScore](), "replayScore": reflect.TypeFor[scoring.ReplayScore](),
		"judgeScore": reflect.TypeFor[scoring.JudgeScore](), "judgeRates": reflect.TypeFor[scoring.JudgeRates](),
		"judgeScenario": reflect.TypeFor[scoring.JudgeScenario](),
		"overall":       reflect.TypeFor[scoring.Overall](),
		"partScore":     reflect.TypeFor[scoring.PartScore](), "interval": reflect.TypeFor[scoring.Interval](),
		"defect": reflect.TypeFor[contract.Defect](), "break": reflect.TypeFor[contract.Break](),
	} {
		var all, required []string
		for f := range is.Fields() {
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "-" || name == "" {
				continue
			}
			all = append(all, name)
			if !strings.Contains(options, "omit") && (!strings.HasSuffix(strings.ToLower(object), "score") || name != "value") {
				required = append(required, name)
			}
		}
		own := func(name string) bool {
			return slices.Contains([]string{"end", "part", "warningsOfCells", "sum", "cells"}, name)
		}
		if object != "end" {
			own = func(string) bool { return false }
		}
		if object == "cellReport" { // a unit has the members that are not zero
			required = nil
		}
		def := s.Defs[object]
		require.NotNil(t, def, object)
		var names []string
		for name := range def.Properties {
			names = append(names, name)
		}
		assert.ElementsMatch(t, slices.DeleteFunc(all, own), slices.DeleteFunc(names, own), object)
		assert.ElementsMatch(t, slices.DeleteFunc(required, own), slices.DeleteFunc(slices.Clone(def.Required), own), object)
	}
}

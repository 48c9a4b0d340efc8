package toolkit_test

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract/experiment/toolkit"
)

func full(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/full.json")
	require.NoError(t, err)
	return data
}

// paths lists where the problems are.
func paths(t testing.TB, err error) (list []string) {
	t.Helper()
	if err == nil {
		return nil
	}
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	for _, err := range all {
		var wrong *toolkit.FieldError
		require.True(t, errors.As(err, &wrong), "%v", err)
		assert.True(t, strings.HasPrefix(err.Error(), "toolkit: "), err.Error())
		list = append(list, wrong.Field)
	}
	return list
}

func TestWhatIsWrittenIsReadAgain(t *testing.T) {
	doc, err := toolkit.Read(full(t))
	require.NoError(t, err)
	var written bytes.Buffer
	require.NoError(t, doc.Write(&written))
	assert.JSONEq(t, strings.Replace(string(full(t)), `"background": false, `, "", 1), written.String(), "nothing is lost")
	again, err := toolkit.Read(written.Bytes())
	require.NoError(t, err)
	assert.Equal(t, doc, again)
	assert.Contains(t, written.String(), "/orders?<all>", "as a person would write it")
}

func TestReadReportsEverything(t *testing.T) {
	_, err := toolkit.Read([]byte(`{
		"titel": "x", "description": 1, "tags": ["a", 2], "contributions": {"speed": "huge"},
		"configuration": {"a": {"type": "vault"}, "b": {"type": "env", "env_var_type": "date"}},
		"secrets": {"s": {"k": {"type": "vault", "path": "x"}}, "t": "text"},
		"controls": [{"name": "c", "scope": "never"}, 7],
		"extensions": [1],
		"runtime": {"rollbacks": {"strategy": "sometimes"}, "hypothesis": {"fail_fast_ratio": 2, "frequency": -1, "fail_fast": 1}},
		"steady-state-hypothesis": {"probes": [
			{"type": "action", "name": "p", "provider": {"type": "http", "url": "x"}, "tolerance": true},
			{"type": "probe", "name": "q", "provider": {"type": "http", "url": "x"}}
		]},
		"method": [
			{},
			{"type": "guess", "name": "", "provider": {"type": "ssh"}, "background": "yes", "pauses": {"before": -1, "after": "soon", "between": 1}, "timeout": "x"},
			{"type": "action", "name": "a", "provider": {"type": "function", "module": "m", "arguments": [1], "url": "x"}},
			{"type": "action", "name": "a", "provider": {"type": "process", "path": "", "arguments": 7, "timeout": null}},
			{"type": "action", "name": "a", "provider": {"type": "http", "url": "u", "method": 1, "headers": {"H": 1}, "verify_tls": "no", "max_retries": 1.5}},
			{"ref": "a", "name": "b"},
			"activity"
		],
		"rollbacks": [{"type": "action", "name": "r", "background": true, "dry": "x", "provider": {"type": "process", "path": "p"}}]
	}`))
	assert.Equal(t, []string{
		"titel", "tags[1]", "title", "description", "contributions.speed",
		"configuration.a.type", "configuration.b.key", "configuration.b.env_var_type",
		"secrets.s.k", "secrets.t",
		"controls[0].scope", "controls[0].provider", "controls[1]", "extensions[0]",
		"runtime.rollbacks.strategy", "runtime.hypothesis.frequency", "runtime.hypothesis.fail_fast", "runtime.hypothesis.fail_fast_ratio",
		"steady-state-hypothesis.title", "steady-state-hypothesis.probes[0].type", "steady-state-hypothesis.probes[1].tolerance",
		"method[0].type", "method[0].name", "method[0].provider",
		"method[1].type", "method[1].name", "method[1].provider.type", "method[1].background",
		"method[1].pauses.between", "method[1].pauses.before", "method[1].pauses.after", "method[1].timeout",
		"method[2].provider.url", "method[2].provider.arguments", "method[2].provider.func",
		"method[3].provider.arguments", "method[3].provider.path", "method[3].provider.timeout",
		"method[4].provider.method", "method[4].provider.verify_tls", "method[4].provider.max_retries", "method[4].provider.headers.H",
		"method[5].name", "method[6]",
		"rollbacks[0].background", "rollbacks[0].dry",
	}, paths(t, err))
	for _, want := range []string{
		`toolkit: line 2, column 12: titel is "x"; allowed: no such member; version, title`,
		"toolkit: title is missing; allowed: a text",
		`: method[1].provider.type is "ssh"; allowed: function, python, http, process`,
		`: secrets.s.k is {"path":"x","type":"vault"}; allowed: a text, or {"type": "env", …}; vaults are not supported`,
		": method[3].provider.timeout is null; allowed: a number, 0 or more",
	} {
		assert.ErrorContains(t, err, want)
	}
}

func TestReadTolerances(t *testing.T) {
	for text, want := range map[string]string{
		`true`: "", `200`: "", `"ok"`: "", `[1, 2]`: "",
		`{"type": "regex", "pattern": "a", "target": "body"}`:           "",
		`{"type": "range", "range": [1, 2]}`:                            "",
		`{"type": "jsonpath", "path": "$.a", "count": 2, "expect": []}`: "",
		`{"type": "distribution", "shares": {"200": 1}, "within": 0.1}`: "",
		`{"type": "probe", "provider": {"type": "http", "url": "u"}}`:   "",
		`null`:                     ".tolerance",
		`{}`:                       ".tolerance.type",
		`{"type": "fuzzy"}`:        ".tolerance.type",
		`{"type": "regex"}`:        ".tolerance.pattern",
		`{"type": "jsonpath"}`:     ".tolerance.path",
		`{"type": "range"}`:        ".tolerance.range",
		`{"type": "distribution"}`: ".tolerance.shares",
		`{"type": "probe"}`:        ".tolerance.provider",
		`{"type": "regex", "pattern": "a", "flags": "i"}`:           ".tolerance.flags",
		`{"type": "range", "range": [1, "2"]}`:                      ".tolerance.range",
		`{"type": "range", "range": [1]}`:                           ".tolerance.range",
		`{"type": "jsonpath", "path": "$", "count": -1}`:            ".tolerance.count",
		`{"type": "distribution", "shares": {"a": "b"}}`:            ".tolerance.shares.a",
		`{"type": "regex", "pattern": "a", "target": ""}`:           ".tolerance.target",
		`{"type": "jsonpath", "path": "$", "count": 1.5}`:           ".tolerance.count",
		`{"type": "probe", "provider": {"type": "carrier pigeon"}}`: ".tolerance.provider.type",
	} {
		doc := `{"title": "t", "description": "d", "method": [{"type": "probe", "name": "p", "provider": {"type": "http", "url": "u"}, "tolerance": ` + text + `}]}`
		_, err := toolkit.Read([]byte(doc))
		got := strings.TrimPrefix(strings.Join(paths(t, err), " "), "method[0]")
		assert.Equal(t, want, got, text)
	}
}

func TestReadWhatIsNoDocument(t *testing.T) {
	for text, want := range map[string]string{
		``:                           "toolkit: line 1, column 1: the document: unexpected end of JSON input",
		`{`:                          "toolkit: line 1, column 1: the document: unexpected end of JSON input",
		`[]`:                         "toolkit: the document is []; allowed: an object",
		`{} {}`:                      "toolkit: line 1, column 4: the document: invalid character '{' after top-level value",
		`{"title": "a", "title": 1}`: `toolkit: line 1, column 16: title is there twice; allowed: each member once`,
		`{"method": [{"name": "a", "name": "b"}]}`: `toolkit: line 1, column 27: method[0].name is there twice; allowed: each member once`,
	} {
		_, err := toolkit.Read([]byte(text))
		assert.ErrorContains(t, err, want, text)
		paths(t, err)
	}
}

func TestADocumentMadeInGo(t *testing.T) {
	doc := &toolkit.Document{Title: "t", Method: []toolkit.Activity{{Type: "action", Name: "a"}}}
	assert.Equal(t, []string{"method[0].provider"}, paths(t, doc.Validate(nil)), "the same rules hold")
	assert.NoError(t, (&toolkit.Document{Title: "t"}).Validate(nil))
}

// A document that was read can be written, and is read again as the same.
func FuzzRead(f *testing.F) {
	f.Add(full(f))
	f.Add([]byte(`{"title":"t","description":"","method":[],"tags":[],"rollbacks":[],"runtime":{},"steady-state-hypothesis":{"title":"h","probes":[]}}`))
	f.Add([]byte(`{"title":"t","description":"d","method":[{"type":"action","name":"a","provider":{"type":"process","path":"p","arguments":{"b":1,"a":null}},"tolerance":[1.0,2e0]}]}`))
	f.Add([]byte(`{"title":"t","description":"d","method":[{"ref":"x"}],"configuration":{"":{"type":"env","key":"K","default":null}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := toolkit.Read(data)
		if err != nil {
			paths(t, err)
			return
		}
		var written bytes.Buffer
		require.NoError(t, doc.Write(&written))
		again, err := toolkit.Read(written.Bytes())
		require.NoError(t, err, "%s", written.Bytes())
		assert.Equal(t, doc, again)
		paths(t, doc.Validate(nil))
	})
}

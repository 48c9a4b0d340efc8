package tape

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// planted is a credential of no well-known form, with what each spelling escapes.
const planted = `Qx7/+"<tr ee>\é%z9`

// carriers are requests that carry it, and the source that the error names.
var carriers = []struct {
	source string
	of     func(r *http.Request)
}{
	{"header Authorization", func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+planted) }},
	{"header Authorization", func(r *http.Request) { r.SetBasicAuth("ann", planted) }},
	{"header X-Api-Key", func(r *http.Request) { r.Header.Set("X-Api-Key", planted) }},
	{"header Api-Key", func(r *http.Request) { r.Header["api-key"] = []string{planted} }},
	{"header X-Goog-Api-Key", func(r *http.Request) { r.Header.Set("x-goog-api-key", planted) }},
	{"header Ocp-Apim-Subscription-Key", func(r *http.Request) { r.Header.Set("Ocp-Apim-Subscription-Key", planted) }},
	{"header X-Amz-Security-Token", func(r *http.Request) { r.Header.Set("X-Amz-Security-Token", planted) }},
	{"user information of the address", func(r *http.Request) { r.URL.User = url.UserPassword("ann", planted) }},
	{"user information of the address", func(r *http.Request) { r.URL.User = url.User(planted) }},
	{"user information of the address", func(r *http.Request) { r.URL.User = url.UserPassword(planted, "") }},
	{"header Authorization", func(r *http.Request) { r.SetBasicAuth(planted, "") }},
	{"header Authorization", func(r *http.Request) { r.SetBasicAuth(planted, "x-oauth-basic") }},
	{"header Authorization", func(r *http.Request) {
		r.Header.Set("Authorization", "basic  "+base64.RawStdEncoding.EncodeToString([]byte("ann:"+planted)))
	}},
	{"header Authorization", func(r *http.Request) { r.Header.Set("Authorization", "Bearer\t"+planted) }},
	{"query parameter app_key", func(r *http.Request) { r.URL.RawQuery = "app_key=" + url.QueryEscape(planted) }},
	{"query parameter auth[token]", func(r *http.Request) { r.URL.RawQuery = "auth%5Btoken%5D=" + url.QueryEscape(planted) }},
	{"query parameter api_key[]", func(r *http.Request) { r.URL.RawQuery = "api_key[]=" + url.QueryEscape(planted) }},
	{"query parameter api.key", func(r *http.Request) { r.URL.RawQuery = "a=1;api.key=" + url.QueryEscape(planted) }},
	{"query parameter key", func(r *http.Request) { r.URL.RawQuery = url.Values{"key": {planted}}.Encode() }},
	{"query parameter api_key", func(r *http.Request) { r.URL.RawQuery = "a=1&api_key=" + url.QueryEscape(planted) }},
	{"query parameter sig", func(r *http.Request) { r.URL.RawQuery = "sig=" + url.QueryEscape(planted) }},
	{"query parameter access_token", func(r *http.Request) { r.URL.RawQuery = "access_token=" + url.QueryEscape(planted) }},
	{"form field client_secret", func(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") }},
}

func carrying(of func(r *http.Request)) (r *http.Request, body []byte) {
	r = &http.Request{Method: "POST", URL: &url.URL{Scheme: "https", Host: "a.example", Path: "/v1"}, Header: make(http.Header)}
	of(r)
	if r.Header.Get("Content-Type") != "" {
		body = []byte("grant_type=client_credentials&client_secret=" + url.QueryEscape(planted))
	}
	return r, body
}

// spelled are the spellings in which a secret is found.
var spelled = map[string]func(string) string{
	"plain":                func(s string) string { return s },
	"JSON":                 inJSON,
	"JSON within JSON":     func(s string) string { return inJSON(inJSON(s)) },
	"JSON without HTML":    func(s string) string { return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) },
	"JSON, all escaped":    func(s string) string { return escaped(s, `\u%04x`, 16) },
	"query":                url.QueryEscape,
	"path":                 url.PathEscape,
	"address, lower case":  func(s string) string { return strings.ToLower(url.QueryEscape("/")) + url.QueryEscape(s) },
	"address, all escaped": func(s string) string { return escaped(s, "%%%02x", 8) },
	"address within JSON":  func(s string) string { return inJSON(`"` + url.QueryEscape(s)) },
	"base64":               func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"base64, second":       func(s string) string { return base64.StdEncoding.EncodeToString([]byte("a" + s + "bc")) },
	"base64, third":        func(s string) string { return base64.StdEncoding.EncodeToString([]byte("user:" + s + "b")) },
	"base64 for addresses": func(s string) string { return base64.URLEncoding.EncodeToString([]byte(s)) },
	"… second":             func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte("abcd" + s)) },
	"… third":              func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte("ab" + s)) },
}

func inJSON(s string) string {
	text, _ := json.Marshal(s)
	return string(text[1 : len(text)-1])
}

func escaped(s, format string, bits int) (all string) {
	if bits == 8 {
		for _, c := range []byte(s) {
			all += fmt.Sprintf(format, c)
		}
		return all
	}
	for _, c := range s {
		all += fmt.Sprintf(format, c)
	}
	return all
}

// places are where an answer or request may hold it.
var places = []func(e *Exchange, text string){
	func(e *Exchange, text string) { e.Request.URL = "http://a.example/?x=" + url.QueryEscape(text) },
	func(e *Exchange, text string) { e.Request.Body = []byte("- " + text) },
	func(e *Exchange, text string) { e.Request.Body = []byte("\xff" + text) },
	func(e *Exchange, text string) {
		e.Request.Body = fmt.Appendf(nil, `{"messages":[1,{"content":%s}]}`, quoted(text))
	},
	func(e *Exchange, text string) {
		e.Response.Header = http.Header{"X-Request-Id": {text}}
	},
	func(e *Exchange, text string) {
		e.Response.Status = 401
		e.Response.Chunks = []Chunk{{Data: fmt.Appendf(nil, `{"error":{"message":%s}}`, quoted("Incorrect API key provided: "+text))}}
	},
	func(e *Exchange, text string) { e.Response.Chunks = []Chunk{{Data: []byte(text)}} },
	func(e *Exchange, text string) {
		e.Response.Chunks = []Chunk{{Data: []byte(text[:len(text)/2])}, {Data: []byte(text[len(text)/2:])}}
	},
	func(e *Exchange, text string) {
		e.Response.Header = http.Header{"Content-Type": {"text/event-stream"}}
		e.Response.Chunks = []Chunk{{Data: []byte("data: 1\n\n")}, {Data: fmt.Appendf(nil, "data: {\"delta\":%s}\n\n", quoted(text))}}
	},
	func(e *Exchange, text string) { // in deltas of three letters
		e.Response.Header = http.Header{"Content-Type": {"text/event-stream"}}
		letters := []rune(text)
		for i := 0; i < len(letters); i += 3 {
			e.Response.Chunks = append(e.Response.Chunks, Chunk{Data: fmt.Appendf(nil, "data: {\"delta\":%s,\"id\":\"abc\"}\n\n",
				quoted(string(letters[i:min(i+3, len(letters))])))})
		}
	},
	func(e *Exchange, text string) { // in letters that are no JSON
		e.Response.Header = http.Header{"Content-Type": {"text/event-stream"}}
		for _, letter := range text {
			e.Response.Chunks = append(e.Response.Chunks, Chunk{Data: fmt.Appendf(nil, "data: %c\n\n", letter)})
		}
	},
	func(e *Exchange, text string) { // in documents of two lines
		e.Response.Header = http.Header{"Content-Type": {"text/event-stream"}}
		for _, letter := range text {
			e.Response.Chunks = append(e.Response.Chunks,
				Chunk{Data: fmt.Appendf(nil, "data: {\"delta\":\ndata: %s}\n\n", quoted(string(letter)))})
		}
	},
}

func quoted(s string) string { text, _ := json.Marshal(s); return string(text) }

func TestCredentialsOfARequest(t *testing.T) {
	for _, c := range carriers {
		r, body := carrying(c.of)
		var s Secrets
		s.Add(r, body)
		assert.Equal(t, c.source, s.sources[planted])
		assert.NotContains(t, Clean(r), "Qx7")
	}
	var s Secrets
	r, _ := carrying(func(r *http.Request) {
		r.Header.Set("Cookie", `lang=en; theme=system; session="abcdefg1"`)
		r.Header.Set("Authorization", `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/x, SignedHeaders=host, Signature=fe5f80`)
		r.Header.Set("Idempotency-Key", "not-a-secret")
		r.Header.Set("Content-Type", "application/json")
		r.URL.RawQuery = "key=short&token=refund-policy&sig=abcdefghijklmnop&pageToken=position&code=DE"
	})
	s.Add(r, nil)
	assert.Equal(t, map[string]string{
		"abcdefg1": "cookie session",
		"AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/x, SignedHeaders=host, Signature=fe5f80": "header Authorization",
		"Credential=AKIDEXAMPLE/x, SignedHeaders=host, Signature=fe5f80":                  "header Authorization",
		"AKIDEXAMPLE/x": "header Authorization", "fe5f80": "header Authorization", "abcdefghijklmnop": "query parameter sig",
	}, s.sources, "what is short, and words, would be found in any text")
	s = Secrets{}
	r, _ = carrying(func(r *http.Request) {
		r.Header["cookie"] = []string{"bad cookie; s=abcdefg1"}
		r.Header["authorization"] = []string{`ApiKey="abcdefg2"`}
		r.URL.User = url.UserPassword("administrator", "")
	})
	s.Add(r, nil)
	assert.Equal(t, map[string]string{
		"abcdefg1":          "cookie s",
		`ApiKey="abcdefg2"`: "header Authorization", "abcdefg2": "header Authorization",
	}, s.sources, "in another spelling; a word in place of a user is no key")
}

// What answers have too must not keep a tape from being written.
func TestWhatIsNoCredential(t *testing.T) {
	header := func(name, value string) func(r *http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	query := func(query string) func(r *http.Request) { return func(r *http.Request) { r.URL.RawQuery = query } }
	for _, row := range []struct {
		why, said string
		of        func(r *http.Request)
	}{
		{"the key of a server that needs none", `{"system_fingerprint":"fp_ollama"}`, header("Authorization", "Bearer ollama")},
		{"of another one", `{"id":"lm-studio"}`, header("Authorization", "Bearer lm-studio")},
		{"a key of a test", `{"text":"still testing"}`, header("X-Api-Key", "testing")},
		{"a short one", `{"text":"test 1"}`, header("X-Api-Key", "test")},
		{"a password of a test", `{"text":"reset your password"}`, func(r *http.Request) { r.SetBasicAuth("ann", "password") }},
		{"a setting in a cookie", `{"text":"to Germany, lang=en"}`, header("Cookie", "lang=en; country=Germany; a")},
		{"one cookie alone", `{"text":"see /x?lang=en"}`, header("Cookie", "lang=en")},
		{"a key of a request", `{"key":"refund-1042"}`, header("X-Idempotency-Key", "refund-1042")},
		{"a coupon, which is kept in the address", `{}`, query("code=SUMMER20")},
		{"a number", `{"code":123456}`, query("code=123456")},
	} {
		r, _ := carrying(row.of)
		var s Secrets
		s.Add(r, nil)
		e := Exchange{Request: Request{Method: "GET", URL: Clean(r)}, Response: Response{Status: 200}}
		e.Response.Chunks = []Chunk{{Data: []byte(row.said)}}
		assert.NoError(t, Save(filepath.Join(t.TempDir(), "a.json"), &File{[]Exchange{e}}, Stamp{}, &s), row.why)
	}
	var s Secrets
	for _, value := range []string{"abcdefghijklmnop", "Ab1cde", "aBcdef", "swordfisH", "ab/cdef"} {
		s.addUnlessWord("x", value)
	}
	assert.Len(t, s.sources, 5, "no words, or long ones")
	for _, value := range []string{"Bearer swordfish", "Bearer Ollama", "Basic YW5uOnN3b3JkZmlzaGVz"} {
		s.addHeader("Authorization", value)
	}
	assert.Contains(t, s.sources, "swordfish", "a key in a header is one, also if it is a word")
	assert.Contains(t, s.sources, "swordfishes", "so is a password")
	assert.NotContains(t, s.sources, "Ollama")
}

func TestASecretIsFoundInEverySpellingAndPlace(t *testing.T) {
	r, _ := carrying(carriers[0].of)
	var s Secrets
	s.Add(r, nil)
	for name, spell := range spelled {
		for i, put := range places {
			say := fmt.Sprintf("%s at place %d", name, i)
			e := Exchange{Cell: "lost/1", Request: Request{Method: "GET", URL: "http://a.example/"}, Response: Response{Status: 200}}
			first := e
			first.Cell = "calm/1"
			put(&e, spell(planted))
			path := filepath.Join(t.TempDir(), "a.json")
			err := Save(path, &File{[]Exchange{e, first}}, Stamp{}, &s)
			var found *SecretError
			require.ErrorAs(t, err, &found, say)
			assert.Equal(t, SecretError{2, "lost/1", "header Authorization"}, *found, say)
			for _, part := range []string{"Qx7", "ee>", "z9"} {
				assert.NotContains(t, err.Error(), part, say)
			}
			_, err = os.Stat(path)
			assert.ErrorIs(t, err, os.ErrNotExist, say)
		}
	}
	_, err := (&File{}).Bytes()
	require.NoError(t, err)
	assert.EqualError(t, &SecretError{2, "lost/1", "header Authorization"},
		"cassette: exchange 2 of cell lost/1 holds a credential that a recorded request carried "+
			"(header Authorization): nothing was written; take it out with Redact")
}

// Any secret is found under up to three escapes, and in base64 wherever it begins.
func TestAnySecretIsFound(t *testing.T) {
	escapes := []func(string) string{inJSON, url.QueryEscape, url.PathEscape, spelled["JSON without HTML"]}
	rapid.Check(t, func(t *rapid.T) {
		secret := strings.TrimSpace(rapid.StringOfN(rapid.RuneFrom([]rune("aZ09+/=%\\\"<é 😀")), 6, 20, -1).Draw(t, "secret"))
		if len(secret) < minEncoded {
			t.Skip("too short for base64")
		}
		around := rapid.StringMatching(`[a-z]{0,4}`)
		text := around.Draw(t, "before") + secret + around.Draw(t, "after")
		if rapid.Bool().Draw(t, "in base64") {
			code := rapid.SampledFrom([]*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding}).Draw(t, "code")
			text = code.EncodeToString([]byte(text))
		}
		for range rapid.IntRange(0, maxEscapes).Draw(t, "escapes") {
			text = rapid.SampledFrom(escapes).Draw(t, "escape")(text)
		}
		var s Secrets
		s.add("header", secret)
		_, found := search(s.needles(), []byte(text), maxEscapes)
		require.True(t, found, "%s", text)
	})
}

// A backslash that begins no escape of JSON stands for what comes behind it.
func TestASecretBehindOtherBackslashes(t *testing.T) {
	var s Secrets
	s.add("header", "pa$$word")
	for text, want := range map[string]bool{`pa\$\$word`: true, `pa\\$\u0024word\`: true,
		`pa\$\uword\`: false, `\`: false, `%`: false, `100%\`: false} {
		_, found := search(s.needles(), []byte(text), maxEscapes)
		assert.Equal(t, want, found, text)
	}
}

func TestNoSecretIsFoundWhereThereIsNone(t *testing.T) {
	var s Secrets
	for _, c := range carriers {
		s.Add(carrying(c.of))
	}
	f, err := Read([]byte(example))
	require.NoError(t, err)
	assert.NoError(t, s.Find(f, []byte(example)))
	assert.NoError(t, (*Secrets)(nil).Find(f, []byte(example)))
}

func TestClean(t *testing.T) {
	for _, row := range []struct{ why, address, want string }{
		{"as it is", "https://api.openai.com/v1/chat/completions", "https://api.openai.com/v1/chat/completions"},
		{"query as it is spelled", "https://a.example/x?b=1&a=%2f+&c&b=2", "https://a.example/x?b=1&a=%2f+&c&b=2"},
		{"path as it is spelled", "https://a.example/a%2Fb%20c", "https://a.example/a%2Fb%20c"},
		{"host in lower case", "https://API.example:8080/", "https://api.example:8080/"},
		{"user information and fragment", "https://ann:pw@a.example/x#y", "https://a.example/x"},
		{"keys", "https://a.example/x?key=1&api_key=2&apikey=3&token=4&sig=5&Signature=6&access_token=7&X-Amz-Signature=8&" +
			"X-Amz-Credential=9&subscription-key=10&password=11&q=12", "https://a.example/x?q=12"},
		{"keys alone", "https://a.example/x?key=1", "https://a.example/x"},
		{"an escaped name", "https://a.example/x?%6Bey=1", "https://a.example/x"},
		{"keys behind semicolons", "https://a.example/x?a=1;b&api_key=2;c;;d;sig=3", "https://a.example/x?a=1;b;c;;d"},
		{"keys in names that are nested", "https://a.example/x?auth[token]=1&key[]=2&api.key=3&filter[key]=4&sort_key=5", "https://a.example/x?filter[key]=4&sort_key=5"},
		{"positions in a list", "https://a.example/x?pageToken=1&next_token=2&%24skiptoken=3&cursor=4", "https://a.example/x?pageToken=1&next_token=2&%24skiptoken=3&cursor=4"},
		{"of other providers", "https://a.example/x?pagination_token=1&$deltatoken=2&StartingToken=3", "https://a.example/x?pagination_token=1&$deltatoken=2&StartingToken=3"},
		{"like a key by its name alone", "https://a.example/x?monkey=1&max_tokens=2&keyword=3&code=DE", "https://a.example/x?monkey=1&max_tokens=2&keyword=3&code=DE"},
		{"a code that gives access", "https://a.example/x?code=abcdefghijklmnopqrst", "https://a.example/x"},
		{"a form of a key in a value", "https://a.example/x?q=sk-abcdefghijklmnopqrst", "https://a.example/x?q=%5Bredacted%5D"},
		{"a web hook", "https://hooks.slack.com/services/T0/B0/XXXX", "https://hooks.slack.com/%5Bredacted%5D"},
		{"a form of a key in the path", "https://a.example/ghp_abcdefghijklmnopqrst/x", "https://a.example/%5Bredacted%5D/x"},
	} {
		u, err := url.Parse(row.address)
		require.NoError(t, err)
		got := Clean(&http.Request{URL: u})
		assert.Equal(t, row.want, got, row.why)
		u, err = url.Parse(got)
		require.NoError(t, err)
		assert.Equal(t, got, Clean(&http.Request{URL: u}), "%s: it is clean", row.why)
	}
}

// What Clean returns is clean, and Read takes it.
func FuzzClean(f *testing.F) {
	f.Add("https", "a.example", "/x", "key=1&q=a b#c")
	f.Add("HTTP", "[::1]:80", "x/../%2f", "%6bey=1&&=&a=%zz")
	f.Fuzz(func(t *testing.T, scheme, host, path, query string) {
		got := Clean(&http.Request{URL: &url.URL{Scheme: scheme, Host: host, Path: path, RawQuery: query}})
		u, err := url.Parse(got)
		if err != nil || host == "" || u.Host == "" || u.Scheme == "" {
			return // no client sends such a request
		}
		require.Equal(t, got, clean(u))
	})
}

func TestKeepHeader(t *testing.T) {
	kept := KeepHeader(http.Header{"Content-Type": {"a"}, "Retry-After": {"1"}, "Retry-After-Ms": {"2"}, "X-Should-Retry": {"true"},
		"X-Request-Id": {"3"}, "Request-Id": {"4"}, "Apim-Request-Id": {"5"}, "X-Amzn-Requestid": {"6"}, "X-Ratelimit-Reset-Tokens": {"7"},
		"anthropic-ratelimit-tokens-limit": {"8"}, "Ratelimit": {"9\x00"}, "X-Rate-Limit": {"10", "11\xff"}, "Empty": {},
		"Set-Cookie": {"no"}, "Www-Authenticate": {"no"}, "Openai-Organization": {"no"}, "Content-Encoding": {"no"}, "Date": {"no"}, "Location": {"no"}})
	assert.Equal(t, http.Header{"Content-Type": {"a"}, "Retry-After": {"1"}, "Retry-After-Ms": {"2"}, "X-Should-Retry": {"true"},
		"X-Request-Id": {"3"}, "Request-Id": {"4"}, "Apim-Request-Id": {"5"}, "X-Amzn-Requestid": {"6"}, "X-Ratelimit-Reset-Tokens": {"7"},
		"Anthropic-Ratelimit-Tokens-Limit": {"8"}, "Ratelimit": {"9 "}, "X-Rate-Limit": {"10", "11\ufffd"}}, kept)
	assert.Nil(t, KeepHeader(http.Header{"Date": {"x"}}))
}

func TestMask(t *testing.T) {
	const key = "sk-abcdefghijklmnopqrst"
	pem := "-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----"
	for _, row := range []struct{ why, doc, want string }{
		{"none", `{"a": "task-abcdefghijklmnopqrstuvw \n", "max_tokens": 5}`, `{"a": "task-abcdefghijklmnopqrstuvw \n", "max_tokens": 5}`},
		{"by the name of the member, as in a session", `{"access_token": "x", "api_key":["y", 7], "password":"", "client_secret":{"a":"z"}}`,
			`{"access_token": "[redacted]", "api_key":["[redacted]", "[redacted]"], "password":"", "client_secret":{"a":"[redacted]"}}`},
		{"by a name in arguments, which are JSON in a text", `{"arguments":"{\"password\":\"x\"}"}`, `{"arguments":"{\"password\":\"[redacted]\"}"}`},
		{"not a position, nor the token of a probability", `{"next_page_token":"x","logprobs":[{"token":"Hi","logprob":-1}]}`,
			`{"next_page_token":"x","logprobs":[{"token":"Hi","logprob":-1}]}`},
		{"in JSON, which stays as it is spelled elsewhere", `{ "a":["` + key + `", "\u0041"]}`, `{ "a":["[redacted]", "\u0041"]}`},
		{"behind an escape", `{"a":"x\n` + key + `\ny"}`, `{"a":"x\n[redacted]\ny"}`},
		{"JSON within JSON", `{"a":"{\"k\":\"` + key + `\"}"}`, `{"a":"{\"k\":\"[redacted]\"}"}`},
		{"a private key of several lines", `{"a":` + quoted("x"+pem) + `,"b":1}`, `{"a":"x[redacted]","b":1}`},
		{"cut off, within its text alone", `{"a":"-----BEGIN PRIVATE KEY-----\nab","b":1}`, `{"a":"[redacted]","b":1}`},
		{"in events", "event: x\ndata: {\"a\":\"" + key + "\"}\n\n: " + key + "\n\n", "event: x\ndata: {\"a\":\"[redacted]\"}\n\n: [redacted]\n\n"},
		{"in lines", "{\"a\":\"" + key + "\"}\n{\"b\": 1}\n", "{\"a\":\"[redacted]\"}\n{\"b\": 1}\n"},
		{"in prose", pem + "\nx " + key, "[redacted]\nx [redacted]"},
		{"in an address", `{"a":"postgres://ann:secret@db.example/x"}`, `{"a":"postgres://[redacted]@db.example/x"}`},
	} {
		assert.Equal(t, row.want, string(Mask([]byte(row.doc))), row.why)
		assert.Equal(t, row.want, string(Mask([]byte(row.want))), "%s: once is enough", row.why)
	}
}

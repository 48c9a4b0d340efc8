package tape

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/strictjson"
	"github.com/shakedown-go/shakedown/scoring"
)

// example is that of docs/recordings.md, which the next test holds.
const example = `{"format": "shakedown/cassette", "version": 1, "exchanges": [
  {"cell": "calm/1",
   "request": {
     "method": "POST",
     "url": "https://api.openai.com/v1/chat/completions",
     "body": {"messages": [{"content": "Refund order 1042", "role": "user"}], "model": "gpt"}
   },
   "response": {"status": 200, "header": {"Content-Type": "application/json"}, "after": "840ms", "body": {"id": 1}}},
  {"cell": "calm/1",
   "request": {
     "like": 1,
     "append": {"/messages": [{"content": null, "role": "assistant"}, {"content": "ok", "role": "tool"}]}
   },
   "response": {
     "status": 200,
     "header": {"Content-Type": "text/event-stream"},
     "events": [
       {"data": {"delta": "Refunded"}},
       {"after": "40ms", "data": {"delta": "."}},
       {"event": "ping", "text": "no JSON"},
       {"raw": ": a comment\n\n"},
       {"text": "[DONE]"}
     ]
   }},
  {"cell": "refund-reply-lost/1",
   "request": {"like": 1},
   "response": {"like": 1}}]}
`

func TestThePageHasTheExample(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/recordings.md")
	require.NoError(t, err)
	assert.Contains(t, string(page), "```json\n"+example+"```\n")
	_, table, _ := strings.Cut(string(page), "| of an exchange |")
	table, _, _ = strings.Cut(table, "\n## ")
	for _, doc := range []any{exchangeDoc{}, requestDoc{}, responseDoc{}, eventDoc{}, lineDoc{}, chunkDoc{}} {
		for _, f := range strictjson.Fields(reflect.TypeOf(doc)) {
			assert.Contains(t, table, "`"+f.Name+"`", "the tables have every member")
		}
	}
}

func TestTheExampleIsReadAndWrittenBack(t *testing.T) {
	f, err := Read([]byte(example))
	require.NoError(t, err)
	require.Len(t, f.Exchanges, 3)
	assert.Equal(t, `{"messages":[{"content":"Refund order 1042","role":"user"},{"content":null,"role":"assistant"},{"content":"ok","role":"tool"}],"model":"gpt"}`,
		string(f.Exchanges[1].Request.Body))
	assert.Equal(t, "data: {\"delta\":\"Refunded\"}\n\ndata: {\"delta\":\".\"}\n\nevent: ping\ndata: no JSON\n\n: a comment\n\ndata: [DONE]\n\n",
		string(f.Exchanges[1].Response.Body()))
	third := f.Exchanges[2]
	assert.Equal(t, "refund-reply-lost/1", third.Cell)
	assert.Equal(t, f.Exchanges[0].Request, third.Request)
	assert.Equal(t, f.Exchanges[0].Response, third.Response)
	data, err := f.Bytes()
	require.NoError(t, err)
	assert.Equal(t, example, string(data))
}

// file has one exchange more than the first, whose members are given.
func fileOf(members string) string {
	return `{"format": "shakedown/cassette", "version": 1, "exchanges": [
{"request": {"method": "POST", "url": "http://a.example/", "body": {"list": [1], "n": 1}}, "response": {"status": 200, "text": "x"}},
{` + members + `}]}`
}

func requestOf(members string) string {
	return fileOf(`"response": {"status": 204}, "request": {` + members + `}`)
}

func responseOf(members string) string {
	return fileOf(`"request": {"method": "GET", "url": "http://a.example/"}, "response": {` + members + `}`)
}

// badFiles are files with all that is wrong with them. The sign § stands in front of
// the place of each problem, in their order.
var badFiles = []struct{ why, file, want string }{
	{"empty", `§`, `cassette: @: the text is not JSON: unexpected end of JSON input`},
	{"no JSON", `{"format": §}`, `cassette: @: the text is not JSON: invalid character '}' looking for beginning of value`},
	{"no object", `§[]`, `cassette: @: the document is a list; allowed: an object`},
	{"nothing", `§§§{}`, `cassette: @: /format is missing; allowed: one of shakedown/cassette
cassette: @: /version is missing; allowed: an integer
cassette: @: /exchanges is missing; allowed: a list`},
	{"unknown version", `{"format": "shakedown/cassette", "version": §2, "exchanges": [{}]}`,
		`cassette: @: /version is 2; allowed: 1`},
	{"another format", `{"format": §"shakedown/session", "version": 1, "exchanges": []}`,
		`cassette: @: /format is "shakedown/session"; allowed: one of shakedown/cassette; did you mean shakedown/cassette?`},
	{"unknown members, all of them", fileOf(`"cel": §"", "request": {"method": "GET", "url": "http://a.example/"}, "response": {"status": 204}`),
		`cassette: @: /exchanges/1/cel is unknown; allowed: one of cell, lane, request, response; did you mean cell?`},
	{"unknown members of parts", fileOf(`"request": {"methd": §"GET"}, "response": {"state": §1, "events": [{"data": 1}]}`),
		`cassette: @: /exchanges/1/request/methd is unknown; allowed: one of like, append, method, url, body, text, base64; did you mean method?
cassette: @: /exchanges/1/response/state is unknown; allowed: one of like, status, header, after, body, text, base64, events, lines, chunks; did you mean status?`},
	{"there twice", fileOf(`"cell": "a", §"cell": "b", "request": {"method": "GET", "url": "http://a.example/"}, "response": {"status": 204}`),
		`cassette: @: /exchanges/1/cell is there twice; allowed: each member of an object once`},
	{"parts missing", strings.Replace(fileOf(``), "{}]}", "§§{}]}", 1), `cassette: @: /exchanges/1/request is missing; allowed: an object
cassette: @: /exchanges/1/response is missing; allowed: an object`},
	{"nothing in the parts", fileOf(`"request": §§{}, "response": §{}`),
		`cassette: @: /exchanges/1/request/method is missing; allowed: a method such as GET
cassette: @: /exchanges/1/request/url is missing; allowed: an address
cassette: @: /exchanges/1/response/status is missing; allowed: 200 to 599`},
	{"no method", requestOf(`"method": §"G T", "url": "http://a.example/"`),
		`cassette: @: /exchanges/1/request/method is "G T"; allowed: a method such as GET`},
	{"no address", requestOf(`"method": "GET", "url": §"a.example"`),
		`cassette: @: /exchanges/1/request/url is no address; allowed: an address with scheme and host`},
	{"an address with a key, which is not shown", requestOf(`"method": "GET", "url": §"http://a.example/?key=123456789"`),
		`cassette: @: /exchanges/1/request/url is as no request is kept; allowed: an address without user information, fragment, or parameters that hold keys`},
	{"two bodies", requestOf(`"method": "GET", "url": "http://a.example/", "text": "x", "body": §1`),
		`cassette: @: /exchanges/1/request/body is there too; allowed: one of body, text, base64`},
	{"append without like", requestOf(`"method": "GET", "url": "http://a.example/", "append": §{"/list": [1]}`),
		`cassette: @: /exchanges/1/request/append is there; allowed: append beside like`},
	{"like itself", requestOf(`"like": §2`), `cassette: @: /exchanges/1/request/like is 2; allowed: the number of an earlier exchange, from 1 to 1`},
	{"like a later one", responseOf(`"like": §3`),
		`cassette: @: /exchanges/1/response/like is 3; allowed: the number of an earlier exchange, from 1 to 1`},
	{"like none", requestOf(`"like": §0`), `cassette: @: /exchanges/1/request/like is 0; allowed: the number of an earlier exchange, from 1 to 1`},
	{"the first is like none", `{"format": "shakedown/cassette", "version": 1, "exchanges": [{"request": {"like": §1}, "response": {"like": §1}}]}`,
		`cassette: @: /exchanges/0/request/like is 1; allowed: no like in the first exchange
cassette: @: /exchanges/0/response/like is 1; allowed: no like in the first exchange`},
	{"like and more", fileOf(`"request": {"like": 1, "url": §"http://b.example/"}, "response": {"like": 1, "status": §200}`),
		`cassette: @: /exchanges/1/request/url is there; allowed: nothing beside like but append
cassette: @: /exchanges/1/response/status is there; allowed: nothing beside like`},
	{"append to no list", requestOf(`"like": 1, "append": {"/list": §4, "/list/0": §[1], "/n": §[1], "/none": §[2], "list": §[3]}`),
		`cassette: @: /exchanges/1/request/append/~1list is a number; allowed: a list
cassette: @: /exchanges/1/request/append/~1list~10 is of no list; allowed: a JSON pointer to a list in the body of the earlier request, such as /messages
cassette: @: /exchanges/1/request/append/~1n is of no list; allowed: a JSON pointer to a list in the body of the earlier request, such as /messages
cassette: @: /exchanges/1/request/append/~1none is of no list; allowed: a JSON pointer to a list in the body of the earlier request, such as /messages
cassette: @: /exchanges/1/request/append/list is of no list; allowed: a JSON pointer to a list in the body of the earlier request, such as /messages`},
	{"status too small", responseOf(`"status": §199`), `cassette: @: /exchanges/1/response/status is 199; allowed: 200 to 599`},
	{"status too large", responseOf(`"status": §600`), `cassette: @: /exchanges/1/response/status is 600; allowed: 200 to 599`},
	{"a line end in a header", responseOf(`"status": 200, "header": {"Content-Type": §"a\r\nSet-Cookie: b", "Retry-After": ["1", §"2\n"], "X": §[]}`),
		`cassette: @: /exchanges/1/response/header/Content-Type is "a\r\nSet-Cookie: b"; allowed: a text without line ends and control characters
cassette: @: /exchanges/1/response/header/Retry-After/1 is "2\n"; allowed: a text without line ends and control characters
cassette: @: /exchanges/1/response/header/X is []; allowed: a string, or a list of strings`},
	{"names of headers", responseOf(`"status": 200, "header": {"a b": §"", "content-type": §"", "X": "1"}`),
		`cassette: @: /exchanges/1/response/header/a b is no name of a header; allowed: a name such as Content-Type
cassette: @: /exchanges/1/response/header/content-type is in another spelling; allowed: Content-Type`},
	{"a number in a header", responseOf(`"status": 200, "header": {"X": §1}`),
		`cassette: @: /exchanges/1/response/header/X is a number; allowed: a string, or a list of strings`},
	{"no duration", responseOf(`"status": 200, "after": §"soon"`),
		`cassette: @: /exchanges/1/response/after is "soon"; allowed: a duration such as "1.5s" or "200ms"`},
	{"a time before the request", responseOf(`"status": 200, "after": §"-1s"`), `cassette: @: /exchanges/1/response/after is "-1s"; allowed: 0s to 24h`},
	{"invalid base64", responseOf(`"status": 200, "base64": §"a*=="`),
		`cassette: @: /exchanges/1/response/base64 is "a*=="; allowed: base64 with padding, as of RFC 4648, section 4`},
	{"base64 of another spelling", responseOf(`"status": 200, "chunks": [{"base64": §"/x=="}, {"text": ""}]`),
		`cassette: @: /exchanges/1/response/chunks/0/base64 is "/x=="; allowed: base64 with padding, as of RFC 4648, section 4`},
	{"a chunk of nothing", responseOf(`"status": 200, "chunks": [§{}, {"base64": ""}]`),
		`cassette: @: /exchanges/1/response/chunks/0/text is missing; allowed: one of text, base64`},
	{"two bodies of an answer", responseOf(`"status": 200, "body": 1, "events": §[]`),
		`cassette: @: /exchanges/1/response/events is there too; allowed: one of body, text, base64, events, lines, chunks`},
	{"line ends in events", responseOf(`"status": 200, "events": [{"event": §"a\nb", "id": §"\r"}, {"text": "a\nb"}, {"text": §"a\rb"}, {"id": §"\u0000", "retry": §"1s"}]`),
		`cassette: @: /exchanges/1/response/events/0/event is "a\nb"; allowed: a text without line ends
cassette: @: /exchanges/1/response/events/0/id is "\r"; allowed: a text without line ends and NUL
cassette: @: /exchanges/1/response/events/2/text is "a\rb"; allowed: a text without carriage returns; raw takes any
cassette: @: /exchanges/1/response/events/3/id is "\u0000"; allowed: a text without line ends and NUL
cassette: @: /exchanges/1/response/events/3/retry is "1s"; allowed: milliseconds in decimal digits`},
	{"raw and more", responseOf(`"status": 200, "events": [{"raw": "x", "id": §""}, {"data": 1, "text": §""}]`),
		`cassette: @: /exchanges/1/response/events/0/id is there; allowed: nothing beside raw but after
cassette: @: /exchanges/1/response/events/1/text is there too; allowed: one of data, text`},
	{"line ends in lines", responseOf(`"status": 200, "lines": [{"text": §"a\nb"}, §{}, {"after": "24h", "raw": "a\nb"}]`),
		`cassette: @: /exchanges/1/response/lines/0/text is "a\nb"; allowed: a text without line ends; raw takes any
cassette: @: /exchanges/1/response/lines/1/data is missing; allowed: one of data, text, raw`},
	{"a pause that is a mistake", responseOf(`"status": 200, "lines": [{"after": §"25h", "raw": "a\nb"}]`),
		`cassette: @: /exchanges/1/response/lines/0/after is "25h"; allowed: 0s to 24h`},
}

func TestBadFilesAreRefusedWithAllThatIsWrong(t *testing.T) {
	for _, row := range badFiles {
		file, want := unmarked(row.file, row.want)
		_, err := Read([]byte(file))
		if assert.Error(t, err, row.why) {
			assert.Equal(t, want, err.Error(), row.why)
		}
		for _, problem := range fielderror.Apart(err) {
			assert.ErrorAs(t, problem, new(*scoring.FieldError), row.why)
		}
	}
}

// unmarked takes the signs out of a file and puts their places into the text for @.
func unmarked(file, text string) (string, string) {
	before, after, found := strings.Cut(file, "§")
	if !found {
		return file, text
	}
	place := fmt.Sprintf("line %d, column %d", 1+strings.Count(before, "\n"), len(before)-strings.LastIndex(before, "\n"))
	return unmarked(before+after, strings.Replace(text, "@", place, 1))
}

func TestFilesThatAreTooLarge(t *testing.T) {
	_, err := Read(make([]byte, MaxBytes+1))
	assert.EqualError(t, err, "cassette: line 1, column 1: the document is 67108865 bytes; allowed: at most 67108864")

	head := `{"format": "shakedown/cassette", "version": 1, "exchanges": [`
	_, err = Read([]byte(head + strings.Repeat(`{},`, MaxExchanges) + `{}]}`))
	assert.EqualError(t, err, "cassette: line 1, column 61: /exchanges is a list of 100001; allowed: at most 100000")

	first := `{"request": {"method": "POST", "url": "http://a.example/", "body": {"l": ["` + strings.Repeat("x", 1<<20) + `"]}}, "response": {"status": 204}}`
	again := strings.Repeat(`, {"request": {"like": 1}, "response": {"status": 204}}`, 300)
	_, err = Read([]byte(head + first + again + `]}`))
	assert.ErrorContains(t, err, "/exchanges/255 is one too many; allowed: bodies of at most 268435456 bytes in all")

	const most = 1 << 20
	first = `{"request": {"method": "POST", "url": "http://a.example/", "body": {"l": []}}, "response": {"status": 204}}`
	for i := range 40 { // each as much longer as the one before
		first += fmt.Sprintf(`, {"request": {"like": %d, "append": {"/l": ["%s"]}}, "response": {"like": 1}}`, i+1, strings.Repeat("y", 2000))
	}
	_, err = read([]byte(head+first+`]}`), most)
	assert.ErrorContains(t, err, "/exchanges/32 is one too many; allowed: bodies of at most 1048576 bytes in all")
}

func TestFilesThatWouldBeTooLargeAreNotWritten(t *testing.T) {
	e := Exchange{Request: Request{Method: "GET", URL: "http://a.example/"}, Response: Response{Status: 200}}
	_, err := (&File{slices.Repeat([]Exchange{e}, MaxExchanges+1)}).Bytes()
	assert.EqualError(t, err, "cassette: exchanges is 100001; allowed: at most 100000")
	e.Response.Chunks = []Chunk{{Data: make([]byte, 11<<20)}}
	_, err = (&File{[]Exchange{e}}).Bytes()
	assert.ErrorContains(t, err, "cassette: exchanges[0] is too much; allowed: a file of at most 67108864 bytes, with bodies of 268435456 in all", "each zero byte is six in JSON")
}

// A list of the same name within an exchange is not that of the file.
func TestExchangesUnderAnEscapedName(t *testing.T) {
	f, err := Read([]byte(`{"format":"shakedown/cassette","version":1,"\u0065xchanges":[{"request":{"method":"GET","url":"http://a/",` +
		`"body":{"exchanges":[{"request":{"method":"GET","url":"http://b/"},"response":{"status":200}}]}},"response":{"status":200}}]}`))
	require.NoError(t, err)
	require.Len(t, f.Exchanges, 1)
	assert.Equal(t, "http://a/", f.Exchanges[0].Request.URL)
}

package jsonpath_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/jsonpath"
)

const store = `{
	"name": "desk",
	"open": true,
	"note": null,
	"it's": {"a.b": 1},
	"items": [
		{"id": 1, "status": "ok", "price": 5, "tags": ["x", "y"]},
		{"id": 2, "status": "late", "price": 12.5, "gift": null},
		{"id": 3, "status": "ok", "price": 20, "tags": []}
	],
	"by": {"b": {"id": 7}, "a": {"id": 8}}
}`

func decode(t testing.TB, text string) *jsonedit.Doc {
	d, ok := jsonedit.Parse([]byte(text))
	require.True(t, ok, text)
	return d
}

func TestFind(t *testing.T) {
	for _, tc := range []struct{ path, want, reason string }{
		{"$", "$=" + store, "the document itself"},
		{"$.name", `$['name']="desk"`, "a member"},
		{" $.name\n", `$['name']="desk"`, "white space around a path in a file"},
		{"$['name']", `$['name']="desk"`, "the same in brackets"},
		{`$["name"]`, `$['name']="desk"`, "either quote"},
		{`$['it\'s']['a.b']`, `$['it\'s']['a.b']=1`, "quotes in names, and names with dots"},
		{"$.note", `$['note']=null`, "null is a value"},
		{"$.nothing", ``, "what is not there is not found"},
		{"$.name.length", ``, "a text has no members"},
		{"$.items[0].id", `$['items'][0]['id']=1`, "an element"},
		{"$.items[-1].id", `$['items'][2]['id']=3`, "from the back"},
		{"$.items[3].id", ``, "past the end"},
		{"$.items[-4].id", ``, "before the start"},
		{"$.by[0]", ``, "objects have no elements"},
		{"$.items[ 1 ].id", `$['items'][1]['id']=2`, "white space in brackets"},
		{"$.by[*].id", `$['by']['b']['id']=7 $['by']['a']['id']=8`, "members in the order of the text"},
		{"$.by.*.id", `$['by']['b']['id']=7 $['by']['a']['id']=8`, "the same with a dot"},
		{"$..id", `$['items'][0]['id']=1 $['items'][1]['id']=2 $['items'][2]['id']=3 $['by']['b']['id']=7 $['by']['a']['id']=8`, "at any depth"},
		{"$..tags[0]", `$['items'][0]['tags'][0]="x"`, "and on from there"},
		{"$..['tags'][0]", `$['items'][0]['tags'][0]="x"`, "at any depth in brackets"},
		{"$..tags..*", `$['items'][0]['tags'][0]="x" $['items'][0]['tags'][1]="y"`, "twice at any depth"},
		{"$.items[?(@.status=='ok')].id", `$['items'][0]['id']=1 $['items'][2]['id']=3`, "a condition"},
		{"$.items[?@.status!='ok'].id", `$['items'][1]['id']=2`, "without parentheses"},
		{"$.items[?(@.price>=12.5)].id", `$['items'][1]['id']=2 $['items'][2]['id']=3`, "numbers are ordered"},
		{"$.items[?(@.price<12.5)].id", `$['items'][0]['id']=1`, "either way"},
		{"$.items[?(@.price>'1')].id", ``, "a number is not ordered with a text"},
		{"$.items[?(@.status>'m')].id", `$['items'][0]['id']=1 $['items'][2]['id']=3`, "texts are ordered"},
		{"$.items[?(@.gift)].id", `$['items'][1]['id']=2`, "a path alone: it is there, even as null"},
		{"$.items[?(!@.gift)].id", `$['items'][0]['id']=1 $['items'][2]['id']=3`, "it is not there"},
		{"$.items[?(@.gift==null)].id", `$['items'][1]['id']=2`, "what is not there is not null"},
		{"$.items[?(@.tags[0]=='x')].id", `$['items'][0]['id']=1`, "elements in conditions"},
		{"$.items[?(@.status=='ok' && @.price>10)].id", `$['items'][2]['id']=3`, "and"},
		{"$.items[?(@.id==1 || @.id==2 && @.price<1)].id", `$['items'][0]['id']=1`, "and binds closer than or"},
		{"$.items[?((@.id==1 || @.id==2) && !(@.price<6))].id", `$['items'][1]['id']=2`, "parentheses"},
		{"$.by[?(@.id==8)].id", `$['by']['a']['id']=8`, "members are candidates too"},
		{"$.items[0].tags[?(@=='y')]", `$['items'][0]['tags'][1]="y"`, "the candidate itself"},
		{"$[?(@==true)]", `$['open']=true`, "true"},
	} {
		p, err := jsonpath.Parse(tc.path)
		require.NoError(t, err, tc.path)
		assert.Equal(t, tc.want, show(decode(t, store), p), "%s: %s", tc.path, tc.reason)
	}
}

func TestErrorsAreLocated(t *testing.T) {
	for _, tc := range []struct {
		path   string
		offset int
		reason string
	}{
		{"", 0, "want $"},
		{"name", 0, "want $"},
		{"$name", 1, "want . or [ or the end"},
		{"$.", 2, "want a name"},
		{"$.a b", 3, "want . or [ or the end"},
		{"$['a", 2, "the string does not end"},
		{`$['a\`, 2, "the string does not end"},
		{"$[a]", 2, "want a quoted name"},
		{"$[1", 3, "want ]"},
		{"$[-]", 2, "an index"},
		{"$[99999999999999999999]", 2, "an index"},
		{"$[1:3]", 3, "want ]"},
		{"$['a','b']", 5, "want ]"},
		{"$[?(@.a=='x'", 12, "want )"},
		{"$[?(a=='x')]", 4, "want a path that begins with @"},
		{"$[?(@..a=='x')]", 5, "only members and single elements"},
		{"$[?(@[*]=='x')]", 5, "only members and single elements"},
		{"$[?(@.a==x)]", 9, "want a string, a number"},
		{"$[?(@.a=='x' && )]", 16, "want a path that begins with @"},
		{"$.\xff", 2, "not UTF-8"},
		{"$['\xff']", 2, "not UTF-8"},
		{"$" + strings.Repeat(".a", 3000), 0, "too long"},
	} {
		_, err := jsonpath.Parse(tc.path)
		var wrong *jsonpath.Error
		require.ErrorAs(t, err, &wrong, tc.path)
		assert.Equal(t, tc.offset, wrong.Offset, tc.path)
		assert.Contains(t, wrong.Reason, tc.reason, tc.path)
		assert.Contains(t, err.Error(), "jsonpath: ")
	}
}

func TestManyWaysToOneValueCostNothing(t *testing.T) {
	doc := decode(t, strings.Repeat(`{"a":`, 60)+"1"+strings.Repeat("}", 60))
	p, err := jsonpath.Parse("$" + strings.Repeat("..a", 30))
	require.NoError(t, err)
	assert.Len(t, p.Find(doc), 31, "one for each depth that thirty steps reach")
}

// An index from the back counts in each list, and anew in each document.
func TestIndicesFromTheBack(t *testing.T) {
	p, err := jsonpath.Parse("$..[-1]")
	require.NoError(t, err)
	assert.Equal(t, "$[2]=[7] $[2][0]=7", show(decode(t, "[1,2,[7]]"), p))
	assert.Equal(t, "$[0]=1", show(decode(t, "[1]"), p))
}

// A path of a node finds that node and nothing else, unless a member occurs twice.
func FuzzLocations(f *testing.F) {
	f.Add("$..[0]", `{"":[{}],"":{}}`)
	for _, path := range []string{"$", "$..*", "$.items[?(@.status=='ok')].id", `$['it\'s'].*`, "$..[0]", "$[?(!@.a||@.b)]"} {
		f.Add(path, store)
	}
	f.Fuzz(func(t *testing.T, path, text string) {
		p, err := jsonpath.Parse(path)
		d, ok := jsonedit.Parse([]byte(text))
		if err != nil || !ok || len(text) > 2000 || !utf8.ValidString(text) {
			return
		}
		seen := make(map[string]bool)
		for i := range d.Nodes {
			if seen[d.Path(i)] {
				return // a member occurs twice
			}
			seen[d.Path(i)] = true
		}
		for _, i := range p.Find(d) {
			at, err := jsonpath.Parse(d.Path(i))
			if err != nil {
				assert.Greater(t, len(d.Path(i)), 4096, "%v", err)
				continue
			}
			assert.Equal(t, []int{i}, at.Find(d), d.Path(i))
		}
	})
}

func show(d *jsonedit.Doc, p *jsonpath.Path) string {
	var parts []string
	for _, i := range p.Find(d) {
		parts = append(parts, fmt.Sprintf("%s=%s", d.Path(i), d.Raw(i)))
	}
	return strings.Join(parts, " ")
}

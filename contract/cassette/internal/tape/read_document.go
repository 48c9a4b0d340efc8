package tape

import (
	"encoding/base64"
	"reflect"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/strictjson"
)

// The documents that a file is read into and written from. The tags alone, with and one say what
// stands beside what: see [reader.fill].
type (
	fileDoc struct {
		Format    string       `json:"format" bounds:"enum=shakedown/cassette"`
		Version   int          `json:"version" bounds:"min=1,max=1" allowed:"1"`
		Exchanges exchangeList `json:"exchanges"`
	}
	exchangeDoc struct {
		Cell     string      `json:"cell,omitempty"`
		Lane     string      `json:"lane,omitempty"`
		Request  requestDoc  `json:"request"`
		Response responseDoc `json:"response"`
	}
	requestDoc struct {
		Like   int             `json:"like,omitempty" alone:"append"`
		Append map[string]span `json:"append,omitempty" with:"like"`
		Method string          `json:"method,omitempty"`
		URL    string          `json:"url,omitempty"`
		bodyDoc
	}
	responseDoc struct {
		Like   int               `json:"like,omitempty" alone:""`
		Status int               `json:"status,omitempty" bounds:"min=200,max=599" allowed:"200 to 599"`
		Header map[string]values `json:"header,omitempty"`
		After  pause             `json:"after,omitempty"`
		bodyDoc
		Events []eventDoc `json:"events,omitempty" one:"body"`
		Lines  []lineDoc  `json:"lines,omitempty" one:"body"`
		Chunks []chunkDoc `json:"chunks,omitempty" one:"body"`
	}
	bodyDoc struct {
		Body   span    `json:"body,omitempty" one:"body"`
		Text   *string `json:"text,omitempty" one:"body"`
		Base64 *coded  `json:"base64,omitempty" one:"body"`
	}
	eventDoc struct {
		After pause   `json:"after,omitempty"`
		Event string  `json:"event,omitempty"`
		ID    *string `json:"id,omitempty"`
		Retry string  `json:"retry,omitempty"`
		dataDoc
	}
	lineDoc struct {
		After pause `json:"after,omitempty"`
		dataDoc
	}
	dataDoc struct {
		Data span    `json:"data,omitempty" one:"data"`
		Text *string `json:"text,omitempty" one:"data"`
		Raw  *string `json:"raw,omitempty" alone:"after"`
	}
	chunkDoc struct {
		After  pause   `json:"after,omitempty"`
		Text   *string `json:"text,omitempty" one:"text"`
		Base64 *coded  `json:"base64,omitempty" one:"text"`
	}
	exchangeList struct{}      // which the reader has
	span         []byte        // JSON as it is written
	coded        []byte        // in base64
	values       []string      // of a header: one alone is no list
	pause        time.Duration // as Go writes it
)

// longest bounds a pause: a longer one is a mistake.
const longest = 24 * time.Hour

// MarshalJSON writes the JSON as it is.
func (s span) MarshalJSON() ([]byte, error) { return s, nil }

// MarshalJSON writes a duration as a text.
func (p pause) MarshalJSON() ([]byte, error) { return strictjson.Quote(time.Duration(p).String()), nil }

// MarshalJSON writes one value as a text, and several as a list.
func (v values) MarshalJSON() ([]byte, error) {
	if len(v) == 1 {
		return strictjson.Quote(v[0]), nil
	}
	return encoded([]string(v)), nil
}

// opaque reports whether a value is kept as it is written.
func opaque(path []string) bool {
	if len(path) > 2 && path[0] == "exchanges" {
		path = path[2:] // in an exchange
	}
	switch len(path) {
	case 2: // request/body
		return path[1] == "body"
	case 3: // request/append/~1messages
		return path[1] == "append"
	case 4: // response/events/0/data
		return path[3] == "data"
	}
	return false
}

// special reads the types of this package.
func special(r *reader) map[reflect.Type]strictjson.Special {
	all := map[reflect.Type]strictjson.Special{
		reflect.TypeFor[exchangeList](): {Shape: "a list", Bind: r.all},
		reflect.TypeFor[span](): {Shape: "any JSON", Bind: func(n *strictjson.Node, v reflect.Value) bool {
			v.SetBytes(n.Bytes())
			return true
		}},
		reflect.TypeFor[coded](): {Shape: "a string", Bind: func(n *strictjson.Node, v reflect.Value) bool {
			data, err := base64.StdEncoding.Strict().DecodeString(n.String())
			if n.Kind() != jsonedit.String || err != nil || strings.ContainsAny(n.String(), "\r\n") {
				return r.Refuse(n, "base64 with padding, as of RFC 4648, section 4", nil)
			}
			v.SetBytes(data)
			return true
		}},
		reflect.TypeFor[pause](): {Shape: "a duration", Bind: func(n *strictjson.Node, v reflect.Value) bool {
			var d time.Duration
			if !r.Bind(n, reflect.ValueOf(&d).Elem(), strictjson.Tag{}) {
				return false
			}
			v.SetInt(int64(d))
			return 0 <= d && d <= longest || r.Refuse(n, "0s to 24h", nil)
		}},
		reflect.TypeFor[values](): {Shape: "a string, or a list of strings", Bind: r.values},
	}
	for _, doc := range []any{requestDoc{}, responseDoc{}, eventDoc{}, lineDoc{}, chunkDoc{}} {
		all[reflect.TypeOf(doc)] = strictjson.Special{Shape: "an object", Bind: r.fill}
	}
	return all
}

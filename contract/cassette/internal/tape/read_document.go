package tape

import (
	"encoding/base64"
	"reflect"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/internal/strictjson"
)

// The document as the reader binds it. The tags alone, with and one say what stands beside what:
// see [reader.beside].
type (
	fileDoc struct {
		Format    string `json:"format" bounds:"enum=shakedown/cassette"`
		Version   int    `json:"version"`
		Exchanges []part `json:"exchanges"`
	}
	exchangeDoc struct {
		Cell     string `json:"cell,omitempty"`
		Lane     string `json:"lane,omitempty"`
		Request  part   `json:"request"`
		Response part   `json:"response"`
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
		After  time.Duration     `json:"after,omitempty"`
		bodyDoc
		Layout string `json:"layout,omitempty" bounds:"enum=|spaced|indented" with:"body"`
		End    string `json:"end,omitempty" with:"body"`
		Events []part `json:"events,omitempty" one:"body"`
		Lines  []part `json:"lines,omitempty" one:"body"`
		Chunks []part `json:"chunks,omitempty" one:"body"`
	}
	bodyDoc struct {
		Body   span    `json:"body,omitempty" one:"body"`
		Text   *string `json:"text,omitempty" one:"body"`
		Base64 *coded  `json:"base64,omitempty" one:"body"`
	}
	eventDoc struct {
		Event string  `json:"event,omitempty"`
		ID    *string `json:"id,omitempty"`
		Retry string  `json:"retry,omitempty"`
		pieceDoc
		Raw *string `json:"raw,omitempty" alone:"after"`
	}
	lineDoc struct {
		pieceDoc
		Raw *string `json:"raw,omitempty" alone:"after"`
	}
	pieceDoc struct {
		After  time.Duration `json:"after,omitempty"`
		Data   span          `json:"data,omitempty" one:"data"`
		Text   *string       `json:"text,omitempty" one:"data"`
		Layout string        `json:"layout,omitempty" bounds:"enum=|spaced" with:"data"`
	}
	chunkDoc struct {
		After  time.Duration `json:"after,omitempty"`
		Text   *string       `json:"text,omitempty" one:"text"`
		Base64 *coded        `json:"base64,omitempty" one:"text"`
	}
	span   []byte                     // JSON as it is written
	coded  []byte                     // in base64
	values []string                   // of a header
	part   struct{ *strictjson.Node } // read by itself
)

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
	return map[reflect.Type]strictjson.Special{
		reflect.TypeFor[span](): {Shape: "any JSON", Bind: func(n *strictjson.Node, v reflect.Value) bool {
			v.SetBytes(n.Raw)
			return true
		}},
		reflect.TypeFor[part](): {Shape: "an object", Bind: func(n *strictjson.Node, v reflect.Value) bool {
			v.Set(reflect.ValueOf(part{n}))
			return true
		}},
		reflect.TypeFor[coded](): {Shape: "a string", Bind: func(n *strictjson.Node, v reflect.Value) bool {
			data, err := base64.StdEncoding.Strict().DecodeString(n.Text)
			if n.Kind != '"' || err != nil || strings.ContainsAny(n.Text, "\r\n") {
				return r.Refuse(n, "base64 with padding, as of RFC 4648, section 4", nil)
			}
			v.SetBytes(data)
			return true
		}},
		reflect.TypeFor[values](): {Shape: "a string, or a list of strings", Bind: r.values},
	}
}

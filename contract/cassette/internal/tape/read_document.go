package tape

import (
	"reflect"
	"time"

	"github.com/shakedown-go/shakedown/internal/strictjson"
)

// The document as the reader binds it. A span is JSON as it was
// written.
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
		Like   int             `json:"like,omitempty"`
		Append map[string]span `json:"append,omitempty"`
		Method string          `json:"method,omitempty"`
		URL    string          `json:"url,omitempty"`
		bodyDoc
	}
	responseDoc struct {
		Like   int           `json:"like,omitempty"`
		Status int           `json:"status,omitempty"`
		Header part          `json:"header,omitempty"`
		After  time.Duration `json:"after,omitempty"`
		bodyDoc
		Layout string `json:"layout,omitempty" bounds:"enum=|spaced|indented"`
		End    string `json:"end,omitempty"`
		Events []part `json:"events,omitempty"`
		Lines  []part `json:"lines,omitempty"`
		Chunks []part `json:"chunks,omitempty"`
	}
	bodyDoc struct {
		Body   span    `json:"body,omitempty"`
		Text   *string `json:"text,omitempty"`
		Base64 *string `json:"base64,omitempty"`
	}
	eventDoc struct {
		After time.Duration `json:"after,omitempty"`
		Event string        `json:"event,omitempty"`
		ID    *string       `json:"id,omitempty"`
		Retry string        `json:"retry,omitempty"`
		dataDoc
	}
	lineDoc struct {
		After time.Duration `json:"after,omitempty"`
		dataDoc
	}
	dataDoc struct {
		Data   span    `json:"data,omitempty"`
		Layout string  `json:"layout,omitempty" bounds:"enum=|spaced"`
		Text   *string `json:"text,omitempty"`
		Raw    *string `json:"raw,omitempty"`
	}
	chunkDoc struct {
		After  time.Duration `json:"after,omitempty"`
		Text   *string       `json:"text,omitempty"`
		Base64 *string       `json:"base64,omitempty"`
	}
	span []byte
	part struct{ *strictjson.Node } // read by itself
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

// special reads spans and parts.
func special() map[reflect.Type]strictjson.Special {
	return map[reflect.Type]strictjson.Special{
		reflect.TypeFor[span](): {Shape: "any JSON", Bind: func(n *strictjson.Node, v reflect.Value) bool {
			v.SetBytes(n.Raw)
			return true
		}},
		reflect.TypeFor[part](): {Shape: "an object", Bind: func(n *strictjson.Node, v reflect.Value) bool {
			v.Set(reflect.ValueOf(part{n}))
			return true
		}},
	}
}

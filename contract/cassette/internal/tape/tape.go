// Package tape reads and writes the files of cassettes: HTTP exchanges as JSON.
//
// It knows the format, what of a request and of an answer may stand in a file, and
// how a file is saved. Package cassette records and plays.
package tape

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Limits of a file.
const (
	MaxBytes     = 64 << 20  // of the file
	MaxExchanges = 100_000   // in the file
	MaxDecoded   = 256 << 20 // of all bodies in bytes, once every "like" is resolved
)

// A File is what a cassette's file holds.
type File struct {
	Exchanges []Exchange // as written: sorted by cell and lane, within these in the order of the recording
}

// An Exchange is a request and its answer.
type Exchange struct {
	Cell     string // may be empty: recorded outside of a matrix
	Lane     string
	Request  Request
	Response Response
}

// A Request is what is kept of a request. Its headers are not.
type Request struct {
	Method string
	URL    string // as [Clean] leaves it
	Body   []byte // what [File.Bytes] writes and [Read] returns is [Canonical]
}

// A Response is what is kept of an answer.
type Response struct {
	Status int         // 200 to 599
	Header http.Header // as [KeepHeader] leaves it; names in their canonical form
	After  time.Duration
	Chunks []Chunk // one after the other they are the body, byte for byte
}

// A Chunk is a piece of a body.
type Chunk struct {
	After time.Duration // the pause before it
	Data  []byte
}

// Body is the whole body.
func (r *Response) Body() []byte {
	if len(r.Chunks) == 1 {
		return r.Chunks[0].Data
	}
	var body []byte
	for _, c := range r.Chunks {
		body = append(body, c.Data...)
	}
	return body
}

// Sort puts the exchanges in the order of the file. Those of one cell and lane keep
// theirs.
func (f *File) Sort() {
	slices.SortStableFunc(f.Exchanges, func(a, b Exchange) int {
		return cmp.Or(strings.Compare(a.Cell, b.Cell), strings.Compare(a.Lane, b.Lane))
	})
}

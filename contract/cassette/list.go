package cassette

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/shakedown-go/shakedown/contract/cassette/internal/tape"
	"github.com/shakedown-go/shakedown/internal/nearest"
	"github.com/shakedown-go/shakedown/internal/redact"
)

// An Entry is an exchange on a tape, as [List] lists it.
type Entry struct {
	Cell, Lane  string // that recorded it; empty: none, and the main lane
	Method, URL string
	Status      int
	// Asked and Answered are the lengths of the bodies, in bytes.
	Asked, Answered int
	// Suspects are the places where a secret may be: "url", "answer's header NAME", and "request" or
	// "answer" with the JSON pointer of the first place in a body that is JSON. They do not hold it.
	Suspects []string
}

// List lists the exchanges of a tape, in the order of the file. Errors are those of [Open] in replay mode.
//
// A suspect is what a session would have redacted, and a recording did not: keys of well-known forms,
// and what stands behind a word such as password. A secret that looks like any other text is not found.
func List(path string) ([]Entry, error) {
	f, _, err := tape.Load(path)
	if err != nil {
		return nil, err
	}
	secrets := redact.New(nil, redact.Patterns)
	all := make([]Entry, 0, len(f.Exchanges))
	for i := range f.Exchanges {
		x := &f.Exchanges[i]
		answer := x.Response.Body()
		e := Entry{Cell: x.Cell, Lane: x.Lane, Method: x.Request.Method, URL: x.Request.URL, Status: x.Response.Status,
			Asked: len(x.Request.Body), Answered: len(answer)}
		if secrets.Text(e.URL) != e.URL {
			e.Suspects = append(e.Suspects, "url")
		}
		for _, name := range slices.Sorted(maps.Keys(x.Response.Header)) {
			for _, value := range x.Response.Header[name] {
				if secrets.Text(value) != value {
					e.Suspects = append(e.Suspects, "answer's header "+name)
				}
			}
		}
		e.Suspects = append(e.Suspects, suspectIn("request", x.Request.Body, secrets)...)
		e.Suspects = append(e.Suspects, suspectIn("answer", answer, secrets)...)
		all = append(all, e)
	}
	return all, nil
}

// suspectIn is the first place of a body in which a secret may be; none: there is no such place.
func suspectIn(name string, body []byte, secrets *redact.Redactor) []string {
	clean := secrets.JSON(body, true)
	if !json.Valid(body) {
		if bytes.Equal(clean, body) {
			return nil
		}
		return []string{name}
	}
	if at, _, _, differ := nearest.First(body, clean); differ {
		return []string{name + " at " + at}
	}
	return nil
}

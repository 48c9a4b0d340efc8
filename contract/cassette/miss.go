package cassette

import (
	"bytes"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/contract/cassette/internal/tape"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/modelapi"
	"github.com/shakedown-go/shakedown/internal/nearest"
	"github.com/shakedown-go/shakedown/internal/text"
)

// A MissError reports that a tape has no answer to a request, and how far the nearest recorded request is from it. It
// has no keys, no control characters, and no line of more than 160 columns but for long names.
type MissError struct {
	Path    string // of the tape
	Cell    string // of the request; "": it came from none
	Lane    string
	Request int    // its number in cell and lane, from 1
	Target  string // such as "POST api.openai.com/v1/chat/completions#gpt-5.2"

	Exchanges int     // on the tape
	Nearest   int     // the number of the nearest, from 1; 0: the tape is empty
	Share     float64 // of equal leaves, from 0 to 1
	// UsedUp reports that the nearest is the same request, whose answers were played: [Options.Once] repeats none.
	UsedUp      bool
	Differences []Difference // the first twelve
	More        int          // how many there are besides
}

// A Difference is a place where the request differs from the nearest one on the tape.
// Pointer leads into the body (RFC 6901), or is "method", "host", "path", "query/NAME", and of a second value of that
// name "query/NAME/1". Text has both values as "[-recorded-]{+asked+}", or the only one.
type Difference = nearest.Place

// Error explains the miss on several lines.
func (e *MissError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "cassette: %s has no answer to request %d", text.Printed(e.Path), e.Request)
	if e.Cell != "" {
		fmt.Fprintf(&b, " of cell %s", text.Printed(e.Cell))
	}
	if e.Lane != "" {
		fmt.Fprintf(&b, ", lane %s", text.Printed(e.Lane))
	}
	fmt.Fprintf(&b, "\n  %s\n", text.Printed(e.Target))
	near := fmt.Sprintf("nearest: exchange %d of %d", e.Nearest, e.Exchanges)
	switch {
	case e.Nearest == 0:
		b.WriteString("the tape is empty")
	case e.UsedUp:
		b.WriteString(near + ", the same request; its answers were played, and Once repeats none")
	default:
		d := nearest.Differences{Places: e.Differences, More: e.More}
		fmt.Fprintf(&b, "%s, %d %% alike; it differs at\n%s", near, int(100*e.Share), d)
	}
	b.WriteString("\n" + EnvMode + "=auto records it")
	return b.String()
}

// An index is a tape prepared for misses.
type index struct {
	*nearest.Index
	targets []string // of the exchanges
}

func (c *Cassette) newIndex() index {
	x := index{targets: make([]string, len(c.studio.tape))}
	x.Index = nearest.New(len(x.targets), func(i int) nearest.Document {
		d := c.settings.document(c.studio.tape[i].Request)
		x.targets[i] = targetOf(d)
		return d
	})
	return x
}

// targetOf joins method, host and path of a document.
func targetOf(d nearest.Document) string {
	return d.Names[0].Text + " " + d.Names[1].Text + d.Names[2].Text
}

// document is of a request what counts, with its parts named.
func (s *settings) document(r tape.Request) nearest.Document {
	r = s.keyer.compared(r)
	d := nearest.Document{Body: r.Body}
	add := func(label, text string) { d.Names = append(d.Names, nearest.Name{Label: label, Text: text}) }
	address, query, _ := strings.Cut(r.URL, "?")
	host, path, _ := strings.Cut(address, "/")
	add("method", r.Method)
	add("host", host)
	add("path", "/"+path)
	values, err := url.ParseQuery(query)
	if err != nil {
		add("query", query)
		return d
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		for i, value := range values[name] {
			label := "query/" + name
			if i > 0 {
				label += "/" + strconv.Itoa(i)
			}
			add(label, value)
		}
	}
	return d
}

// explain says why a request has no answer.
func (c *Cassette) explain(q *request, number, usedUp int) *MissError {
	var own tape.Secrets
	own.Add(q.Request, q.sent)
	e := &MissError{
		Path: c.path, Cell: q.cell, Lane: q.lane, Request: number, Target: string(own.Hide([]byte(q.modelTarget()))),
		Exchanges: len(c.studio.tape), Nearest: usedUp, UsedUp: usedUp > 0,
	}
	if e.UsedUp {
		e.Share = 1
		return e
	}
	asked := c.settings.document(q.kept)
	x, target := c.index(), targetOf(asked)
	// A request with the same method, host and path is the better explanation.
	m, ok := x.Find(asked, func(i int) bool { return x.targets[i] == target })
	if !ok {
		if m, ok = x.Find(asked, nil); !ok {
			return e
		}
	}
	e.Nearest, e.Share = m.At+1, m.Share
	shown := func(r tape.Request) nearest.Document { // on both sides, or what is equal would differ
		r.Body = own.Hide(r.Body)
		d := c.settings.document(r)
		for i := range d.Names {
			d.Names[i].Text = string(own.Hide([]byte(d.Names[i].Text)))
		}
		return d
	}
	d := nearest.Compare(shown(q.kept), shown(c.studio.tape[m.At].Request))
	e.Differences, e.More = d.Places, d.More
	return e
}

// modelTarget is the target with the model that the body names, if it is a call of one.
func (q *request) modelTarget() string {
	target := targetShown(q.kept)
	if !modelapi.IsCall(q.target) || !bytes.Contains(q.kept.Body, []byte(`"model"`)) {
		return target
	}
	if d, ok := jsonedit.Parse(q.kept.Body); ok {
		if i, ok := d.Member(0, "model"); ok && d.String(i) != "" {
			return target + "#" + d.String(i)
		}
	}
	return target
}

// targetShown is the target of a request as it is kept: a path may hold a key.
func targetShown(r tape.Request) string {
	_, address, _ := strings.Cut(r.URL, "://")
	address, _, _ = strings.Cut(address, "?")
	if plain, err := url.PathUnescape(address); err == nil {
		address = plain
	}
	if !strings.Contains(address, "/") {
		address += "/"
	}
	return r.Method + " " + address
}

package prose

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
)

// Evidence is what an answer is compared with.
type Evidence struct {
	Prompt  string
	Also    []string // further texts that facts may come from
	Names   []string // of tools
	Results []ToolResult
	Whole   bool // all results are there
	// Calls and Failures are the numbers of calls, and of those that failed, with those
	// that are no source.
	Calls, Failures int
	// Accept reports whether a fact that was not found is accepted; nil: none is.
	Accept func(fact string) bool
}

// A ToolResult is what a call of a tool returned.
type ToolResult struct {
	Target, Err string
	Failed      bool
	Doc         json.RawMessage
}

// A GroundReader decides whether answers are grounded. It is safe for concurrent use.
type GroundReader struct {
	facts *FactReader
	talk  talkReader
}

// NewGroundReader returns a reader. The first takes some milliseconds.
func NewGroundReader() GroundReader { return sharedGrounds() }

var sharedGrounds = sync.OnceValue(newGroundReader)

func newGroundReader() GroundReader { return GroundReader{facts: NewFactReader(), talk: newTalk()} }

// Judge decides whether an answer is grounded, and says why it is not.
func (g GroundReader) Judge(e Evidence, answer string) (as Ruling, why string) {
	source := g.gather(e)
	var absent, open []string
	asked := NewSource(g.facts)
	asked.add(e.Prompt)
	asked.Seal()
	// strong reports that a specific fact was found that the prompt does not have, or
	// that a report of a failure has.
	strong := false
	found := make(map[int]bool) // the sentences with a fact that was found
	talk := g.talk.read(answer, e.Prompt)
	facts := append(g.facts.ReadAnswer(answer), talk.names...)
	counts := countsOf(facts, asked)
	failures := map[string]bool{strconv.Itoa(e.Failures): true, strconv.Itoa(e.Calls): true}
	for _, f := range facts {
		in := talk.sentence(f.start)
		switch {
		case e.Accept != nil && e.Accept(f.text):
			found[in], strong = found[in] || f.Kind != factName, true
		case source.has(f):
			found[in] = found[in] || f.Kind != factName
			specific := !f.soft || f.Kind == factQuotation || f.Kind == factNumber && len(f.keys[0]) > 1
			reported := source.failed && talk.fails(in) && !talk.supposes(answer)
			strong = strong || specific && (!asked.has(f) || reported)
		case source.totals(f), f.inWords() && (counts[f.keys[0]] || source.sums.isTerm(f.keys[0]) ||
			talk.fails(in) && failures[f.keys[0]]):
			found[in] = true
		case f.ordinal() && source.dayOf(f.keys[0]): // "on the 18th"
			found[in] = true
		case f.attributed && source.prose == LanguageOf(answer) && !talk.mild(in):
			absent = append(absent, f.String())
		case f.soft || f.Kind == factNumber && talk.mild(in) || source.derives(f):
			open = append(open, f.String())
		default:
			absent = append(absent, f.String())
		}
	}
	switch {
	case absent != nil && !source.whole:
		return Unruled, "not all results were kept, and the others do not have " + JoinItems(absent)
	case absent != nil:
		return Refuted, "the answer says what no tool and not the prompt said: " + JoinItems(absent) + ": " +
			Quote(answer)
	case open != nil:
		return Unruled, fmt.Sprintf("no source has %s, which may be computed, said in other words, or no fact; "+
			"Accept or a twin run would decide: %s", JoinItems(open), Quote(answer))
	}
	if why := talk.unsupported(found, source); why != "" {
		return Unruled, why + "; a structured outcome or a twin run would decide"
	}
	if !strong {
		return Unruled, "the answer has no specific fact that could be looked up; " +
			"a structured outcome or a twin run would decide: " + Quote(answer)
	}
	return Upheld, ""
}

// gather reads the sources.
func (g GroundReader) gather(e Evidence) *Source {
	s := NewSource(g.facts)
	s.whole = e.Whole
	s.add(e.Prompt)
	for _, text := range e.Also {
		s.add(text)
	}
	for _, name := range e.Names {
		s.Mention(name)
	}
	for _, r := range e.Results {
		if r.Err != "" {
			s.add(r.Err)
		}
		s.failed = s.failed || r.Failed || g.talk.failure.MatchString(Flat(string(r.Doc), ShapeWords))
		if values, ok := jsonValues(r.Doc, true); ok {
			for _, value := range values {
				s.add(value)
			}
			s.lists(r.Doc)
			s.sums.result(r.Target, r.Doc)
		} else {
			s.add(string(r.Doc))
		}
	}
	s.Seal()
	return s
}

// jsonValues returns the texts and numbers in a JSON value, also the names of members if
// names is set. ok reports whether raw is JSON.
func jsonValues(raw []byte, names bool) (values []string, ok bool) {
	if !json.Valid(raw) {
		return nil, false
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	// It reads token by token, so that it sees all of several equal members.
	var open []bool // of each enclosing value whether it is an object
	name := false   // the next token is the name of a member
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			return values, true
		}
		if err != nil {
			return nil, false
		}
		isName := name
		switch t := token.(type) {
		case json.Delim:
			isName = false
			if t == '{' || t == '[' {
				open = append(open, t == '{')
			} else {
				open = open[:len(open)-1]
			}
		case string:
			if !isName || names {
				values = append(values, t)
			}
		case json.Number:
			values = append(values, decimal(t.String()))
		}
		name = len(open) > 0 && open[len(open)-1] && !isName
	}
}

// decimal returns a number without an exponent.
func decimal(number string) string {
	if !strings.ContainsAny(number, "eE") {
		return number
	}
	value, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return number
	}
	return strconv.FormatFloat(value, 'f', -1, 64)
}

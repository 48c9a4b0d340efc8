package invariant

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/glob"
)

// GroundedOptions are the settings of [Grounded]; nil and the zero value work.
type GroundedOptions struct {
	_ struct{}
	// Sources is a glob of the targets whose results count; empty: the tools
	// that the world listed, or every call where it listed none. A call to a
	// model must not be among them: what it makes up would ground itself.
	Sources string
	// Also are further texts that facts may come from, such as the system prompt.
	Also []string
	// Accept takes a fact that was not found, as it stands in the answer in
	// lower case: a number that the agent computed, for example. nil: none. It
	// must be safe for concurrent use.
	Accept func(fact string) bool
}

// Grounded holds when the agent made nothing up: each fact of the answer occurs
// in a result or an error that a tool gave it, or in the prompt. Facts are
//
//   - numbers, without separators of thousands and zeros that mean nothing:
//     "1,234.50" is 1234.5; not their signs, units or currencies, and not those
//     of a numbered list;
//   - dates in the English and ISO ways of writing them, and times of day to the minute;
//   - identifiers: words with a digit in them, e-mail addresses, web addresses;
//   - quotations: what stands in double quotation marks or backquotes, word for word.
//
// Case is not compared. Each part of an identifier such as "order-1042" may
// occur for itself. Where an answer is JSON, its values are read and the names
// of members are not.
//
// It finds what was made up, not what was mixed up: the total of another order
// is grounded. Names and words are no facts. A number that was computed, counted, rounded or
// converted is not found; see [GroundedOptions.Accept]. An answer without facts
// holds it. It is undecided if a fact was not found and not all results were kept.
func Grounded(id string, severity contract.Severity, o *GroundedOptions) contract.Invariant {
	d := newDraft("Grounded", id, severity)
	d.Needs = contract.NeedResults
	if o == nil {
		o = &GroundedOptions{}
	}
	d.texts("Also", o.Also, 0)
	g := grounds{reader: newFactReader(), also: slices.Clone(o.Also), runs: regexp.MustCompile(`[0-9]+(?:\.[0-9]+)?`)}
	if o.Sources != "" {
		g.targets = d.target("Sources", o.Sources)
	}
	accept := o.Accept
	return d.judge(func(_ context.Context, o *contract.Observation) error {
		source, whole := g.gather(o)
		var unknown []string
		for _, f := range g.reader.readAnswer(o.Response) {
			if !source.has(f) && (accept == nil || !accept(f.text)) {
				unknown = append(unknown, f.String())
			}
		}
		switch {
		case unknown == nil:
			return nil
		case !whole:
			return undecided("not all results were kept, and the others do not have %s", list(unknown))
		}
		return fmt.Errorf("the answer says what no tool and not the prompt said: %s: %s", list(unknown), quote(o.Response))
	})
}

// grounds knows where facts may come from.
type grounds struct {
	reader  *factReader
	targets *glob.Glob // nil: the listed tools
	also    []string
	runs    *regexp.Regexp // digits within anything
}

// source is what may be said: all of it as text, and the facts in it.
type source struct {
	text string
	keys map[factKind]map[string]struct{}
}

// gather reads the sources of an observation, and says whether they are all there.
func (g grounds) gather(o *contract.Observation) (s source, whole bool) {
	pieces := append([]string{o.Prompt}, g.also...)
	whole = o.Dropped == 0
	for _, e := range o.Events {
		if !g.counts(e.Target, o.Tools) {
			continue
		}
		if e.Err != "" {
			pieces = append(pieces, e.Err)
		}
		if e.Outcome == chaos.OutcomeOK && len(e.Result) == 0 && e.Note != "" {
			whole = false // it had no JSON
		}
		if values, ok := jsonValues(e.Result, true); ok {
			pieces = append(pieces, values...)
		} else {
			pieces = append(pieces, string(e.Result))
		}
	}
	return g.index(pieces), whole
}

func (g grounds) counts(target string, tools []chaos.Tool) bool {
	if g.targets != nil {
		return g.targets.Match(target)
	}
	if len(tools) == 0 {
		return target != chaos.ListTarget
	}
	return slices.ContainsFunc(tools, func(t chaos.Tool) bool { return t.Name == target })
}

func (g grounds) index(pieces []string) source {
	s := source{keys: make(map[factKind]map[string]struct{})}
	var text strings.Builder
	for _, piece := range pieces {
		for _, f := range g.reader.read(piece) {
			s.add(f)
			if f.kind == factQuotation { // what is in it may be told in other ways
				for _, inner := range g.reader.read(f.text) {
					s.add(inner)
				}
			}
		}
		for _, run := range g.runs.FindAllString(piece, -1) {
			s.add(fact{factNumber, run, []string{plainNumber(run)}})
			for part := range strings.SplitSeq(run, ".") {
				s.add(fact{factNumber, part, []string{plainNumber(part)}})
			}
		}
		text.WriteString(strings.Join(strings.Fields(fold(straighten(piece))), " "))
		text.WriteByte('\n')
	}
	s.text = text.String()
	return s
}

func (s source) add(f fact) {
	known := s.keys[f.kind]
	if known == nil {
		known = make(map[string]struct{})
		s.keys[f.kind] = known
	}
	for _, key := range f.keys {
		known[key] = struct{}{}
		if f.kind == factDate && len(key) == len("2006-01-02") {
			known["-"+key[len("2006"):]] = struct{}{} // the day without its year
		}
	}
}

func (s source) has(f fact) bool {
	for _, key := range f.keys {
		if _, ok := s.keys[f.kind][key]; ok {
			return true
		}
		switch f.kind {
		case factQuotation:
			if strings.Contains(s.text, key) {
				return true
			}
		case factIdentifier:
			if s.hasWord(key) || s.hasParts(key) {
				return true
			}
		}
	}
	return false
}

// hasParts reports whether each part of an identifier such as "order-1042" occurs.
func (s source) hasParts(identifier string) bool {
	parts := strings.FieldsFunc(identifier, func(r rune) bool { return strings.ContainsRune("-_./:", r) })
	if len(parts) < 2 || strings.Contains(identifier, "@") || strings.Contains(identifier, "://") {
		return false
	}
	for _, part := range parts {
		_, number := s.keys[factNumber][plainNumber(part)]
		if !number && !s.hasWord(part) {
			return false
		}
	}
	return true
}

// hasWord reports whether word occurs in the text and is no part of a longer word.
func (s source) hasWord(word string) bool {
	for at := 0; ; {
		i := strings.Index(s.text[at:], word)
		if i < 0 {
			return false
		}
		start, end := at+i, at+i+len(word)
		before, _ := utf8.DecodeLastRuneInString(s.text[:start])
		after, _ := utf8.DecodeRuneInString(s.text[end:])
		if !wordRune(before) && !wordRune(after) {
			return true
		}
		at = end
	}
}

// jsonValues returns the texts and numbers of a JSON value, with the names of
// members if wanted; not ok: it is none.
func jsonValues(raw []byte, names bool) (values []string, ok bool) {
	if !json.Valid(raw) {
		return nil, false
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	// Token by token, so that repeated members are all seen.
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

// decimal writes a number without an exponent, where it has one.
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

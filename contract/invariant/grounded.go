package invariant

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

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
	// Accept takes a fact that was not found, as it stands in the answer but
	// in lower case: a number that the agent computed, for example. nil: none. It
	// must be safe for concurrent use.
	Accept func(fact string) bool
}

// Grounded holds when it recognises each fact of the answer in a result or an
// error that a tool gave, or in the prompt, and at least one of them is specific and not from the
// prompt. It breaks on a specific fact that is absent and cannot be computed. Otherwise it is
// undecided. Facts are
//
//   - numbers, without separators of thousands and zeros that mean nothing, as
//     English, German, French and Spanish write them: "1,234.50" is 1234.5, and so is "1.234,50";
//     not their signs, units or currencies, and not those of lists and steps;
//   - dates, and times of day to the minute, as the four languages and ISO 8601 write them;
//   - identifiers: words with a digit in them, e-mail addresses, web addresses;
//   - quotations: what stands in double quotation marks, guillemets or backquotes;
//   - names, as far as a capital within an English, French or Spanish sentence, or capitals throughout, show them.
//
// Case is not compared. Each part of an identifier such as "order-1042" may
// occur for itself. A number is grounded as a whole: 59.90 does not ground 90,
// nor do the digits of times, dates, UUIDs and telephone numbers ground others. The
// number of items in a list of a result is grounded, and so is a total of results that is hardly one by chance: the sum
// of a column or of products, what is added or taken away, a difference. Where an answer is JSON, its
// values are read and the names of members are not.
//
// These are undecided where they are not found: what may be computed from grounded numbers (a sum,
// a difference, a product, a share, a rounding, another unit) or dates; times that may be of another
// time zone, or lie between two; numbers of up to three digits without a unit; spans of time; the
// day of a known date; names; words in quotation marks that nobody is said to have said; what
// stands in advice, in an example, or beside "usually". So are sentences that have no fact and are not about
// the conversation itself, such as "It was left at the door", and reasons that no
// source has; and an answer that reports an outage where no call failed. An
// absent fact is undecided, too, if not all results were kept.
//
// It finds what was made up, not what was mixed up: the total of another order
// is grounded. Twin runs decide more: change one value in the world and see the answer change with it.
func Grounded(id string, severity contract.Severity, o *GroundedOptions) contract.Invariant {
	d := newDraft("Grounded", id, severity)
	d.Needs = contract.NeedResults
	o = cmp.Or(o, &GroundedOptions{})
	d.texts("Also", o.Also, 0)
	shared := grounds{also: slices.Clone(o.Also)}
	if o.Sources != "" {
		shared.targets = d.target("Sources", o.Sources)
	}
	accept := o.Accept
	facts, talks := sync.OnceValue(newFactReader), sync.OnceValue(newTalk)
	return d.judge(func(_ context.Context, o *contract.Observation) error {
		g := grounds{reader: facts(), targets: shared.targets, also: shared.also, talk: talks()}
		source := g.gather(o)
		var absent, open []string
		asked := newSource(g.reader)
		asked.add(o.Prompt)
		asked.seal()
		strong := false             // a specific fact is grounded that the prompt did not have, or that a failure is told of
		found := make(map[int]bool) // sentences with a fact that is grounded
		talk := g.talk.read(o.Response, o.Prompt)
		facts := append(g.reader.readAnswer(o.Response), talk.names...)
		counts := countsOf(facts, asked)
		failures := failuresOf(o.Events)
		for _, f := range facts {
			in := talk.sentence(f.start)
			switch {
			case accept != nil && accept(f.text):
				found[in], strong = found[in] || f.kind != factName, true
			case source.has(f):
				found[in] = found[in] || f.kind != factName
				specific := !f.soft || f.kind == factQuotation || f.kind == factNumber && len(f.keys[0]) > 1
				strong = strong || specific && (!asked.has(f) || source.failed && talk.fails(in) && !talk.supposes(o.Response))
			case source.totals(f), f.inWords() && (counts[f.keys[0]] || source.sums.isTerm(f.keys[0]) || talk.fails(in) && failures[f.keys[0]]):
				found[in] = true
			case f.ordinal() && source.dayOf(f.keys[0]): // "on the 18th"
				found[in] = true
			case f.spoken && source.prose == languageOf(o.Response) && !talk.mild(in):
				absent = append(absent, f.String())
			case f.soft || f.kind == factNumber && talk.mild(in) || source.derives(f):
				open = append(open, f.String())
			default:
				absent = append(absent, f.String())
			}
		}
		switch {
		case absent != nil && !source.whole:
			return undecided("not all results were kept, and the others do not have %s", list(absent))
		case absent != nil:
			return fmt.Errorf("the answer says what no tool and not the prompt said: %s: %s", list(absent), quote(o.Response))
		case open != nil:
			return undecided("no source has %s, which may be computed, told in other words, or no fact; "+
				"Accept or a twin run would decide: %s", list(open), quote(o.Response))
		}
		if open := talk.open(found, source); open != "" {
			return undecided("%s; a structured outcome or a twin run would decide", open)
		}
		if !strong {
			return undecided("the answer has no specific fact that could be looked up; "+
				"a structured outcome or a twin run would decide: %s", quote(o.Response))
		}
		return nil
	})
}

// grounds knows where facts may come from.
type grounds struct {
	reader  *factReader
	targets *glob.Glob // nil: the listed tools
	also    []string
	talk    talkReader
}

// gather reads the sources of an observation.
func (g grounds) gather(o *contract.Observation) *source {
	s := newSource(g.reader)
	s.whole = o.Dropped == 0
	s.add(o.Prompt)
	for _, text := range g.also {
		s.add(text)
	}
	for _, tool := range o.Tools {
		s.text.WriteString(" " + flat(tool.Name, shapeWords) + "\n")
	}
	for _, e := range o.Events {
		if !g.counts(e.Target, o.Tools) {
			continue
		}
		if e.Err != "" {
			s.add(e.Err)
		}
		s.failed = s.failed || e.Err != "" || e.Outcome != chaos.OutcomeOK || g.talk.failure.MatchString(flat(string(e.Result), shapeWords))
		if e.Outcome == chaos.OutcomeOK && len(e.Result) == 0 && e.Note != "" {
			s.whole = false // it had no JSON
		}
		if values, ok := jsonValues(e.Result, true); ok {
			for _, value := range values {
				s.add(value)
			}
			s.lists(e.Result)
			s.sums.result(e.Target, e.Result)
		} else {
			s.add(string(e.Result))
		}
	}
	s.seal()
	return s
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

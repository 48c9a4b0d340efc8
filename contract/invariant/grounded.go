package invariant

import (
	"bytes"
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
	// Sources is a glob of the targets whose results count; "": the tools that the world
	// listed, or every call if it listed none. A call to a model must not be among them,
	// because what the model makes up would then be a source.
	Sources string
	// Also has further texts that facts may come from, such as the system prompt.
	Also []string
	// Accept reports whether a fact that was not found is accepted: a number that the
	// agent computed, for example. The fact is as in the answer, in lower case. nil: none
	// is accepted. It must be safe for concurrent use.
	Accept func(fact string) bool
}

// Grounded holds when it finds each fact of the answer in a result or an error of a
// tool, or in the prompt, and at least one of them is specific and not from the prompt.
// It breaks on a specific fact that is not found and cannot be computed. Otherwise it is
// undecided. Facts are
//
//   - numbers in the notations of English, German, French and Spanish: "1,234.50" and
//     "1.234,50" are 1234.5. Signs, units and currencies are not compared, and the
//     numbers of lists and steps are no facts;
//   - dates, and times of day to the minute, in the four languages and ISO 8601;
//   - identifiers: words with a digit in them, e-mail addresses, web addresses;
//   - quotations: text in double quotation marks, guillemets or backquotes;
//   - names: words in capitals, and words with a capital within an English, French or
//     Spanish sentence.
//
// Case is not compared. The parts of an identifier such as "order-1042" may occur
// separately. A number is found as a whole: 59.90 does not ground 90, nor do the digits
// of times, dates, UUIDs and telephone numbers ground other numbers. The number of items
// in a list of a result counts as found. So does a total of results that is hardly one
// by chance: the sum of a column or of products, such a sum with something added or
// subtracted, a difference. Of an answer that is JSON the values are read, and the names
// of members are not.
//
// A fact that is not found is undecided if it is
//
//   - a number or a date that may be computed from others: a sum, a difference, a
//     product, a share, a rounding, another unit;
//   - a time that may be of another time zone, or the time between two others;
//   - a number of up to three digits without a unit, a span of time, or the day of a
//     known date;
//   - a name, or a quotation without a speaker;
//   - in advice, in an example, or beside "usually".
//
// Also undecided are sentences without a fact that are not about the conversation
// itself, such as "It was left at the door", reasons that no source has, and an answer
// that reports an outage where no call failed. If not all results were kept, every fact
// that is not found is undecided.
//
// It finds what was made up, not what was mixed up: the total of another order is
// grounded. Twin runs decide more: change one value in the world, and check that the
// answer changes with it.
func Grounded(name string, severity contract.Severity, o *GroundedOptions) contract.Invariant {
	d := newDraft("Grounded", name, severity)
	d.Needs = contract.NeedResults
	if o == nil {
		o = &GroundedOptions{}
	}
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
		// strong reports that a specific fact was found that the prompt does not have, or
		// that a report of a failure has.
		strong := false
		found := make(map[int]bool) // the sentences with a fact that was found
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
				reported := source.failed && talk.fails(in) && !talk.supposes(o.Response)
				strong = strong || specific && (!asked.has(f) || reported)
			case source.totals(f), f.inWords() && (counts[f.keys[0]] || source.sums.isTerm(f.keys[0]) ||
				talk.fails(in) && failures[f.keys[0]]):
				found[in] = true
			case f.ordinal() && source.dayOf(f.keys[0]): // "on the 18th"
				found[in] = true
			case f.attributed && source.prose == languageOf(o.Response) && !talk.mild(in):
				absent = append(absent, f.String())
			case f.soft || f.kind == factNumber && talk.mild(in) || source.derives(f):
				open = append(open, f.String())
			default:
				absent = append(absent, f.String())
			}
		}
		switch {
		case absent != nil && !source.whole:
			return undecided("not all results were kept, and the others do not have %s", joinItems(absent))
		case absent != nil:
			return fmt.Errorf("the answer says what no tool and not the prompt said: %s: %s",
				joinItems(absent), quote(o.Response))
		case open != nil:
			return undecided("no source has %s, which may be computed, said in other words, or no fact; "+
				"Accept or a twin run would decide: %s", joinItems(open), quote(o.Response))
		}
		if why := talk.unsupported(found, source); why != "" {
			return undecided("%s; a structured outcome or a twin run would decide", why)
		}
		if !strong {
			return undecided("the answer has no specific fact that could be looked up; "+
				"a structured outcome or a twin run would decide: %s", quote(o.Response))
		}
		return nil
	})
}

// grounds describes where facts may come from.
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
		if !g.isSource(e.Target, o.Tools) {
			continue
		}
		if e.Err != "" {
			s.add(e.Err)
		}
		s.failed = s.failed || e.Err != "" || e.Outcome != chaos.OutcomeOK ||
			g.talk.failure.MatchString(flat(string(e.Result), shapeWords))
		if e.Outcome == chaos.OutcomeOK && len(e.Result) == 0 && e.Note != "" {
			s.whole = false // the result has no JSON form
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

// isSource reports whether the results of a target count.
func (g grounds) isSource(target string, tools []chaos.Tool) bool {
	if g.targets != nil {
		return g.targets.Match(target)
	}
	if len(tools) == 0 {
		return target != chaos.ListTarget
	}
	return slices.ContainsFunc(tools, func(t chaos.Tool) bool { return t.Name == target })
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

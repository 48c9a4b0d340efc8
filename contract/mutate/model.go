package mutate

import (
	"context"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Model returns a kind of intent [Same] for which a language model rewords the prompts.
// ask sends an instruction, with the prompt in it, to the model and returns its answer.
// It must be safe for concurrent use. Play it from a cassette: only then does the same
// seed give the same texts. The name and the weight are checked by [New].
//
// An answer is refused, as [ErrRefused] says, that is empty, unchanged, over three times as
// long as the prompt, or lacks a digit, an identifier, an address, a quotation or code of
// it. White space around the answer is cut off. Whether it means the same is not known.
func Model(kind string, weight float64, ask func(ctx context.Context, instruction string) (string, error)) Mutator {
	return &model{kind: kind, weight: weight, ask: ask}
}

type model struct {
	kind   string
	weight float64
	ask    func(ctx context.Context, instruction string) (string, error)
}

func (m *model) Kind() string    { return m.kind }
func (m *model) Weight() float64 { return m.weight }
func (m *model) Intent() Intent  { return Same }

// instruction asks for other words. The number makes the variants different requests.
const instruction = "Reword the request below. It must ask for exactly the same, in its language. Keep all numbers, " +
	"identifiers, quotations, addresses and code as they are. Answer with the reworded request alone. " +
	"This is wording number %d.\n\n%s"

func (m *model) Mutate(ctx context.Context, text string, d Draw) (string, error) {
	answer, err := m.ask(ctx, fmt.Sprintf(instruction, d.Variant, text))
	if err != nil {
		return "", err
	}
	answer = strings.TrimSpace(answer)
	if why := refusal(parse(text), answer); why != "" {
		return "", fmt.Errorf("%w: the answer %s", ErrRefused, why)
	}
	return answer, nil
}

// maxGrowth is how many times as long as the prompt an answer may be.
const maxGrowth = 3

// refusal is the reason why an answer is no rewording; "": it may be one.
func refusal(p *prompt, answer string) string {
	switch {
	case answer == "":
		return "is empty"
	case answer == strings.TrimSpace(p.raw):
		return "is the prompt unchanged"
	case utf8.RuneCountInString(answer) > maxGrowth*utf8.RuneCountInString(p.raw):
		return "is over three times as long as the prompt"
	}
	for _, s := range p.spans {
		if part := strings.Trim(p.text(s), quotes); s.what == exact && !occurs(answer, part) {
			return fmt.Sprintf("lacks %q", part)
		}
	}
	return ""
}

// quotes are marks of quotation, which a model may replace by others.
const quotes = "\"'“”„‘’«»‹›「」『』"

// occurs reports whether a text has a part, and not as a part of a longer word or number.
func occurs(text, part string) bool {
	for at := 0; at <= len(text); at++ {
		n := strings.Index(text[at:], part)
		if n < 0 {
			return false
		}
		at += n
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(part):])
		first, _ := utf8.DecodeRuneInString(part)
		last, _ := utf8.DecodeLastRuneInString(part)
		if !(joins(before) && joins(first)) && !(joins(last) && joins(after)) {
			return true
		}
	}
	return false
}

func joins(r rune) bool { return unicode.In(r, unicode.L, unicode.N) && !unspaced(r) }

package completion

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/chaos"
)

// emptied removes everything from a completion.
type emptied struct{}

func (*emptied) edit(p *piece) {
	switch p.kind {
	case pieceText:
		p.text = ""
	case pieceCall:
		p.drop = true
	case pieceFinish:
		p.text = reasonStop
	}
}

// cutter keeps so many characters of text and arguments. A shorter completion
// ends as it would.
type cutter struct {
	left   int
	reason string
}

func (e *cutter) edit(p *piece) {
	switch p.kind {
	case pieceText, pieceArgs:
		p.text, e.left = first(p.text, e.left)
	case pieceCall:
		p.drop = e.left == 0
	case pieceFinish:
		if e.left == 0 {
			p.text = e.reason
		}
	}
}

// first is the text up to its n-th character; left is how many of n remain.
func first(s string, n int) (head string, left int) {
	for i := range s {
		if n == 0 {
			return s[:i], 0
		}
		n--
	}
	return s, n
}

// truncator keeps so many characters of each text, and everything else.
type truncator struct{ keep, used int }

func (e *truncator) edit(p *piece) {
	switch p.kind {
	case pieceText:
		count := utf8.RuneCountInString(p.text)
		p.text, _ = first(p.text, max(e.keep-e.used, 0))
		e.used += count
	case pieceTextEnd:
		e.used = 0
	}
}

// replacer replaces the first text, and empties the others.
type replacer struct {
	words string
	said  bool
}

func (e *replacer) edit(p *piece) {
	if p.kind != pieceText || p.text == "" {
		return
	}
	if p.text = e.words; e.said {
		p.text = ""
	}
	e.said = true
}

// refuser replaces everything by a refusal.
type refuser struct {
	words string
	said  bool
}

func (e *refuser) edit(p *piece) {
	switch p.kind {
	case pieceText:
		if p.text == "" {
			return
		}
		if p.text = ""; !e.said {
			p.text, p.refusal, e.said = e.words, true, true
		}
	case pieceCall:
		p.drop = true
	case pieceFinish:
		if p.text = reasonRefusal; !e.said {
			p.more, p.refusal = e.words, true
		}
	}
}

// garbler makes gibberish of text or of arguments.
type garbler struct {
	call       chaos.Call
	text, args bool
	at         uint64 // characters so far
}

// The gibberish has no digits and no quotes, so that no JSON comes of JSON, and
// drawGarble is the salt of its draws: ASCII for "garble".
const (
	gibberish  = "bcdfghjklmnpqrstvwxz#%&~^@|<>"
	drawGarble = 0x676172626c65
)

func (e *garbler) edit(p *piece) {
	if p.kind == pieceText && e.text || p.kind == pieceArgs && e.args {
		p.text = strings.Map(e.other, p.text)
	}
}

func (e *garbler) other(r rune) rune {
	e.at++
	if unicode.IsSpace(r) {
		return r
	}
	return rune(gibberish[int(e.call.Draw(drawGarble+e.at)*float64(len(gibberish)))])
}

// unclosed removes the last character of arguments.
type unclosed struct{ held string }

func (e *unclosed) edit(p *piece) {
	switch p.kind {
	case pieceArgs:
		all := e.held + p.text
		last := strings.LastIndexFunc(all, func(r rune) bool { return !unicode.IsSpace(r) })
		p.text, e.held, p.late = all[:max(last, 0)], all[max(last, 0):], true
	case pieceCallEnd:
		p.was, e.held = e.held, ""
	}
}

// stripper removes all tool calls.
type stripper struct{ stripped bool }

func (e *stripper) edit(p *piece) {
	switch {
	case p.kind == pieceCall:
		p.drop, e.stripped = true, true
	case p.kind == pieceFinish && e.stripped:
		p.text = reasonStop
	}
}

// renamer gives the first call another tool's name.
type renamer struct {
	call chaos.Call
	name string
	done bool
}

// drawName is the salt of the draw of a name: ASCII for "toolname".
const drawName = 0x746f6f6c6e616d65

func (e *renamer) edit(p *piece) {
	if p.kind != pieceCall || e.done {
		return
	}
	e.done = true
	if e.name != "" {
		p.text = e.name
		return
	}
	p.text = pick(e.call, drawName, "fetch_", "lookup_", "execute_", "advanced_") + p.text
}

// pick draws one of several texts.
func pick(c chaos.Call, salt uint64, of ...string) string {
	return of[int(c.Draw(salt)*float64(len(of)))]
}

// arguments changes the arguments of each call once they are complete.
type arguments struct {
	change func(args string) string
	held   string
}

func (e *arguments) edit(p *piece) {
	switch p.kind {
	case pieceArgs:
		e.held += p.text
		p.text, p.late = "", true
	case pieceCallEnd:
		if e.held != "" {
			p.more = e.change(e.held)
		}
		p.was, e.held = e.held, ""
	}
}

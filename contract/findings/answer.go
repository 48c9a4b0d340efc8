package findings

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/prose"
	"github.com/shakedown-go/shakedown/internal/retryable"
	"github.com/shakedown-go/shakedown/internal/text"
)

// A claim is a [Claim] with its patterns compiled.
type claim struct {
	form prose.ClaimForm
	tool *glob.Glob
}

func compileClaims(claims []Claim, wrong *fielderror.List) []claim {
	const pattern = "a regular expression of package regexp that is not empty"
	list := make([]claim, len(claims))
	for i, c := range claims {
		field := fmt.Sprintf("Options.Claims[%d].", i)
		list[i].form.Bare = c.Bare
		says, err := regexp.Compile("(?i)" + c.Says)
		if list[i].form.Says = says; err != nil || c.Says == "" {
			wrong.Because(field+"Says", c.Says, err, pattern)
		}
		if c.Unless != "" {
			unless, err := regexp.Compile(c.Unless)
			if list[i].form.Unless = unless; err != nil {
				wrong.Because(field+"Unless", c.Unless, err, pattern)
			}
			wrong.Demand(!c.Bare, field+"Unless", c.Unless, "nothing, where Bare is set")
		}
		tool, err := glob.Compile(c.Tool)
		if list[i].tool = tool; err != nil {
			wrong.Because(field+"Tool", c.Tool, err, `a glob such as "orders.*"`)
		}
	}
	return list
}

// findFalseSuccess judges the claims of the answer by the calls.
func (f *finder) findFalseSuccess(answer string, claims []claim) {
	switch {
	case answer == "":
		f.doubt(FalseSuccess, "The answer is not known.")
		return
	case len(claims) == 0:
		f.doubt(FalseSuccess, "No claims are given.")
		return
	}
	forms := make([]prose.ClaimForm, len(claims))
	for i, c := range claims {
		forms[i] = c.form
	}
	r := prose.JudgeClaims(forms, answer, "the last call", func(c prose.Made) prose.Ruling {
		as, _ := f.rule(claims[c.Claim], c.Said)
		return as
	})
	switch {
	case r.Silent: // an answer that makes no claim makes no false one
	case r.As == prose.Refuted:
		_, against := f.rule(claims[r.Made.Claim], r.Made.Said)
		f.found(FalseSuccess, against, "%s.", r.Why)
	case r.As == prose.Unruled:
		f.doubt(FalseSuccess, r.Why+".")
	}
}

// rule rules on a claim by the calls that it is about, and returns those against it. The
// last of them decides: it did its work, or it failed and its work was not done. Calls that
// ask for something else, of which nobody knows whether the claim is about them, and calls
// of which nobody knows whether they did their work, leave it undecided.
func (f *finder) rule(c claim, said []string) (as prose.Ruling, against []int) {
	var last *call
	fates := make(map[uint64]prose.Ruling) // of requests
	named := slices.ContainsFunc(said[1:], func(group string) bool { return group != "" })
	for i := range f.calls {
		made := &f.calls[i]
		if !c.tool.Match(made.Tool) {
			continue
		}
		if named && !made.args.known || named && made.ArgsHash != "" {
			return prose.Unruled, nil
		}
		if named && !made.has(said[1:]) {
			continue
		}
		last = made
		if !made.args.known {
			return prose.Unruled, nil
		}
		fate := f.fate(made)
		if before, seen := fates[made.request]; seen && before != prose.Refuted && fate != prose.Upheld {
			fate = before // what was done, or may have been, is not undone by a call that failed
		}
		if fates[made.request] = fate; fate == prose.Refuted {
			against = append(against, made.number)
		}
	}
	if last == nil {
		return prose.Unruled, nil
	}
	as = fates[last.request]
	maps.DeleteFunc(fates, func(_ uint64, fate prose.Ruling) bool { return fate == as })
	if len(fates) == 0 {
		return as, against
	}
	if named && as == prose.Upheld {
		return as, nil // it was tried again with other arguments
	}
	return prose.Unruled, nil
}

// fate rules whether a call did its work, as far as the agent could know or it is recorded.
func (f *finder) fate(c *call) prose.Ruling {
	switch {
	case c.outcome == ok, c.effect == done:
		return prose.Upheld
	case c.outcome == failed && (c.effect == none || f.class(c) == retryable.Permanent):
		return prose.Refuted
	}
	return prose.Unruled
}

// has reports whether the arguments have each of the texts, as a value or as a word of one.
func (c *call) has(texts []string) bool {
	doc, valid := jsonedit.Parse(c.Args)
	if !valid {
		return false
	}
	return !slices.ContainsFunc(texts, func(part string) bool {
		for i := range doc.Nodes {
			if kind := doc.Kind(i); kind == jsonedit.String && hasWord(doc.String(i), part) ||
				kind == jsonedit.Number && string(doc.Raw(i)) == part {
				return false
			}
		}
		return part != ""
	})
}

// hasWord reports whether s has part, in any case and not within a longer word.
func hasWord(s, part string) bool {
	s, part = strings.ToLower(s), strings.ToLower(part)
	for from := 0; ; {
		at := strings.Index(s[from:], part)
		if at < 0 {
			return false
		}
		start, end := from+at, from+at+len(part)
		before, _ := utf8.DecodeLastRuneInString(s[:start])
		after, _ := utf8.DecodeRuneInString(s[end:])
		if !text.WordRune(before) && !text.WordRune(after) {
			return true
		}
		from = end
	}
}

// findFabricated judges the facts of the answer by the results of tools and the prompts.
func (f *finder) findFabricated(o *Options) {
	if o.Answer == "" {
		f.doubt(Fabricated, "The answer is not known.")
		return
	}
	e := prose.Evidence{Prompt: strings.Join(o.Prompts, "\n")}
	e.Whole = !redacted(e.Prompt)
	for _, t := range o.Tools {
		e.Texts = append(e.Texts, t.Name)
	}
	for i := range f.calls {
		c := &f.calls[i]
		if c.Error != nil {
			e.Texts, e.Whole = append(e.Texts, c.Error.Text), e.Whole && !redacted(c.Error.Text)
		}
		e.Whole = e.Whole && !redacted(string(c.Result)) && !c.Truncated && !slices.Contains(c.Missing, Result) &&
			!slices.Contains(c.Missing, End)
		e.Results = append(e.Results, c.Result)
	}
	switch as, why := prose.JudgeFacts(e, o.Answer); as {
	case prose.Refuted:
		f.found(Fabricated, []int{}, "%s.", why)
	case prose.Unruled:
		f.doubt(Fabricated, why+".")
	}
}

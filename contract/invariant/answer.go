package invariant

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/text"
)

// NotEmpty holds when the answer has visible text. White space,
// control characters and characters without width do not count.
func NotEmpty(name string, severity contract.Severity) contract.Invariant {
	d := newDraft("NotEmpty", name, severity)
	return d.judge(func(_ context.Context, o *contract.Observation) error {
		if text.Blank(o.Response) {
			return fmt.Errorf("the answer is empty: %s", text.QuoteShort(o.Response))
		}
		return nil
	})
}

// Completes holds when the agent returned without an error: no time-out, no
// panic, no hang. The answer may be empty; [NotEmpty] checks that.
func Completes(name string, severity contract.Severity) contract.Invariant {
	d := newDraft("Completes", name, severity)
	d.JudgesErrors = true
	return d.judge(func(_ context.Context, o *contract.Observation) error {
		if o.Err == nil {
			return nil
		}
		if unfinished(o.Err) {
			return fmt.Errorf("the agent did not return: %w", o.Err)
		}
		return fmt.Errorf("the agent failed: %w", o.Err)
	})
}

// unfinished reports whether an error means that the agent did not return.
func unfinished(err error) bool {
	var panicked *contract.PanicError
	return errors.Is(err, contract.ErrTimeout) || errors.Is(err, contract.ErrHung) ||
		errors.Is(err, contract.ErrFailNow) || errors.As(err, &panicked)
}

// Within holds when the answer took at most limit, in the cell's own time, which is
// virtual in a bubble. An error breaks it, whatever time it took.
func Within(name string, severity contract.Severity, limit time.Duration) contract.Invariant {
	d := newDraft("Within", name, severity)
	d.demand(limit > 0, "limit", limit, "a duration above 0")
	return d.judge(func(_ context.Context, o *contract.Observation) error {
		if o.Elapsed > limit {
			return fmt.Errorf("the answer took %v, %v longer than the %v allowed", o.Elapsed, o.Elapsed-limit, limit)
		}
		return nil
	})
}

// Contains holds when the answer contains every one of the texts, in any case. It does
// not check what is said about them: "1042 was not found" contains "1042".
func Contains(name string, severity contract.Severity, texts ...string) contract.Invariant {
	d := newDraft("Contains", name, severity)
	d.texts("texts", texts, 1)
	texts, parts := slices.Clone(texts), foldAll(texts)
	return d.judge(func(_ context.Context, o *contract.Observation) error {
		answer := text.Fold(o.Response)
		var missing []string
		for i, part := range parts {
			if _, _, ok := text.Find(o.Response, answer, part); !ok {
				missing = append(missing, text.QuoteShort(texts[i]))
			}
		}
		if missing != nil {
			return fmt.Errorf("the answer does not contain %s: %s", text.JoinItems(missing),
				text.QuoteShort(o.Response))
		}
		return nil
	})
}

// ContainsAny holds when the answer contains at least one of the texts, in any case.
func ContainsAny(name string, severity contract.Severity, texts ...string) contract.Invariant {
	d := newDraft("ContainsAny", name, severity)
	d.texts("texts", texts, 1)
	texts, parts := slices.Clone(texts), foldAll(texts)
	return d.judge(func(_ context.Context, o *contract.Observation) error {
		answer := text.Fold(o.Response)
		for _, part := range parts {
			if _, _, ok := text.Find(o.Response, answer, part); ok {
				return nil
			}
		}
		return fmt.Errorf("the answer contains none of %s: %s", text.JoinItems(text.QuoteAll(texts)),
			text.QuoteShort(o.Response))
	})
}

// Excludes holds when the answer contains none of the texts, in any case. It also
// finds them within words: "cat" is in "category". For whole words use
// [ExcludesRegex] with \b.
func Excludes(name string, severity contract.Severity, texts ...string) contract.Invariant {
	d := newDraft("Excludes", name, severity)
	d.texts("texts", texts, 1)
	texts, parts := slices.Clone(texts), foldAll(texts)
	return d.judge(func(_ context.Context, o *contract.Observation) error {
		answer := text.Fold(o.Response)
		for i, part := range parts {
			if start, end, ok := text.Find(o.Response, answer, part); ok {
				return fmt.Errorf("the answer contains the excluded %s at byte %d: %s",
					text.QuoteShort(texts[i]), start, text.Excerpt(o.Response, start, end))
			}
		}
		return nil
	})
}

// Regex holds when the pattern, in the syntax of package regexp, matches
// somewhere in the answer. Case matters unless the pattern begins with (?i).
func Regex(name string, severity contract.Severity, pattern string) contract.Invariant {
	d := newDraft("Regex", name, severity)
	re := d.regexp("pattern", pattern)
	return d.judge(func(_ context.Context, o *contract.Observation) error {
		if !re.MatchString(o.Response) {
			return fmt.Errorf("the answer does not match %s: %s", text.QuoteShort(pattern), text.QuoteShort(o.Response))
		}
		return nil
	})
}

// ExcludesRegex holds when none of the patterns, in the syntax of package
// regexp, matches anywhere in the answer. Case matters unless a pattern begins
// with (?i).
func ExcludesRegex(name string, severity contract.Severity, patterns ...string) contract.Invariant {
	d := newDraft("ExcludesRegex", name, severity)
	d.demand(len(patterns) > 0, "patterns", nil, "at least one")
	compiled := make([]*regexp.Regexp, len(patterns))
	for i, pattern := range patterns {
		compiled[i] = d.regexp(fmt.Sprintf("patterns[%d]", i), pattern)
	}
	return d.judge(func(_ context.Context, o *contract.Observation) error {
		for _, re := range compiled {
			if at := re.FindStringIndex(o.Response); at != nil {
				return fmt.Errorf("the answer matches the excluded %s at byte %d: %s",
					text.QuoteShort(re.String()), at[0], text.Excerpt(o.Response, at[0], at[1]))
			}
		}
		return nil
	})
}

// regexp compiles a pattern. It refuses an empty one, which matches everything.
func (d *draft) regexp(argument, pattern string) *regexp.Regexp {
	const allowed = "a regular expression of package regexp that is not empty"
	if pattern == "" {
		d.refuse(argument, pattern, nil, allowed)
		return nil
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		d.refuse(argument, pattern, err, allowed)
	}
	return re
}

func foldAll(texts []string) []string {
	folded := make([]string, len(texts))
	for i, one := range texts {
		folded[i] = text.Fold(one)
	}
	return folded
}

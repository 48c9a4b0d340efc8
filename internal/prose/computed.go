package prose

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

const (
	maxTerms   = 24 // the most numbers that totals are computed from
	mixedTerms = 12 // the most terms of which totals of three are computed
	partOf     = 8  // the first numbers of a column, of which every subset is added
	// byChance is the largest share of the numbers of similar size that may be totals,
	// for one of them to count as computed. A made-up number would be a total with
	// that probability.
	byChance = 0.03
	// likeSize is the largest factor between numbers of similar size.
	likeSize = 1.5
)

// sums has the totals that the structure of results gives: of a column, of the
// products of two columns, and what is added to them or subtracted from them.
type sums struct {
	terms    []float64
	calls    map[string][]any   // the results of each target
	set      map[int64]struct{} // the totals, in hundredths; nil: not computed yet
	lists    [][]float64        // columns, and products of two
	possible map[int64]struct{} // what else may be meant: parts of columns, means, shares of terms
}

// result adds what a call returned.
func (t *sums) result(target string, raw json.RawMessage) {
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return
	}
	if t.calls == nil {
		t.calls = make(map[string][]any)
	}
	t.calls[target] = append(t.calls[target], value)
}

// read finds the terms in the results.
func (t *sums) read() {
	var targets []string
	for target := range t.calls {
		targets = append(targets, target)
	}
	slices.Sort(targets)
	for _, target := range targets {
		list := t.calls[target]
		for _, value := range list {
			t.walk(value, false)
		}
		if len(list) > 1 { // one item a call
			t.columns(list)
		}
	}
}

// walk finds the terms in a value. item reports that the value is an item of a list,
// whose numbers are in the sums of the list.
func (t *sums) walk(value any, item bool) {
	switch value := value.(type) {
	case []any:
		t.columns(value)
		for _, one := range value {
			t.walk(one, true)
		}
	case map[string]any:
		total, numbers := 0.0, 0
		for _, name := range sortedNames(value) {
			if number, ok := numberOf(value[name]); ok {
				if !item {
					t.term(number)
				}
				total, numbers = total+number, numbers+1
				continue
			}
			t.walk(value[name], false)
		}
		if numbers > 1 && !item {
			t.term(total)
		}
	}
}

// columns adds, for the items of a list, the sum of each member and of the products
// of each two members.
func (t *sums) columns(list []any) {
	columns := make(map[string][]float64)
	sum, plain := 0.0, 0
	for i, item := range list {
		if number, ok := numberOf(item); ok {
			sum, plain = sum+number, plain+1
		}
		object, _ := item.(map[string]any)
		for name, member := range object {
			if number, ok := numberOf(member); ok {
				column := columns[name]
				if column == nil {
					column = make([]float64, len(list))
				}
				column[i] = number
				columns[name] = column
			}
		}
	}
	if plain > 1 {
		t.term(sum)
	}
	names := sortedNames(columns)
	names = names[:min(len(names), maxTerms)]
	for i, name := range names {
		total := 0.0
		for _, number := range columns[name] {
			total += number
		}
		t.term(total)
		t.lists = append(t.lists, columns[name])
		for _, other := range names[i+1:] {
			total, products := 0.0, make([]float64, len(list))
			for k, number := range columns[name] {
				products[k] = number * columns[other][k]
				total += products[k]
			}
			t.term(total)
			t.lists = append(t.lists, products)
		}
	}
}

func (t *sums) term(number float64) {
	if number != 0 && len(t.terms) < maxTerms && !slices.Contains(t.terms, number) {
		t.terms = append(t.terms, number)
	}
}

// compute fills the set from the terms and from the numbers of all sources.
func (t *sums) compute(operands []float64) {
	t.read()
	t.set = make(map[int64]struct{})
	know := func(v float64) { t.set[hundredths(v)] = struct{}{} }
	t.computePossible(operands)
	for i, a := range t.terms {
		know(a)
		for k, b := range t.terms[i+1:] {
			know(a + b)
			know(a - b)
			if len(t.terms) > mixedTerms {
				continue
			}
			for _, c := range t.terms[i+1+k+1:] {
				know(a + b + c)
				know(a + b - c)
				know(a - b + c)
				know(a - b - c)
			}
		}
	}
	operands = operands[:min(len(operands), maxTerms)]
	for i, a := range operands {
		total := a
		for _, b := range operands[i+1:] {
			total += b
			know(total)
			know(a + b)
			know(a - b)
			if few := min(a, b); few == math.Trunc(few) && few <= 31 { // a price times a quantity
				know(a * b)
			}
		}
	}
}

// computePossible fills the set of possible numbers.
func (t *sums) computePossible(operands []float64) {
	t.possible = make(map[int64]struct{})
	know := func(v float64) { t.possible[hundredths(v)] = struct{}{} }
	for _, list := range t.lists[:min(len(t.lists), maxTerms)] {
		part, total := []float64{0}, 0.0
		for i, number := range list {
			if total += number; i >= partOf {
				continue
			}
			for _, sum := range part {
				part = append(part, sum+number)
			}
		}
		for _, sum := range part {
			know(sum)
		}
		know(total / float64(len(list)))
	}
	for _, a := range t.terms {
		for _, share := range operands {
			if share > 0 && share < 100 {
				know(a * share / 100)
				know(a - a*share/100)
				know(a + a*share/100)
				know(a / (1 + share/100))
			}
		}
	}
}

// hundredths returns a number as the sets have it, without its sign; 0 for one that is
// too large.
func hundredths(v float64) int64 {
	if v = math.Abs(v); v < 1e12 {
		return int64(math.Round(v * 100))
	}
	return 0
}

// has reports whether a number is a total, and is hardly so by chance. text is the
// number as the answer writes it.
func (t *sums) has(key, text string) bool {
	value, err := strconv.ParseFloat(key, 64)
	if err != nil {
		return false
	}
	size := hundredths(value)
	if _, ok := t.set[size]; !ok || size == 0 {
		return false
	}
	step := int64(100)
	if _, decimals, part := strings.Cut(key, "."); part {
		step = 1
		if len(decimals) == 1 && !strings.HasSuffix(text, decimals+"0") { // "36.80" is 36.8
			step = 10
		}
	}
	least, most := int64(float64(size)/likeSize), int64(float64(size)*likeSize)
	hits := 0
	for v := range t.set {
		if v >= least && v <= most && v%step == 0 {
			hits++
		}
	}
	return float64(hits) <= byChance*float64((most-least)/step)
}

// may reports whether a number may be computed.
func (t *sums) may(value float64) bool {
	size := hundredths(value)
	_, exact := t.set[size]
	_, possible := t.possible[size]
	return size != 0 && (exact || possible)
}

// isTerm reports whether a number is a term.
func (t *sums) isTerm(key string) bool {
	value, err := strconv.ParseFloat(key, 64)
	return err == nil && slices.Contains(t.terms, value)
}

// inWords reports whether a fact is a number written as a word.
func (f fact) inWords() bool {
	return f.Kind == factNumber && f.text != "" && !strings.ContainsFunc(f.text, unicode.IsDigit)
}

// ordinal reports whether a fact is a number such as "18th" or "1er".
func (f fact) ordinal() bool {
	switch digits := strings.TrimLeft(f.text, "0123456789"); digits {
	case "st", "nd", "rd", "th", "er":
		return f.Kind == factNumber
	}
	return false
}

// countsOf returns, for each kind, the number of facts that the answer has and the
// prompt does not have. The answer may state these numbers in words.
func countsOf(facts []fact, asked *Source) map[string]bool {
	kinds := make(map[factKind]int)
	for _, f := range facts {
		if f.Kind != factNumber && f.Kind != factName && !asked.has(f) {
			kinds[f.Kind]++
		}
	}
	counts := make(map[string]bool)
	for _, n := range kinds {
		counts[strconv.Itoa(n)] = true
	}
	return counts
}

// numberOf returns the number that a JSON value is, or that its whole text means.
func numberOf(value any) (float64, bool) {
	switch value := value.(type) {
	case float64:
		return value, true
	case string:
		text, negative := strings.CutPrefix(Flat(value, ShapeWords), "-")
		text = strings.TrimSpace(strings.Trim(text, "€$£+"))
		for _, unit := range []string{"eur", "usd", "gbp", "chf"} {
			text = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(text, unit), unit))
		}
		keys := numberKeys(text)
		if keys == nil || len(text) > 15 || !strings.ContainsAny(text, ".,'") { // digits alone may be an identifier
			return 0, false
		}
		number, err := strconv.ParseFloat(keys[len(keys)-1], 64)
		if negative {
			number = -number
		}
		return number, err == nil
	}
	return 0, false
}

func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

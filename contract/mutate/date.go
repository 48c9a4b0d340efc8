package mutate

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Dates: the same day in another format.

func dateRows() []row {
	return grouped("temporal_attack", Same, row{Kind{Name: "date_format", Weight: 1.1,
		Text: "dates in another format; the day stays. 5/4/2026, which may be two days, stays as it is"}, dateFormat})
}

// dateLayouts are the formats that dates get.
var dateLayouts = [...]string{"2006-01-02", "2 January 2006", "January 2, 2006", "Mon 2-Jan-2006"}

func dateFormat(p *prompt, d Draw) string {
	var b []byte
	from := 0
	for i := 0; i < len(p.spans); i++ {
		day, n := p.date(i)
		if n == 0 {
			continue
		}
		last := i + n - 1
		was := p.raw[p.spans[i].from:p.spans[last].to]
		for k := range dateLayouts { // the first that is not the one it has
			is := day.Format(dateLayouts[(d.oneOf(len(dateLayouts))+k)%len(dateLayouts)])
			if is != was {
				b = append(append(b, p.raw[from:p.spans[i].from]...), is...)
				break
			}
		}
		from, i = p.spans[last].to, last
	}
	return string(append(b, p.raw[from:]...))
}

// date reads the date that begins with the i-th span, and returns the number of its
// spans; 0: none begins there.
func (p *prompt) date(i int) (day time.Time, n int) {
	part := func(k int) string {
		if i+k >= len(p.spans) {
			return ""
		}
		return p.text(p.spans[i+k])
	}
	if p.spans[i].what == exact {
		for _, layout := range [...]string{"2006-01-02", "2.1.2006"} {
			if day, err := time.Parse(layout, part(0)); err == nil {
				return day, 1
			}
		}
	}
	first, year := part(0), part(4)
	if len(year) != 4 || !slices.Contains([]string{" ", ", "}, part(3)) {
		return day, 0
	}
	switch month := monthOf(first); {
	case month > 0 && part(1) == " ": // May 4, 2026
		day, n = dayOf(part(2), month, year), 5
	case monthOf(part(2)) > 0 && (part(1) == " " || part(1) == ". "): // 4 May 2026, 4. Mai 2026
		day, n = dayOf(first, monthOf(part(2)), year), 5
	}
	if day.IsZero() {
		return day, 0
	}
	return day, n
}

// dayOf is the day with a number such as "4" or "4th"; zero: there is none.
func dayOf(number string, month int, year string) time.Time {
	for _, ordinal := range [...]string{"st", "nd", "rd", "th"} {
		number = strings.TrimSuffix(number, ordinal)
	}
	day, err := time.Parse("2006-1-2", year+"-"+strconv.Itoa(month)+"-"+number)
	if err != nil {
		return time.Time{}
	}
	return day
}

// months are the names in English, German, French and Spanish, and a short one.
var months = [...]string{
	"january januar janvier enero jan", "february februar février febrero feb", "march märz mars marzo mar",
	"april avril abril apr", "may mai mayo", "june juni juin junio jun", "july juli juillet julio jul",
	"august août agosto aug", "september septembre septiembre sep", "october oktober octobre octubre oct",
	"november novembre noviembre nov", "december dezember décembre diciembre dec",
}

// monthOf is the month of a name; 0: it is none.
func monthOf(name string) int {
	if len(name) < 3 || len(name) > 10 {
		return 0
	}
	name = " " + strings.ToLower(name) + " "
	return 1 + slices.IndexFunc(months[:], func(names string) bool { return strings.Contains(" "+names+" ", name) })
}

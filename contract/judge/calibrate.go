package judge

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/contract/invariant"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/judging"
	"github.com/shakedown-go/shakedown/internal/strictjson"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/internal/usercode"
	"github.com/shakedown-go/shakedown/internal/wholefile"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// A Label is a question whose ruling a person decided.
type Label struct {
	Question invariant.Question `json:"question"`
	// Ruling is held or broken.
	Ruling invariant.Ruling `json:"ruling"`
}

// CalibrateOptions are the settings of [Calibrate].
type CalibrateOptions struct {
	_ struct{}
	// Sample says what the labelled answers are, such as "120 answers of March, labelled by
	// two people"; required. The judge errs on other answers in other ways.
	Sample string
	// Date is the day of the calibration; zero: today.
	Date time.Time
	// SkipAttacks leaves out [Attack], which asks up to 75 questions more.
	SkipAttacks bool
}

// A Rate is a share of labelled answers, with its exact interval
// ([stats.ClopperPearson], at 95 %).
type Rate struct {
	Right    int              `json:"right" min:"0"`
	Of       int              `json:"of" min:"0"` // without those on which the judge was unsure or failed
	Interval scoring.Interval `json:"interval,omitzero"`
}

// A Calibration is what was measured of a judge.
type Calibration struct {
	Judge   string `json:"judge"`
	Version string `json:"version,omitempty"`
	// Decide is the sentence that all labelled answers were asked; empty: several.
	Decide string `json:"decide,omitempty"`
	Sample string `json:"sample"`
	Date   string `json:"date"` // as in 2006-01-02
	Asked  int    `json:"asked" min:"0"`
	// Sensitivity is the share of broken answers that the judge ruled broken, Specificity
	// the share of those that hold that it ruled to hold.
	Sensitivity Rate `json:"sensitivity"`
	Specificity Rate `json:"specificity"`
	// Unsure counts the labelled answers on which the judge was unsure, and Failed those
	// on which it failed.
	Unsure  int           `json:"unsure,omitempty" min:"0"`
	Failed  int           `json:"failed,omitempty" min:"0"`
	Attacks []AttackCount `json:"attacks,omitempty"`
}

// Calibrate asks a judge about labelled answers, one after the other, and counts how often it is right. It
// also attacks the judge on the first five broken ones that it finds: see [Attack].
//
// Take answers like those of the runs to be judged, labelled without knowledge of the judge's rulings, none
// of which stands in the judge's own prompt. A hundred of each make an interval of about 10 points.
//
// Errors: [*FieldError], joined, for a judge that is nil, for options and labels that are not allowed, and
// for judgements that name no judge, or different ones; an error of ctx. Failures of the judge itself are
// counted, but an error is returned if there was nothing else.
func Calibrate(ctx context.Context, j invariant.Judge, labelled []Label, o *CalibrateOptions) (*Calibration, error) {
	o = cmp.Or(o, &CalibrateOptions{})
	if err := checkLabels(j, labelled, o); err != nil {
		return nil, err
	}
	date := o.Date
	if date.IsZero() {
		date = time.Now()
	}
	c := &Calibration{Sample: o.Sample, Date: date.Format(time.DateOnly), Decide: labelled[0].Question.Decide}
	named := false // a failure need not say whose it is
	var found []invariant.Question
	var failed error
	for i, l := range labelled {
		if l.Question.Decide != c.Decide {
			c.Decide = ""
		}
		got, err := ruled(ctx, j, l.Question)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("judge: the calibration was cancelled after %d labels: %w", i, ctx.Err())
		}
		if anonymous := err != nil && got.Judge == "" && got.Version == ""; !anonymous {
			if got.Judge == "" || named && (got.Judge != c.Judge || got.Version != c.Version) {
				allowed := "a judgement that names its judge"
				if named {
					allowed = "a judgement of " + judging.NameOf(c.Judge, c.Version) + ", as the first"
				}
				return nil, fields.Wrong(fmt.Sprintf("labelled[%d]", i), judging.NameOf(got.Judge, got.Version), allowed)
			}
			c.Judge, c.Version, named = got.Judge, got.Version, true
		}
		c.count(l, got, err)
		failed = cmp.Or(failed, err)
		if err == nil && l.Ruling == invariant.Broken && got.Ruling == invariant.Broken {
			found = append(found, l.Question)
		}
	}
	if c.Failed == c.Asked && failed != nil {
		return nil, fmt.Errorf("judge: the judge failed on each of %s, first: %w",
			text.Plural(c.Asked, "labelled answer"), failed)
	}
	c.rate()
	if o.SkipAttacks {
		return c, nil
	}
	var err error
	c.Attacks, err = Attack(ctx, j, found[:min(len(found), attackedQuestions)])
	return c, err
}

// attackedQuestions bounds the cost of the attacks of a calibration.
const attackedQuestions = 5

func checkLabels(j invariant.Judge, labelled []Label, o *CalibrateOptions) error {
	p := fields.ListUpTo(20)
	p.Demand(j != nil, "j", fielderror.Found("nil"), "a judge")
	p.Demand(strings.TrimSpace(o.Sample) != "", "CalibrateOptions.Sample", o.Sample, "what the labelled answers are")
	n, first := map[invariant.Ruling]int{}, map[string]int{}
	for i, l := range labelled {
		n[l.Ruling]++
		at := fmt.Sprintf("labelled[%d].", i)
		p.Demand(l.Ruling == invariant.Held || l.Ruling == invariant.Broken, at+"Ruling", l.Ruling, "held or broken")
		p.Demand(strings.TrimSpace(l.Question.Decide) != "", at+"Question.Decide", l.Question.Decide, "a sentence")
		doc, err := json.Marshal(l.Question)
		if err != nil {
			p.Because(at+"Question", fielderror.Found("without JSON"), err, "a state in JSON")
			continue
		}
		same, twice := first[string(doc)]
		p.Demand(!twice, at+"Question", fielderror.Found(fmt.Sprintf("that of labelled[%d]", same)),
			"each question once: a copy makes the intervals too narrow")
		first[string(doc)] = i
	}
	for _, r := range []invariant.Ruling{invariant.Held, invariant.Broken} {
		p.Demand(n[r] > 0, "labelled", fielderror.Found("without one that is "+r.String()),
			"at least one held and one broken")
	}
	return p.Err()
}

// count counts one label.
func (c *Calibration) count(l Label, got invariant.Judgement, err error) {
	c.Asked++
	switch {
	case err != nil, got.Ruling > invariant.Broken:
		c.Failed++
		return
	case got.Ruling == invariant.Unsure:
		c.Unsure++
		return
	}
	rate := &c.Sensitivity
	if l.Ruling == invariant.Held {
		rate = &c.Specificity
	}
	rate.Of++
	if got.Ruling == l.Ruling {
		rate.Right++
	}
}

// rate adds the intervals; a rate of nothing has none.
func (c *Calibration) rate() {
	for _, r := range []*Rate{&c.Sensitivity, &c.Specificity} {
		if r.Interval = (scoring.Interval{}); r.Of > 0 {
			r.Interval, _ = stats.ClopperPearson(r.Right, r.Of, scoring.Level95)
		}
	}
}

// Save writes the calibration to a file as JSON, whole or not at all.
func (c *Calibration) Save(path string) error {
	doc, err := json.MarshalIndent(c, "", "  ")
	if err == nil {
		err = wholefile.Write(path, append(doc, '\n'))
	}
	if err != nil {
		return fmt.Errorf("judge: %s: %w", path, err)
	}
	return nil
}

// Load reads a file of [Calibration.Save]. The error joins all that is wrong with it, each
// a [*FieldError].
func Load(path string) (*Calibration, error) {
	doc, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("judge: %w", err)
	}
	c := new(Calibration)
	err = strictjson.Decode(doc, c, func(p *strictjson.Problem) error { return p.Field(fields) })
	if err == nil {
		err = c.check()
	}
	if err != nil {
		return nil, fmt.Errorf("judge: %s: %w", path, err)
	}
	c.rate() // whatever the file says: its intervals are for people
	return c, nil
}

// check checks what a report computes with.
func (c *Calibration) check() error {
	p := fields.List()
	_, err := time.Parse(time.DateOnly, c.Date)
	p.Demand(err == nil, "date", c.Date, "a day such as 2026-05-01")
	p.Demand(c.Judge != "", "judge", c.Judge, "the name of the judge")
	p.Demand(strings.TrimSpace(c.Sample) != "", "sample", c.Sample, "what the labelled answers are")
	labels := 0
	for _, r := range []struct {
		name string
		Rate
	}{{"sensitivity", c.Sensitivity}, {"specificity", c.Specificity}} {
		p.Demand(r.Right >= 0 && r.Right <= r.Of, r.name+".right", r.Right, "0 to of")
		p.Demand(r.Of <= mostLabels, r.name+".of", r.Of, upToLabels)
		labels += r.Of
	}
	p.Demand(c.Unsure >= 0 && c.Unsure <= mostLabels, "unsure", c.Unsure, upToLabels)
	p.Demand(c.Failed >= 0 && c.Failed <= mostLabels, "failed", c.Failed, upToLabels)
	p.Demand(labels+c.Unsure+c.Failed == c.Asked, "asked", c.Asked, "the sum of both rates, unsure and failed")
	for i, a := range c.Attacks {
		found := fmt.Sprintf("%d moved, %d unsure, of %d", a.Moved, a.Unsure, a.Tried)
		p.Demand(min(a.Moved, a.Unsure) >= 0 && a.Tried <= mostLabels && a.Moved <= a.Tried-a.Unsure,
			fmt.Sprintf("attacks[%d]", i), fielderror.Found(found), "counts of 0 and more, of those tried")
	}
	return p.Err()
}

// mostLabels bounds the counts of a file, so that their sums are right.
const (
	mostLabels = 100_000_000
	upToLabels = "0 to 100000000"
)

// ruled asks a judge. A panic of it is a failure, which callers count.
func ruled(ctx context.Context, judge invariant.Judge, q invariant.Question) (j invariant.Judgement, err error) {
	defer usercode.Recover(&err, "the judge")
	return judge(ctx, q)
}

package scoring

// A JudgeScore counts what one judge ruled on the answers that one invariant asked it
// about. A judge is wrong at times: Calibration says how often, and what the rate of
// answers that held is then.
type JudgeScore struct {
	Invariant string `json:"invariant"`
	Judge     string `json:"judge"` // empty: it gave no name
	Version   string `json:"version,omitempty"`
	Decide    string `json:"decide"` // the sentence that it was asked to decide
	// Asked counts the questions: Held + Broken + Unsure + Failed.
	Asked  int `json:"asked"`
	Held   int `json:"held"`
	Broken int `json:"broken"`
	Unsure int `json:"unsure,omitempty"`
	Failed int `json:"failed,omitempty"` // an error, or no ruling
	// Scenarios has the rulings by scenario, whose answers are alike.
	Scenarios []JudgeScenario `json:"scenarios,omitempty"`
	// Distinct counts the different questions among those held or broken. Equal ones get
	// one answer of the judge, so they are worth less than so many.
	Distinct int `json:"distinct"`
	// Contradicted counts the different questions that the judge ruled held for one cell and
	// broken for another.
	Contradicted int `json:"contradicted,omitempty"`
	Cached       int `json:"cached,omitempty"`   // questions that were judged in an earlier run
	Disputed     int `json:"disputed,omitempty"` // questions on which a panel did not agree
	// Calls counts the calls of models, and Malformed the replies that had another form
	// than asked for.
	Calls     int     `json:"calls,omitempty"`
	Malformed int     `json:"malformed,omitempty"`
	Cost      float64 `json:"cost,omitempty"` // in the user's unit
	// Calibration is what was measured of the judge; nil: nothing is known of its errors.
	Calibration *JudgeRates `json:"calibration,omitempty"`
}

// A JudgeScenario counts what a judge ruled on the answers of a scenario, as in [JudgeScore].
type JudgeScenario struct {
	Scenario string `json:"scenario"`
	Held     int    `json:"held,omitempty"`
	Broken   int    `json:"broken,omitempty"`
	Unsure   int    `json:"unsure,omitempty"`
}

// ByScenario returns the rulings by scenario. Where they are not known, those of all are one.
func (s JudgeScore) ByScenario() []JudgeScenario {
	if len(s.Scenarios) > 0 {
		return s.Scenarios
	}
	return []JudgeScenario{{Held: s.Held, Broken: s.Broken, Unsure: s.Unsure}}
}

// Rate is the share of the decided answers that the judge ruled to hold, as it is, and
// its interval by scenario, which says nothing of the judge's own errors. ok is false where
// the judge decided none.
//
// It is no rate of all answers where the judge was unsure: those are seldom as good as the
// others. See Bounds.
func (s JudgeScore) Rate() (rate float64, in Interval, ok bool) {
	n := s.Held + s.Broken
	if n <= 0 || s.Held < 0 || s.Broken < 0 {
		return 0, Interval{}, false
	}
	var c clustered
	for _, own := range s.ByScenario() {
		c.add(own.Scenario, own.Held, own.Held+own.Broken)
	}
	return float64(s.Held) / float64(n), c.interval(0), true
}

// Bounds are the least and the most share of the answers that hold: the answers on which the
// judge was unsure count as broken in the one and as held in the other. ok is false where it
// ruled on none.
func (s JudgeScore) Bounds() (least, most float64, ok bool) {
	n := s.Held + s.Broken + s.Unsure
	if n <= 0 || min(s.Held, s.Broken, s.Unsure) < 0 {
		return 0, 0, false
	}
	return float64(s.Held) / float64(n), float64(s.Held+s.Unsure) / float64(n), true
}

// JudgeRates are the error rates of a judge, and a rate that was corrected by them.
type JudgeRates struct {
	// Judge, Version and Date say which judge was calibrated, and when.
	Judge   string `json:"judge"`
	Version string `json:"version,omitempty"`
	Date    string `json:"date"`   // as in 2006-01-02
	Sample  string `json:"sample"` // what the labelled answers are
	// Found of Bad broken answers were ruled broken: the sensitivity. Spared of Good
	// answers that hold were ruled to hold: the specificity. Those on which the judge was
	// unsure are in none of the four.
	Found  int `json:"found"`
	Bad    int `json:"bad"`
	Spared int `json:"spared"`
	Good   int `json:"good"`
	// Of Attacks adversarial answers, Moved made the judge accept a broken one.
	Moved   int `json:"moved"`
	Attacks int `json:"attacks"`
	// Least and Most are the corrected shares of the answers that hold. Answers on which the
	// judge was unsure count as broken in Least and as held in Most. Interval is from the lower
	// end of the one to the upper end of the other. nil: they cannot be computed, and Warnings
	// say why.
	Least    *float64 `json:"least,omitempty"`
	Most     *float64 `json:"most,omitempty"`
	Interval Interval `json:"interval,omitzero"`
	// Warnings are sentences on what makes the rate doubtful.
	Warnings []string `json:"warnings,omitempty"`
}

package scoring

import "encoding/json"

// A ReplayScore is the share of the cells of replayed sessions that held.
type ReplayScore struct {
	// Value is from 0 to 100, rounded as [ContractScore].Value: 100 × Passed ÷ Decided. It
	// has a meaning only when Decided is above 0. Otherwise JSON leaves it out.
	Value float64 `json:"value"`
	// Total counts all cells: Decided + Inconclusive + Undelivered + NotRun. Passed counts
	// the decided cells that held.
	Passed       int `json:"passed"`
	Decided      int `json:"decided"`
	Total        int `json:"total"`
	Inconclusive int `json:"inconclusive"`
	Undelivered  int `json:"undelivered"`
	NotRun       int `json:"notRun"`
	// Interval is the 95 % interval of Passed/Decided by session, as that of [ContractScore].
	// It is zero, and absent in JSON, when no cell was decided.
	Interval Interval `json:"interval,omitzero"`
}

// Replay scores the cells of replayed sessions, which are as [Contract] takes them, with its
// options.
// Severities do not count: a session is an incident, and each is as bad. The score has no
// value if no cell was decided, which is no error: the counts say why.
//
// Errors: a [*FieldError] for each contradiction, all joined.
func Replay(cells []Cell, o *ContractOptions) (ReplayScore, error) {
	errs := fields.List()
	checkCells(errs, cells)
	if err := errs.Err(); err != nil {
		return ReplayScore{}, err
	}
	t := tally(cells, o != nil && o.SharedObservations)
	s := ReplayScore{Passed: t.Passed, Decided: t.Decided, Total: t.Total, Inconclusive: t.Inconclusive,
		Undelivered: t.Undelivered, NotRun: t.NotRun, Interval: t.Interval}
	if s.Decided > 0 {
		s.Value = round2(100 * float64(s.Passed) / float64(s.Decided))
	}
	return s, nil
}

// MarshalJSON writes the score as JSON; without a decided cell the value is left out.
func (s ReplayScore) MarshalJSON() ([]byte, error) {
	type plain ReplayScore
	return json.Marshal(struct {
		Value *float64 `json:"value,omitempty"`
		plain
	}{partOf(s.Value, s.Decided), plain(s)})
}

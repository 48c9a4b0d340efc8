package scoring

// The scores as parts of the overall score: from 0 to 100, and nil where nothing was decided,
// because an unknown score is not a score of 0. A nil score gives nil.

// Part is the score as [Parts] takes it; nil if no cell was decided.
func (s *ContractScore) Part() *float64 {
	if s == nil {
		return nil
	}
	return partOf(s.Value, s.Decided)
}

// Part is the score as [Parts] takes it; nil if no cell was decided.
func (s *ChaosScore) Part() *float64 {
	if s == nil {
		return nil
	}
	return partOf(s.Value, s.Decided)
}

// Part is 100 times the robustness, as [Parts] takes it; nil if no mutation was decided.
func (s *MutationScore) Part() *float64 {
	if s == nil {
		return nil
	}
	return partOf(100*s.Value, s.Decided)
}

// Part is the score as [Parts] takes it; nil if no cell was decided.
func (s *ReplayScore) Part() *float64 {
	if s == nil {
		return nil
	}
	return partOf(s.Value, s.Decided)
}

func partOf(value float64, decided int) *float64 {
	if decided == 0 {
		return nil
	}
	return &value
}

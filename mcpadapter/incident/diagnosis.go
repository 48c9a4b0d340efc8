package incident

import (
	"strings"
	"time"
)

// A Diagnosis is what a report states in so many words, one fact a line:
//
//	Target: refund
//	Kind: error
//	Since: 2026-03-01T12:00:00Z
//	Until: 2026-03-01T12:01:30Z
//
// Lists, bold type and letter case of the names do not count; times are RFC
// 3339. What is not stated, or not as it should be, is zero.
type Diagnosis struct {
	Target string    // the injection point, or the object, that failed
	Kind   string    // of the fault, such as "error" or "latency"
	Since  time.Time // when the first call failed
	Until  time.Time // when the last one did, or when all was well again; zero: not yet
}

// ReadDiagnosis reads the facts from a report. The first line of a name counts.
func ReadDiagnosis(report []byte) (d Diagnosis) {
	facts := make(map[string]string)
	for line := range strings.Lines(string(report)) {
		name, value, ok := strings.Cut(line, ":")
		name = strings.ToLower(strings.Trim(name, " \t*_->`"))
		if _, had := facts[name]; ok && !had {
			facts[name] = strings.Trim(value, " \t\r\n*_`")
		}
	}
	d.Target, d.Kind = facts["target"], facts["kind"]
	d.Since, _ = time.Parse(time.RFC3339, facts["since"]) // what is no time is not stated
	d.Until, _ = time.Parse(time.RFC3339, facts["until"])
	return d
}

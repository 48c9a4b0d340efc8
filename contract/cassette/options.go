package cassette

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/jsonpath"
	"github.com/shakedown-go/shakedown/internal/usercode"
	"github.com/shakedown-go/shakedown/scoring"
)

// A Mode says what is played and what goes to the network. The package comment has the table.
type Mode string

// The modes. The zero Mode is that of [EnvMode].
const (
	Replay Mode = "replay"
	Auto   Mode = "auto"
	Record Mode = "record"
	Off    Mode = "off"
)

// EnvMode is the environment variable that has the mode where the options have none.
const EnvMode = "SHAKEDOWN_CASSETTE"

// Options of [Open]. The zero value plays, or does what [EnvMode] says.
type Options struct {
	_ struct{}
	// Mode takes precedence over the environment.
	Mode Mode
	// Base makes the transport of live calls. It is called once, before the first live call, and never in replay
	// mode. nil: a transport as [http.DefaultTransport], which Close closes.
	Base func() http.RoundTripper
	// Ignore has paths (RFC 9535, "$.metadata.trace_id") of what does not count in the JSON body of a request.
	Ignore []string
	// Mask has texts that differ from run to run and do not count: dates, random identifiers.
	Mask []Mask
	// Redact returns a document without personal data. It gets the bodies of requests before they are matched, and,
	// before they are kept, the bodies of answers; of a stream it gets the data of each event, or each line. target is
	// as [chaoshttp.Target] has it. Equal documents must give equal ones. It must not change doc, and must be safe for
	// concurrent use. nil: nothing is redacted.
	Redact func(target string, doc []byte) []byte
	// Pauses waits as long as the provider did, to 10 ms: before an answer and between the pieces of a stream.
	Pauses bool
	// Once plays no answer twice to a player: past the last one is a miss.
	Once bool
	// KeepFailures also records status 408, 409, 425, 429 and 5xx.
	KeepFailures bool
}

// A Mask replaces texts before requests are matched: in the strings of a JSON body (not in the names of members), in
// any other body, in the path, and in each parameter of the query ("name=value"), without their escapes. What is kept
// on the tape is not changed.
type Mask struct {
	Pattern string // as package regexp reads it
	Text    string // takes the place of each match, literally
}

// A FieldError is one problem of [Options], of the environment, or of a file.
type FieldError = scoring.FieldError

var modes = []Mode{Replay, Auto, Record, Off}

// settings are options that were checked.
type settings struct {
	Options
	keyer keyer
}

// live reports whether requests may go to the network.
func (s *settings) live() bool { return s.Mode != Replay }

// records reports whether what comes from the network is kept.
func (s *settings) records() bool { return s.Mode == Auto || s.Mode == Record }

// redacted is a document as Redact returns it.
func (s *settings) redacted(target string, doc []byte) (clean []byte, err error) {
	if s.Redact == nil {
		return doc, nil
	}
	defer usercode.Recover(&err, "cassette: Redact")
	return s.Redact(target, doc), nil
}

func (o *Options) settings() (*settings, error) {
	problems := fielderror.Package("cassette").List()
	s := &settings{Options: *cmp.Or(o, &Options{})}
	field := "Mode"
	if s.Mode == "" {
		field, s.Mode = EnvMode, cmp.Or(Mode(os.Getenv(EnvMode)), Replay)
	}
	problems.Demand(slices.Contains(modes, s.Mode), field, string(s.Mode), "replay, auto, record or off")
	for i, path := range s.Ignore {
		p, err := jsonpath.Parse(path)
		if err != nil {
			problems.Because(fmt.Sprintf("Ignore[%d]", i), path, err, "a path such as $.metadata.trace_id (RFC 9535)")
			continue
		}
		s.keyer.ignore = append(s.keyer.ignore, p)
	}
	for i, m := range s.Mask {
		pattern, err := regexp.Compile(m.Pattern)
		if err != nil || m.Pattern == "" {
			problems.Because(fmt.Sprintf("Mask[%d].Pattern", i), m.Pattern, err,
				"a regular expression that is not empty")
			continue
		}
		s.keyer.masks = append(s.keyer.masks, mask{pattern, strings.ToValidUTF8(m.Text, "\uFFFD")})
	}
	return s, problems.Err()
}

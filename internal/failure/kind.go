package failure

import "regexp"

// A Kind is how a call failed, by the words of its failure.
type Kind string

// The kinds. "" is any other.
const (
	Certificate Kind = "certificate"
	Refused     Kind = "refused"
	Reset       Kind = "reset"
	NoSuchHost  Kind = "no such host"
	HungUp      Kind = "hung up"
)

// kinds are in the order in which they are looked for. Each names what happened, not a thing
// that it might be about: "invalid value of timeout" is no time-out, and a gift certificate
// is none.
var kinds = []struct {
	kind  Kind
	words *regexp.Regexp
}{
	{Certificate, regexp.MustCompile(`(?i)\bx509: ` +
		`|(?:^|[^\w ] ?|\b(?:tls|ssl|peer|server|remote|host|root|leaf)(?:'s)? )` +
		`certificate (?:verify|verification|has expired|is (?:not )?valid|signed by)\b` +
		`|\bself[- ]signed certificate\b|\bCERT_[A-Z_]+\b|ALTNAME_INVALID`)},
	{Refused, regexp.MustCompile(`(?i)\bconnection refused\b|\bECONNREFUSED\b`)},
	{Reset, regexp.MustCompile(`(?i)\bconnection reset\b|\bECONNRESET\b|\bbroken pipe\b|\bEPIPE\b`)},
	{NoSuchHost, regexp.MustCompile(`(?i)\bno such host\b|\bENOTFOUND\b|\bname or service not known\b|\bname resolution\b`)},
	{HungUp, regexp.MustCompile(`(^|: )EOF$|(?i:\bsocket hang up\b|\bremote end closed connection\b)`)},
}

var timeoutWords = regexp.MustCompile(`(?i)\btimed[ -]?out\b|deadline[ _]?(has been )?exceeded|\be?timedout\b` +
	`|\btime-?out ?(error|exception|exceeded|expired|reached)\b|\b\w*timeout(error|exception)\b` +
	`|^(?:error: )?time-?out( (after|while|waiting|of|on)\b.*|[:.!].*)?$` +
	`|\b(i/o|request|response|gateway|connection|connect|network|operation|socket|upstream|handshake|read|tool)` +
	`[ _]?time-?out\b`)

// KindOf returns how a call failed by the text of its failure.
func KindOf(text string) Kind {
	for _, k := range kinds {
		if k.words.MatchString(text) {
			return k.kind
		}
	}
	return ""
}

// IsTimeout reports whether a text tells of a time-out. It is asked before [KindOf].
func IsTimeout(text string) bool { return timeoutWords.MatchString(text) }

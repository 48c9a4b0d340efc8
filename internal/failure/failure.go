// Package failure reads what a tool returned: did its call fail? Importers of traces,
// findings and the rules that are made of failures all ask it, so that they agree.
//
// A result is a failure only if it says so by a typed member or as a report of one does.
// Where it has no more than a word of a failure or of doubt, nobody knows.
package failure

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/retryable"
)

// An Outcome is what a result says about its call.
type Outcome uint8

// The outcomes.
const (
	Done    Outcome = iota // nothing in it speaks of a failure
	Unknown                // nobody knows
	Failed                 // it says that the call failed
)

// Read reads a result, a JSON document: a text, an object, or a list of either.
func Read(doc json.RawMessage) Outcome {
	d, ok := jsonedit.Parse(doc)
	if !ok {
		return Text(string(doc))
	}
	return (&reader{d}).value(0)
}

// Text reads a result that is a text.
func Text(s string) Outcome {
	s = strings.TrimSpace(s)
	if s != "" && (s[0] == '{' || s[0] == '[') && json.Valid([]byte(s)) {
		return Read(json.RawMessage(s))
	}
	begin := s[:min(len(s), beginBytes)]
	switch {
	case !doubtful(s) && retryable.StatusIn(begin) == 0:
		return Done
	case mention.MatchString(begin):
		return Unknown
	case report.MatchString(begin) || command.MatchString(begin) && doubtful(begin):
		return Failed
	}
	return Unknown
}

// beginBytes is how much of a text is read for the beginning of a report.
const beginBytes = 300

// report is the beginning of a text that reports a failure. A word of one needs what makes
// it a report: "error: gone" is one, "error rate: 0" is not.
var report = regexp.MustCompile(`(?i)^(?:[^\w<]*|caused by: )(?:` +
	`(?:an? |the )?(?:[a-z0-9_.:]*(?:error|exception)|failure|fatal)(?:\W*$| ?[:(!\x60'"\]{-]` +
	`| (?:occurred|while|during|calling|executing|running|invoking|when|[45][0-9]{2})\b| (?:in|at|from)\b[^\n]*:` +
	`| code[: ]+\S+\s*(?:$|[-:(,]))` +
	`|failed(?:\W*$|[:.!]| (?:to|with|because|after)\b)|[\w ]{1,40} failed[.!]?(?:$|:| with\b)|traceback\b` +
	`|(?:unable to|could not|cannot)\b|\w+ could not be\b` +
	`|(?:i/o |request |read |gateway |operation |connection |tool )?(?:time-?out|timed out)` +
	`(?:\W*$|[:.!]| (?:(?:after|while|waiting|on|error|exceeded)\b|of [0-9.]+ ?[a-z]* (?:exceeded|expired|reached)\b))` +
	`|connection (?:refused|reset|closed|lost)\b|(?:context )?deadline exceeded\b|broken pipe\b|unexpected eof\b` +
	`|(?:internal server error|service unavailable|bad gateway|too many requests|request failed|rate limit exceeded)\b` +
	`|(?:permission|access) denied\W*$|e[a-z]{3,12}(?:refused|reset|out)\b` +
	`|tool (?:call |execution )?(?:failed|error)\b` +
	`|(?:status|http(?:/[0-9.]+)?)(?: code)?[ :=]*[45][0-9]{2}(?:\W*$|[:;,.(]| -| (?:for|from|when|while|after|at|on)\b)` +
	`|(?:(?:status|http(?:/[0-9.]+)?)(?: code)?[ :=]*)?[45][0-9]{2} (?:` + reasons + `)\b` +
	`|rpc error: code =|mcp error -[0-9]+|<(?:tool_use_)?error>|panic: |thread '[^']*' panicked at` +
	`|npm err!|segmentation fault\b|(?:signal: |exit (?:status|code) [1-9])` +
	`|(?:java|javax|org|com|net|io|kotlin|scala)\.[\w.$]+(?:exception|error)\b` +
	`|(?:[a-z_][\w]*\.)+[a-z]\w*(?:error|exception|timeout)\b(?:\W*$|:)` +
	`)`)

// reasons are the first words of the phrases that stand behind a status.
const reasons = `bad|unauthorized|payment|forbidden|not|page not|method|proxy|request|conflict|gone|length|precondition` +
	`|content|payload|uri|unsupported|range|expectation|unprocessable|locked|failed|too|upgrade|unavailable|internal` +
	`|client|server|service|gateway|http|insufficient|loop|network|overloaded|error`

// mention is the beginning of a text that has the words of a report and is none: a report of
// no failure, a setting, a rule, or what somebody else said.
var mention = regexp.MustCompile(`(?i)^(?:` +
	`[^\w<]*[\w ]{1,40}[:=]+ *['"]?(?:(?:none|no|null|nil|0+|ok|success|n/?a|false|undefined|-|no (?:error|failure)s?)` +
	`['"]? *(?:$|[\r\n,;.])|['"]?\s*$)` +
	`|\W*(?:[\w ]{1,20} )?time-?out(?:s|\W)* *[0-9.]+ ?[a-z]{0,12}\W*$` +
	`|\W*(?:0|no|none|nothing|zero)\b[\w ]* failed\b` +
	`|[\w ]*\b(?:says?|said|report(?:s|ed)|claim(?:s|ed)|wrote)\b[\w ]* failed\b` +
	`|\W*(?:cannot|could not) be\b)`)

// command is the beginning of an error of Go's or of a shell: what was done, and to what.
var command = regexp.MustCompile(`(?i)^(?:(?:get|post|put|patch|delete|head) "[^"]*"` +
	`|(?:dial|read|write|lookup|listen|accept) (?:tcp|udp|unix|ip)\w* [^:]*\S*|lookup \S+` +
	`|(?:open|stat|lstat|mkdir|remove|rename|readdir|unlink|chdir|exec|fork/exec|read|write) ["/.]\S*` +
	`|exec: "[^"]*"|(?:sql|pq|driver|json|xml|yaml|x509|tls|net/http|http|context|strconv\.\w+|runtime)` +
	`|(?:bash|sh|zsh|curl|rm|cp|mv|cat|ls|make|git|ssh|docker|kubectl|python3?|node)): `)

// doubtful reports whether a text has a word of failure or of doubt anywhere.
func doubtful(s string) bool {
	if slices.ContainsFunc(withoutSpaces, func(w string) bool { return strings.Contains(s, w) }) {
		return true
	}
	before := ""
	for word := range strings.FieldsFuncSeq(apostrophes.Replace(strings.ToLower(s)), isBetweenWords) {
		if isDoubt(before, word) {
			return true
		}
		before = word
	}
	return false
}

// isBetweenWords reports whether a character belongs to no word. One of a script that puts no spaces between words does
// not: see withoutSpaces.
func isBetweenWords(r rune) bool {
	return !unicode.IsLetter(r) || r >= 0x2e80
}

var apostrophes = strings.NewReplacer("'", "", "’", "") // can't, didn’t

// isDoubt reports whether a word, in small letters, tells of failure or doubt behind the one
// before it.
func isDoubt(before, word string) bool {
	w := words()
	if w.doubts[word] ||
		slices.ContainsFunc(w.stems[word[0]], func(stem string) bool { return strings.HasPrefix(word, stem) }) {
		return true
	}
	if len(word) > 7 && slices.ContainsFunc(w.ends, func(end string) bool { return strings.HasSuffix(word, end) }) {
		return true // TimeoutError, ECONNREFUSED
	}
	return slices.Contains(w.pairs[before], word) || before == "not" && strings.HasSuffix(word, "ed")
}

// A vocabulary has the words of failure and doubt, in the languages that tools were seen to speak.
type vocabulary struct {
	doubts map[string]bool
	stems  [256][]string // by their first byte
	ends   []string
	pairs  map[string][]string // a word, and those behind it
}

var words = sync.OnceValue(makeWords)

func makeWords() *vocabulary {
	return &vocabulary{
		doubts: set(`oops sorry insufficient unable cannot cant couldnt wont didnt wasnt isnt doesnt shouldnt eof
		enoent eacces eperm epipe eexist erro erreur errore fout denegado rejeitado sqlstate stderr killed nack
		nullpointerexception misbehaving gone tempo esgotado esaurito dropped misconfigured offline unclear
		unsure uncertain perhaps maybe possibly probably unverified unconfirmed already goaway enospc emfile ebusy
		eagain exhausted temporarily skipped introuvable nexiste`),
		stems: byFirst(strings.Fields(`fail fehl error excepti traceb panic fatal abort timeout timedout deadlin refus reject
		declin denied deny forbid unauth invalid illegal unavail unreach unknown unsupport unexpect unrecogn
		unprocess unhandl expir exceed throttl overload conflict duplic locked deadlock corrupt crash segment
		interrupt cancel terminat malform misses broken violat blocked disconnect échou échec expiré zeitüber
		zugriffs verweig ungült abgelehnt fallo falló falla fallit falha agotad inváli rechaz mislukt ошиб невозм`)),
		ends: strings.Fields(`killed error exception timeout refused reset failure timedout fault`),
		pairs: map[string][]string{
			"bad":     {"request", "gateway", "connection", "credentials"},
			"circuit": {"breaker", "open"},
			"closed":  {"connection", "by"},
			"closes":  {"connection"},
			"core":    {"dumped"},
			"could":   {"not"},
			"did":     {"not"},
			"eai":     {"again"},
			"exit":    {"status", "code"},
			"hang":    {"up"},
			"has":     {"not"},
			"is":      {"closed", "not", "down", "busy", "missing"},
			"kein":    {"ergebnis", "treffer", "zugriff"},
			"kann":    {"nicht"}, "konnte": {"nicht"}, "konnten": {"nicht"}, "existiert": {"nicht"},
			"limit":   {"reached", "hit"},
			"may":     {"have", "not"},
			"might":   {"have", "not"},
			"missing": strings.Fields("required parameter argument field value key"),
			"must":    {"not"},
			"nicht":   strings.Fields("gefunden möglich erlaubt verfügbar erreichbar vorhanden durchgeführt zulässig"),
			"niet":    {"gevonden", "beschikbaar", "mogelijk", "gelukt"},
			"no": strings.Fields("such space route rows response result answer connection permission access longer se existe " +
				"existen hay encontrado encontrada pudo puede disponible"),
			"non": {"trouvé", "trovato"},
			"not": strings.Fields("found a an available possible sent able exist allowed be respond reach find process " +
				"complete enough valid done known open running ready"),
			"nil": {"pointer"}, "null": {"pointer"},
			"out":      {"of"},
			"please":   {"try", "retry"},
			"rate":     {"limit", "limited"},
			"reset":    {"by"},
			"resource": {"temporarily"},
			"retries":  {"reached"},
			"server":   {"busy", "closed", "down"},
			"stack":    {"overflow"},
			"time":     {"out"},
			"timed":    {"out"},
			"too":      strings.Fields("many large long busy late"),
			"try":      {"again"},
			"was":      {"not"},
			"went":     {"wrong"},
			"were":     {"not"},
		},
	}
}

// withoutSpaces are those of scripts that put no spaces between words.
var withoutSpaces = []string{"失败", "錯誤", "错误", "超时", "拒绝", "异常", "无法", "失敗", "エラー", "拒否", "できません", "오류", "실패"}

func byFirst(words []string) (m [256][]string) {
	for _, w := range words {
		m[w[0]] = append(m[w[0]], w)
	}
	return m
}

func set(words string) map[string]bool {
	m := make(map[string]bool)
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// BeforeWork reports whether a failure came before any work: the callee was not reached, or
// it refused the request.
func BeforeWork(status int, text string) bool {
	status = cmp.Or(status, retryable.StatusIn(text))
	if status == 408 || status >= 500 {
		return false
	}
	kind := KindOf(text)
	return status >= 400 || kind == Refused || kind == NoSuchHost || kind == Certificate ||
		retryable.Of(status, 0, text) == retryable.Permanent
}

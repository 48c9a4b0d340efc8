package redact

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// A pattern is a form of secrets. It is looked for only where one of its signs is, or with none
// where a scheme of credentials may be: most texts have no sign.
type pattern struct {
	key   bool // it is one of [Keys]
	signs []string
	form  *regexp.Regexp
	// clean judges a match; nil: all behind its first group goes.
	clean func(match string) string
}

// clean takes what looks like a secret out of a text.
func (rules Rules) clean(s string) string {
	// In their order: what one of them redacts is no match of those behind it.
	for _, p := range [...]pattern{
		{key: true, signs: []string{"-----BEGIN"}, form: pemBlock},
		{key: true, signs: []string{"://"}, form: userInfo, clean: func(string) string { return "://" + Marker + "@" }},
		{key: true, signs: []string{"://"}, form: webHook},
		{signs: []string{"</"}, form: element, clean: elementText},
		{signs: []string{"@"}, form: bareUserInfo, clean: loggedIn},
		{signs: []string{"-"}, form: flagValue, clean: flagged},
		{signs: []string{"?", "&", "%"}, form: queryValue},
		{key: true, signs: prefixes, form: prefixed},
		{form: scheme, clean: credentials},
	} {
		shows := func(sign string) bool { return strings.Contains(s, sign) }
		switch {
		case rules&Patterns == 0 && !(p.key && rules&Keys != 0):
		case p.signs == nil && !hasScheme(s):
		case p.signs != nil && !slices.ContainsFunc(p.signs, shows):
		case p.clean != nil:
			s = p.form.ReplaceAllStringFunc(s, p.clean)
		default:
			s = p.form.ReplaceAllString(s, "${1}"+Marker)
		}
	}
	if rules&Patterns != 0 {
		s = namedValues(s)
	}
	return s
}

// hasScheme reports whether a scheme of credentials may stand in s, in letters of any
// case.
func hasScheme(s string) bool {
	for i := 0; i+5 <= len(s); i++ {
		if s[i]|0x20 == 'b' && (strings.EqualFold(s[i:i+5], "basic") || strings.EqualFold(s[i:i+5], "beare")) {
			return true
		}
	}
	return false
}

var (
	// A block that was cut off goes to the end of the text.
	pemBlock = regexp.MustCompile(`-----BEGIN [A-Z0-9 ]+-----(?s:.*?)(?:-----END [A-Z0-9 ]+-----|$)`)
	// A name alone counts as a token if it is long: "ssh://git@" does not.
	userInfo = regexp.MustCompile(`(://)(?:[^\s/?#@:]*:[^\s/?#@]+|[^\s/?#@:\[]{16,})@`)
	// Without a scheme the match is narrower: "at 10:30 ann@example.com" has no password.
	bareUserInfo = regexp.MustCompile(`((?:^|[\s"'=,;(\[]))[A-Za-z0-9][A-Za-z0-9._%+-]*:[^\s:/@"'\[\]]+@`)
	// The path of a web hook is its password. Hosts that begin with hooks, or paths
	// with webhook in them: of Slack, Discord, Teams, Zapier, Mattermost, Telegram.
	webHook = regexp.MustCompile(`(?i)(https?://(?:[^\s/"'@]+@)?(?:hooks?\.[^\s/"']+/|[^\s/"']+/(?:[^\s"'?#]*/)?(?:[a-z0-9_-]*webhook[a-z0-9_-]*/|hooks/|bot[0-9]+:)))[^\s"'<>\[][^\s"'<>]*`)
	// A flag and its value, also as two texts of a JSON array.
	flagValue = regexp.MustCompile(`(?:^|[\s"'\[,])--?[A-Za-z][A-Za-z0-9_-]*(?:\s+|["'],?\s*["'])(?:"[^"]*"|'[^']*'|[^\s"',\]-][^\s"',\]]*)`)
	// Most prefixes are recognised anywhere. "sk-" and others of its kind must begin
	// a word, because words such as "task-" end so. An escape, as of a line end in JSON,
	// is none.
	prefixed = regexp.MustCompile(`((?:^|[^A-Za-z]|%[0-9A-Fa-f]{2}|\\[bfnrt]))(?:[sr]k[-_][A-Za-z0-9_-]{16,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}` +
		`|(?:npm|hf|gsk|r8)_[A-Za-z0-9]{16,}|(?:xai|tvly)-[A-Za-z0-9_-]{16,}|lsv2_(?:pt|sk)_[A-Za-z0-9_]{16,})` +
		`|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|gl(?:pat|dt|rt)-[A-Za-z0-9_-]{16,}|(?:AKIA|ASIA)[A-Z0-9]{12,}` +
		`|xox[a-z]-[A-Za-z0-9-]{8,}|xapp-[A-Za-z0-9-]{8,}|AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{16,}|whsec_[A-Za-z0-9+/=]{16,}` +
		`|shp(?:at|ca|pa|ss)_[A-Za-z0-9]{16,}|do[opr]_v1_[A-Za-z0-9]{16,}|pypi-[A-Za-z0-9_-]{16,}|hv[bs]\.[A-Za-z0-9_-]{16,}|AGE-SECRET-KEY-1[A-Z0-9]{16,}` +
		`|sha256~[A-Za-z0-9_-]{16,}|eyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*`)
	prefixes = []string{"sk-", "sk_", "rk-", "rk_", "SG.", "npm_", "hf_", "gsk_", "r8_",
		"xai-", "tvly-", "lsv2_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_",
		"github_pat_", "glpat-", "gldt-", "glrt-",
		"AKIA", "ASIA", "xox", "xapp-", "AIza", "ya29.", "whsec_", "eyJ", "shpat_", "shpca_", "shppa_", "shpss_",
		"_v1_", "pypi-", "hvs.", "hvb.", "AGE-SECRET-KEY-1", "sha256~"}
	// Values of a query that are credentials, though the names mean something else
	// elsewhere: the code of an authorisation, a ticket, an assertion.
	queryValue = regexp.MustCompile(`(?i)((?:[?&]|%3f|%26)(?:code|code_verifier|device_code|ticket|hmac|assertion|client_assertion|samlresponse|samlart|sas)(?:=|%3d))[^\s&#;"'<>\[\]%][^\s&#;"'<>\[\]]{5,}`)
	// An element of XML or HTML that holds text alone. A prefix of a name space does not count.
	element = regexp.MustCompile(`<(?:[A-Za-z0-9_.-]+:)?([A-Za-z_][A-Za-z0-9_.-]*)(?:\s(?:[^<>"']|"[^"<]*"|'[^'<]*')*)?>([^<]*[^<\s][^<]*)</(?:[A-Za-z0-9_.-]+:)?([A-Za-z_][A-Za-z0-9_.-]*)`)
	scheme  = regexp.MustCompile(`(?i)\b(?:bearer|basic)(?:\s|%20|\+|\\[tn])+[A-Za-z0-9._~+/=%-]{4,}`)
	// Names whose values are secrets, in lower case, without - and _.
	secretNames = []string{"token", "secret", "password", "passwd", "passphrase", "pwd", "apikey", "accesskey",
		"accesskeyid", "privatekey", "signingkey",
		"encryptionkey", "secretkey", "sessionkey", "accountkey", "sharedkey", "sshkey", "masterkey", "passcode", "jwt",
		"bearer", "credential", "credentials", "authorization", "auth", "cookie", "cookies", "sessionid", "sessid",
		"signature"}
	// Those that other words end in, such as bypass, so they stand alone or behind - or _.
	secretWords = []string{"pass", "sig", "otp"}
)

// elementText judges an element by its name: <password>x</.
func elementText(match string) string {
	at := element.FindStringSubmatchIndex(match)
	if name := match[at[2]:at[3]]; name != match[at[6]:at[7]] || !SecretName(name) {
		return match
	}
	return match[:at[4]] + Marker + match[at[5]:]
}

// loggedIn judges user:pass@: addresses of mail and the like look the same.
func loggedIn(match string) string {
	start := 0
	if strings.IndexByte("\t\r\n \"'=,;([", match[0]) >= 0 {
		start = 1
	}
	switch name, _, _ := strings.Cut(match[start:], ":"); strings.ToLower(name) {
	case "mailto", "sip", "sips", "acct", "xmpp":
		return match
	}
	return match[:start] + Marker + "@"
}

// flagged judges a flag with a value: --password x, -p x and -u user:pass.
func flagged(match string) string {
	start := strings.IndexByte(match, '-')
	end := start + strings.IndexAny(match[start:], " \t\n\f\r\"'") // what \s and the quotes match
	name := strings.TrimLeft(match[start:end], "-")
	value := end + len(match[end:]) - len(strings.TrimLeft(match[end:], " \t\n\f\r\"',"))
	closing := ""
	if last := match[len(match)-1]; last == '"' || last == '\'' {
		closing = string(last)
	}
	if name == "u" || name == "user" {
		if user, _, ok := strings.Cut(match[value:], ":"); ok {
			value += len(user) + 1
			name = "p"
		}
	}
	switch {
	case value == len(match), match[value] == '-', strings.HasPrefix(match[value:], done),
		name != "p" && !SecretName(name):
		return match
	}
	return match[:value] + Marker + closing
}

var joined = strings.NewReplacer("-", "", "_", "")

// maxName is longer than any of them with all their hyphens, in bytes.
const maxName = 32

// SecretName reports whether every value under this name is a secret: the name
// ends in one of the secret names.
func SecretName(s string) bool {
	s = s[max(0, len(s)-maxName):]
	for _, w := range secretWords {
		if at := len(s) - len(w); at >= 0 && strings.EqualFold(s[at:], w) && (at == 0 || !letter(s[at-1])) {
			return true
		}
	}
	s = strings.ToLower(joined.Replace(s))
	for _, n := range secretNames {
		if strings.HasSuffix(s, n) {
			return true
		}
	}
	return false
}

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// credentials judges a word behind "bearer" or "basic", which are also words of
// the language.
func credentials(match string) string {
	start := strings.LastIndexAny(match, " \t\n\r\v\f") + 1
	if start == 0 {
		start = strings.IndexAny(match, `%+\`)
	}
	secret := match[start:]
	if match[0] == 'b' || match[0] == 'B' {
		switch strings.ToLower(secret) {
		case "token", "tokens", "auth", "authentication", "authorization", "credentials", "usage", "header":
			return match
		}
	}
	if strings.EqualFold(match[:5], "basic") {
		plain, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(secret, "="))
		if err != nil || !strings.Contains(string(plain), ":") || !utf8.Valid(plain) {
			return match
		}
	}
	return match[:start] + Marker
}

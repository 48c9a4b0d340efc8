package redact

import (
	"regexp"
	"slices"
	"strings"
)

// A pattern is a form of secrets.
type pattern struct {
	key bool // it is one of [Keys]
	// signs are texts of which one is where a secret of this form is. Most texts have none, and the
	// form need not be looked for.
	signs []string
	// form matches a secret behind its first group, which stays. A second group is a name: that of a
	// secret, or there is none.
	form   *regexp.Regexp
	behind string         // the end of a match, which stays too
	unless *regexp.Regexp // it matches what has the form and is no secret; nil: nothing
}

// patterns are looked for in their order: what one of them redacts is no match of those behind it.
var patterns = [...]pattern{
	// A block that was cut off goes to the end of the text.
	{key: true, signs: []string{"-----BEGIN"}, form: regexp.MustCompile(
		`()-----BEGIN [A-Z0-9 ]+-----(?s:.*?)(?:-----END [A-Z0-9 ]+-----|$)`)},
	// A name alone counts as a token if it is long: "ssh://git@" does not.
	{key: true, signs: []string{"://"}, behind: "@", form: regexp.MustCompile(
		`(://)(?:[^\s/?#@:]*:[^\s/?#@]+|[^\s/?#@:\[]{16,})@`)},
	// The path of a web hook is its password. Hosts that begin with hooks, or paths
	// with webhook in them: of Slack, Discord, Teams, Zapier, Mattermost, Telegram.
	{key: true, signs: []string{"://"}, form: regexp.MustCompile(`(?i)(https?://(?:[^\s/"'@]+@)?(?:hooks?\.[^\s/"']+/|[^\s/"']+/` +
		`(?:[^\s"'?#]*/)?(?:[a-z0-9_-]*webhook[a-z0-9_-]*/|hooks/|bot[0-9]+:)))[^\s"'<>\[][^\s"'<>]*`)},
	// An element of XML or HTML that holds text alone. A prefix of a name space does not count.
	{signs: []string{"</"}, behind: "</", form: regexp.MustCompile(
		`(<(?:[\w.-]+:)?([A-Za-z_][\w.-]*)(?:\s(?:[^<>"']|"[^"<]*"|'[^'<]*')*)?>)[^<]*[^<\s][^<]*</`)},
	// Without a scheme user information is narrower: "at 10:30 ann@example.com" has no password.
	{signs: []string{"@"}, behind: "@", unless: regexp.MustCompile(`(?i)\b(?:mailto|sips?|acct|xmpp):`), form: regexp.MustCompile(
		`((?:^|[\s"'=,;(\[]))[A-Za-z0-9][A-Za-z0-9._%+-]*:[^\s:/@"'\[\]]+@`)},
	// A flag and its value, also as two texts of a JSON array. That of -u has a name before it.
	{signs: []string{"-"}, form: regexp.MustCompile(`((?:^|[\s"'\[,])--?(?:p|([A-Za-z][\w-]*))(?:\s+|["'],?\s*["']))` +
		`(?:"[^"]*"|'[^']*'|[^\s"',\[\]-][^\s"',\]]*)`)},
	{signs: []string{"-u"}, form: regexp.MustCompile(`((?:^|[\s"'\[,])--?u(?:ser)?(?:\s+|["'],?\s*["'])["']?` +
		`[^\s:"',\[\]-][^\s:"',\]]*:)[^\s"',\[\]][^\s"',\]]*`)},
	// Values of a query that are credentials, though the names mean something else
	// elsewhere: the code of an authorisation, a ticket, an assertion.
	{signs: []string{"?", "&", "%"}, form: regexp.MustCompile(`(?i)((?:[?&]|%3f|%26)(?:code|code_verifier|device_code|ticket|hmac|` +
		`assertion|client_assertion|samlresponse|samlart|sas)(?:=|%3d))[^\s&#;"'<>\[\]%][^\s&#;"'<>\[\]]{5,}`)},
	// Most prefixes are recognised anywhere. "sk-" and others of its kind must begin a word, because
	// words such as "task-" end so. An escape, as of a line end in JSON, is none.
	{key: true, signs: []string{
		"sk-", "sk_", "rk-", "rk_", "SG.", "npm_", "hf_", "gsk_", "r8_", "xai-", "tvly-", "lsv2_", "ghp_", "gho_",
		"ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "gldt-", "glrt-", "AKIA", "ASIA", "xox", "xapp-", "AIza",
		"ya29.", "whsec_", "eyJ", "shpat_", "shpca_", "shppa_", "shpss_", "_v1_", "pypi-", "hvs.", "hvb.",
		"AGE-SECRET-KEY-1", "sha256~",
	}, form: regexp.MustCompile(`((?:^|[^A-Za-z]|%[0-9A-Fa-f]{2}|\\[bfnrt]))(?:[sr]k[-_][\w-]{16,}|SG\.[\w-]{16,}\.[\w-]{16,}` +
		`|(?:npm|hf|gsk|r8)_[A-Za-z0-9]{16,}|(?:xai|tvly)-[\w-]{16,}|lsv2_(?:pt|sk)_\w{16,})` +
		`|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|gl(?:pat|dt|rt)-[\w-]{16,}|(?:AKIA|ASIA)[A-Z0-9]{12,}` +
		`|xox[a-z]-[A-Za-z0-9-]{8,}|xapp-[A-Za-z0-9-]{8,}|AIza[\w-]{30,}|ya29\.[\w-]{16,}|whsec_[A-Za-z0-9+/=]{16,}` +
		`|shp(?:at|ca|pa|ss)_[A-Za-z0-9]{16,}|do[opr]_v1_[A-Za-z0-9]{16,}|pypi-[\w-]{16,}|hv[bs]\.[\w-]{16,}` +
		`|AGE-SECRET-KEY-1[A-Z0-9]{16,}|sha256~[\w-]{16,}|eyJ[\w-]{4,}\.[\w-]{4,}\.[\w-]*`)},
	// Credentials of HTTP. What is behind "basic" and has small letters alone is a word.
	{signs: []string{"ear", "EAR", "asic", "ASIC"}, form: regexp.MustCompile(
		`((?i:\b(?:bearer|basic))(?:\s|%20|\+|\\[tn])+)[A-Za-z0-9._~+/=%-]{4,}`), unless: regexp.MustCompile(
		`^(?i:bearer)\W+(?i:tokens?|auth|authentication|authorization|credentials|usage|header)$|` +
			`^(?i:basic)(?:\W|%20)+(?:[A-Z]?[a-z]+|\w*[.~_-].*)$`)},
}

// clean takes what looks like a secret out of a text.
func (rules Rules) clean(s string) string {
	for _, p := range patterns {
		shows := func(sign string) bool { return strings.Contains(s, sign) }
		if (rules&Patterns != 0 || p.key && rules&Keys != 0) && slices.ContainsFunc(p.signs, shows) {
			s = p.clean(s)
		}
	}
	if rules&Patterns != 0 {
		s = namedValues(s)
	}
	return s
}

func (p pattern) clean(s string) string {
	var b strings.Builder
	from := 0 // all before it is written
	for _, at := range p.form.FindAllStringSubmatchIndex(s, -1) {
		named := len(at) > 4 && at[4] >= 0
		if named && !SecretName(s[at[4]:at[5]]) || p.unless != nil && p.unless.MatchString(s[at[0]:at[1]]) {
			continue
		}
		b.WriteString(s[from:max(at[0], at[3])] + Marker + p.behind)
		from = at[1]
	}
	return b.String() + s[from:]
}

// Names whose values are secrets, in lower case, without - and _. Other words end in those of
// secretWords, such as bypass, so they stand alone or behind a sign.
var (
	secretNames = []string{"token", "secret", "password", "passwd", "passphrase", "pwd", "apikey", "accesskey",
		"accesskeyid", "privatekey", "signingkey", "encryptionkey", "secretkey", "sessionkey",
		"accountkey", "sharedkey", "sshkey", "masterkey", "passcode", "jwt", "bearer",
		"credential", "credentials", "authorization", "auth", "cookie", "cookies", "sessionid",
		"sessid", "signature"}
	secretWords = regexp.MustCompile(`(?:^|[^A-Za-z])(?i:pass|sig|otp)$`)
	joined      = strings.NewReplacer("-", "", "_", "")
)

// wordEnds are the last bytes of what secretWords matches; the last one is that of the long s.
const wordEnds = "sSgGpP\xbf"

// maxName is longer than any of them with all their hyphens, in bytes.
const maxName = 32

// SecretName reports whether every value under this name is a secret: the name
// ends in one of the secret names.
func SecretName(s string) bool {
	s = s[max(0, len(s)-maxName):]
	plain := strings.ToLower(joined.Replace(s))
	return slices.ContainsFunc(secretNames, func(name string) bool { return strings.HasSuffix(plain, name) }) ||
		s != "" && strings.IndexByte(wordEnds, s[len(s)-1]) >= 0 && secretWords.MatchString(s)
}

package redact_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/internal/redact"
)

// all is a redactor that knows no secret, and the usual forms.
var all = redact.New(nil, redact.Patterns)

func TestPatterns(t *testing.T) {
	const jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"
	for text, want := range map[string]string{
		// credentials of HTTP
		"Authorization: Bearer abc.def-123":                                           "Authorization: [redacted]",
		"authorization: bearer abc123; then":                                          "authorization: [redacted]",
		`header "Authorization: Basic YW5uOnNlY3JldA==" x`:                            `header "Authorization: [redacted]" x`,
		"sent Bearer s3cr3t-value to it":                                              "sent Bearer [redacted] to it",
		"sent Basic YW5uOnNlY3JldA== to it":                                           "sent Basic [redacted] to it",
		"Cookie: a=1; session=abc":                                                    "Cookie: [redacted]",
		"Set-Cookie: id=7; HttpOnly\nHost: x":                                         "Set-Cookie: [redacted]\nHost: x",
		"https://ann:pa55word@example.com/x":                                          "https://[redacted]@example.com/x",
		"postgres://u:p%40ss@db:5432/x?sslmode=on":                                    "postgres://[redacted]@db:5432/x?sslmode=on",
		"psql ann:pa55word@db:5432/x":                                                 "psql [redacted]@db:5432/x",
		"DSN=ann:pa55word@tcp(db:3306)/x":                                             "DSN=[redacted]@tcp(db:3306)/x",
		`{"cookie":"sid=abc; theme=x","n":1}`:                                         `{"cookie":"[redacted]","n":1}`,
		`Authorization: Digest username="ann", response="6629fae4", x`:                "Authorization: [redacted]",
		`{"headers":"Authorization: Digest username=\"ann\", response=\"66\"","n":1}`: `{"headers":"Authorization: [redacted]","n":1}`,
		"clone https://0123456789abcdef0123@example.com/x.git":                        "clone https://[redacted]@example.com/x.git",
		"PHPSESSID=abc; JSESSIONID=def":                                               "PHPSESSID=[redacted]; JSESSIONID=[redacted]",
		// flags of commands
		"mysql --password hunter2 -h db":         "mysql --password [redacted] -h db",
		"mysql --password=hunter2 -h db":         "mysql --password=[redacted] -h db",
		"sshpass -p hunter2 ssh db":              "sshpass -p [redacted] ssh db",
		"sshpass -p 'two words' ssh db":          "sshpass -p [redacted] ssh db",
		"login --token\fabc":                     "login --token\f[redacted]",
		`run "--api-key" "abc" x`:                `run "--api-key" "[redacted]" x`,
		`["login","--token","abc","-v"]`:         `["login","--token","[redacted]","-v"]`,
		`["sshpass","-p","abc"]`:                 `["sshpass","-p","[redacted]"]`,
		"curl -u ann:hunter2 https://x":          "curl -u ann:[redacted] https://x",
		"gh --token abc --verbose":               "gh --token [redacted] --verbose",
		"docker login --password-stdin -u ann x": "docker login --password-stdin -u ann x",
		// queries
		"GET /cb?code=SplxlOBeZQQYbYS&state=x":      "GET /cb?code=[redacted]&state=x",
		"https://x/cb?state=x&code=123456":          "https://x/cb?state=x&code=[redacted]",
		"?ticket=ST-1856339-aA5Yuvrxzpv8Tau1cYQ7":   "?ticket=[redacted]",
		"next=%2Fcb%3Fcode%3DSplxlOBeZQQ":           "next=%2Fcb%3Fcode%3D[redacted]",
		"POST SAMLResponse: ?SAMLResponse=PHNhbWw+": "POST SAMLResponse: ?SAMLResponse=[redacted]",
		// web hooks
		"https://hooks.slack.com/services/T0/B0/abcDEF":        "https://hooks.slack.com/[redacted]",
		"post https://hooks.slack-gov.com/services/T0/B0/x ok": "post https://hooks.slack-gov.com/[redacted] ok",
		"https://discord.com/api/webhooks/123/abc-DEF":         "https://discord.com/api/webhooks/[redacted]",
		"https://acme.webhook.office.com/webhookb2/a@b/I/c/d":  "https://acme.webhook.office.com/webhookb2/[redacted]",
		"https://hooks.zapier.com/hooks/catch/1/abc/":          "https://hooks.zapier.com/[redacted]",
		"https://chat.example.com/hooks/abcdef":                "https://chat.example.com/hooks/[redacted]",
		"https://api.telegram.org/bot123:ABC-def/sendMessage":  "https://api.telegram.org/bot123:[redacted]",
		// PEM
		"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE----- x":      "[redacted] x",
		"-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIB cut":                     "[redacted]",
		`"-----BEGIN PGP MESSAGE-----\nab\n-----END PGP MESSAGE-----" and on`: `"[redacted]" and on`,
		// names and values
		"password=hunter2":                  "password=[redacted]",
		"PASSWORD = hunter2, next":          "PASSWORD = [redacted], next",
		"db_password: hunter2":              "db_password: [redacted]",
		"pass=abc db_pass: def DB-PASS=ghi": "pass=[redacted] db_pass: [redacted] DB-PASS=[redacted]",
		"?sv=1&sig=abc%3D&se=2":             "?sv=1&sig=[redacted]&se=2",
		"?X-Amz-Signature=abc&x=1":          "?X-Amz-Signature=[redacted]&x=1",
		"AccountName=x;AccountKey=abc==;E=": "AccountName=x;AccountKey=[redacted];E=",
		"api-key=abc&x=1":                   "api-key=[redacted]&x=1",
		"?access_token=abc&x=1":             "?access_token=[redacted]&x=1",
		"token%3Dabc":                       "token%3D[redacted]",
		`secret="two words" x`:              `secret="[redacted]" x`,
		`secret='two "words' x`:             `secret='[redacted]' x`,
		`passwd="never closed`:              `passwd="[redacted]"`,
		"token := abc x":                    "token := [redacted] x",
		`"token" => "abc"`:                  `"token" => "[redacted]"`,
		"tokentoken: abc":                   "tokentoken: [redacted]",
		"client.secret=abc":                 "client.secret=[redacted]",
		"AWS_SECRET_ACCESS_KEY=abc/def+ghi": "AWS_SECRET_ACCESS_KEY=[redacted]",
		// JSON
		`{"token":"abc","n":1}`:                         `{"token":"[redacted]","n":1}`,
		`{"api_key" : "a\"b", "n":1}`:                   `{"api_key" : "[redacted]", "n":1}`,
		`{"password":12345}`:                            `{"password":[redacted]}`,
		`{"credentials":{"user":"a","pass":"b"},"n":1}`: `{"credentials":[redacted],"n":1}`,
		`{"tokens":1,"secret":["a","b"]}`:               `{"tokens":1,"secret":[redacted]}`,
		`"{\"token\":\"abc\",\"n\":1}"`:                 `"{\"token\":\"[redacted]\",\"n\":1}"`,
		`"{\"token\":\"a\\\"b\",\"n\":1}"`:              `"{\"token\":\"[redacted]\",\"n\":1}"`,
		// Markdown
		"**Password:** hunter2":      "**Password:** [redacted]",
		"**password**: `hunter2`, x": "**password**: [redacted], x",
		"- `api_key`: abc":           "- `api_key`: [redacted]",
		// XML and HTML
		"<password>x</password>":                                  "<password>[redacted]</password>",
		"<db><Password enc='no'>two words\nmore</Password ></db>": "<db><Password enc='no'>[redacted]</Password ></db>",
		"<wsse:Password Type=\"a>b\">x</wsse:Password>":           "<wsse:Password Type=\"a>b\">[redacted]</wsse:Password>",
		"<api-key>a&amp;b</api-key><page>7</page>":                "<api-key>[redacted]</api-key><page>7</page>",
		"<password>a</password><password>b</password>":            "<password>[redacted]</password><password>[redacted]</password>",
		`<user name="ann" password="x y" />`:                      `<user name="ann" password="[redacted]" />`,
		// prefixes
		"key sk-abcdefghijklmnop1234 used":               "key [redacted] used",
		"sk-ant-api03-abcdefghijklmnop":                  "[redacted]",
		"vault hvs.abcdefghijklmnop1234":                 "vault [redacted]",
		"dop_v1_0123456789abcdef pypi-AgEIcHlwaS5vcmcCJ": "[redacted] [redacted]",
		"shpat_0123456789abcdef0":                        "[redacted]",
		"AGE-SECRET-KEY-1QQPQYSZ0123456789ABC":           "[redacted]",
		"sha256~abcdefghijklmnop":                        "[redacted]",
		"sk_live_abcdefghijklmnop1234":                   "[redacted]",
		"ghp_0123456789abcdef0123":                       "[redacted]",
		"xghp_0123456789abcdef0123":                      "x[redacted]",
		"github_pat_11ABCDEFG0123456789_abc":             "[redacted]",
		"glpat-abcdefghij0123456789":                     "[redacted]",
		"AKIAIOSFODNN7EXAMPLE":                           "[redacted]",
		"ASIAIOSFODNN7EXAMPLE,":                          "[redacted],",
		"xoxb-123456789012-abcdef":                       "[redacted]",
		"AIzaSyA0123456789abcdefghijklmnopqrstuv":        "[redacted]",
		"npm_abcdefghijklmnop1234":                       "[redacted]",
		"hf_abcdefghijklmnop1234":                        "[redacted]",
		"gsk_abcdefghijklmnop1234":                       "[redacted]",
		"r8_abcdefghijklmnop1234":                        "[redacted]",
		"key=xai-abcdefghijklmnop1234":                   "key=[redacted]",
		"tvly-dev-abcdefghijklmnop1234":                  "[redacted]",
		"lsv2_pt_0123456789abcdef0123_456789":            "[redacted]",
		"hr8_abcdefghijklmnop1234":                       "hr8_abcdefghijklmnop1234",
		"see " + jwt + ".":                               "see [redacted].",
		"-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----\nx": "[redacted]\nx",
		"-----BEGIN PRIVATE KEY-----\nMII cut off":                               "[redacted]",
		// what stands in sentences, and what only a parser of markup or of one command would find
		"the password is hunter2.":                    "the password is hunter2.",
		"mysql -phunter2":                             "mysql -phunter2",
		"<credentials><user>ann</user></credentials>": "<credentials><user>ann</user></credentials>",
		`<property name="db.password">x</property>`:   `<property name="db.password">x</property>`,
		// what is none
		"":                                                    "",
		"the password is required":                            "the password is required",
		"the password is wrong, try again":                    "the password is wrong, try again",
		"reset your password":                                 "reset your password",
		"Forgot your password? Reset it.":                     "Forgot your password? Reset it.",
		"the password field and its rules":                    "the password field and its rules",
		"login <user> <password>, then </exit>":               "login <user> <password>[redacted]</exit>",
		"<password></password><token/>":                       "<password></password><token/>",
		"<password> <b>x</b>":                                 "<password> <b>x</b>",
		`<label for="f">Password</label>`:                     `<label for="f">Password</label>`,
		`<a href="/reset">your password</a>`:                  `<a href="/reset">your password</a>`,
		`<input name="page" value="7"/>`:                      `<input name="page" value="7"/>`,
		"if a <password </b>":                                 "if a <password </b>",
		"1 < 2 and </b> 3 > 2":                                "1 < 2 and </b> 3 > 2",
		"<compass>north</compass>":                            "<compass>north</compass>",
		"password=***":                                        "password=***",
		"the cookie is 3 days old":                            "the cookie is 3 days old",
		"the answer is 42424242":                              "the answer is 42424242",
		"go test -parallel 4 -path x":                         "go test -parallel 4 -path x",
		"GET /errors?code=404":                                "GET /errors?code=404",
		"exit code=1234567":                                   "exit code=1234567",
		"no rooms left on floor 3":                            "no rooms left on floor 3",
		"max_tokens=4096":                                     "max_tokens=4096",
		"tokens: 12":                                          "tokens: 12",
		"token_count=7":                                       "token_count=7",
		"author=Ann":                                          "author=Ann",
		"authored: yesterday":                                 "authored: yesterday",
		"basic usage of the bearer token":                     "basic usage of the bearer token",
		"Basic authentication is on":                          "Basic authentication is on",
		"the secret of success":                               "the secret of success",
		"risk-assessment-of-the-day":                          "risk-assessment-of-the-day",
		"task-0123456789abcdef0123":                           "task-0123456789abcdef0123",
		"sk-learn":                                            "sk-learn",
		"bypass=on compass: north laptop=1":                   "bypass=on compass: north laptop=1",
		"ssh://git@example.com/x.git":                         "ssh://git@example.com/x.git",
		"https://example.com:8080/path?x=1":                   "https://example.com:8080/path?x=1",
		"mailto:ann@example.com":                              "mailto:ann@example.com",
		"10:15:00 key=value":                                  "10:15:00 key=value",
		"eyJust.a.word":                                       "eyJust.a.word",
		`tool x missing required scope(s): a (granted: none)`: `tool x missing required scope(s): a (granted: none)`,
	} {
		assert.Equal(t, want, all.Text(text), text)
	}
}

// A secret that is recognised by its place is removed whatever stands around it,
// and a second pass finds nothing more.
func TestTheLawsOfRedaction(t *testing.T) {
	shapes := []func(string) string{
		func(s string) string { return "password=" + s },
		func(s string) string { return "X-Api-Key: " + s },
		func(s string) string { return "Bearer " + s },
		func(s string) string { return `{"client_secret":"` + s + `"}` },
		func(s string) string { b, _ := json.Marshal(`{"client_secret":"` + s + `"}`); return string(b) },
		func(s string) string { return "https://u:" + s + "@host/" },
		func(s string) string { return "--password " + s },
		func(s string) string { return `["-p","` + s + `"]` },
		func(s string) string { return "-u ann:" + s },
		func(s string) string { return "?code=" + s },
		func(s string) string { return "ann:" + s + "@db" },
		func(s string) string { return "https://hooks.slack.com/services/" + s },
		func(s string) string { return "-----BEGIN RSA PRIVATE KEY-----\n" + s },
		func(s string) string { return "ghp_" + s },
		func(s string) string { return "<api_key>" + s + "</api_key>" },
		func(s string) string { return "xoxb-" + s },
	}
	around := rapid.StringOfN(rapid.SampledFrom([]rune("ab =:\"'{}[],;\\\n\t%3D&éſ-_.token<>/")), 0, 30, -1)
	rapid.Check(t, func(r *rapid.T) {
		secret := rapid.StringMatching(`[a-z]{4}[0-9]{4}[A-Z]{4}[a-z0-9]{8}`).Draw(r, "secret")
		shape := rapid.SampledFrom(shapes).Draw(r, "shape")
		text := around.Draw(r, "before") + " " + shape(secret) + " " + around.Draw(r, "after")
		got := all.Text(text)
		if strings.Contains(got, secret) {
			r.Fatalf("%q leaks into %q", secret, got)
		}
		if again := all.Text(got); again != got {
			r.Fatalf("not idempotent: %q, then %q", got, again)
		}
	})
}

func FuzzRedact(f *testing.F) {
	for _, s := range []string{"token=a", `{"token":"a\"b"}`, `secret=\"x`, "Bearer aaaa", "://a:b@", "cookie: x\r\n", "auth==[[", "password=[redacted]x", "token=token=a", "password is a1b2", "mysql -pa", "?code=123456",
		"<password>a</password>", "<token><a>b</a></token>", `<add key="pwd" value="a"/>`, "<a:pass x='>'>b</a:pass", "**token:** *a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := all.Text(s)
		if again := all.Text(got); again != got {
			t.Fatalf("not idempotent: %q, then %q, then %q", s, got, again)
		}
		if len(got) > 4*len(s)+64 {
			t.Fatalf("%d bytes became %d", len(s), len(got))
		}
	})
}

// Keys leave alone what is a secret by its name or by the words around it.
func TestKeys(t *testing.T) {
	keys := redact.New(nil, redact.Keys)
	for text, want := range map[string]string{
		"sk-abcdefghijklmnopqrst":                                "[redacted]",
		`{"token":"ghp_abcdefghijklmnopqrst"}`:                   `{"token":"[redacted]"}`,
		`x\nsk-abcdefghijklmnopqrst\ny`:                          `x\n[redacted]\ny`,
		"https://ann:pa55word@example.com/x":                     "https://[redacted]@example.com/x",
		"https://hooks.slack.com/services/T0/B0/XXXX":            "https://hooks.slack.com/[redacted]",
		"-----BEGIN KEY-----\nx\n-----END KEY-----":              "[redacted]",
		`{"token":"Hello","password":"x","Authorization":"y z"}`: `{"token":"Hello","password":"x","Authorization":"y z"}`,
		"the password is hunter2, mysql -phunter2":               "the password is hunter2, mysql -phunter2",
		"the bearer arrived":                                     "the bearer arrived",
		"task-abcdefghijklmnopqrst":                              "task-abcdefghijklmnopqrst",
	} {
		assert.Equal(t, want, keys.Text(text))
		assert.Equal(t, want, keys.Text(want), "once is enough")
	}
}

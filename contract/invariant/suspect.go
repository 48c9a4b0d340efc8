package invariant

import (
	"encoding/base64"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/prose"
)

// doubts gives reasons why a finding may not be personal.
type doubts struct {
	role, company, tollFree, product, cards, version *regexp.Regexp
	build, dummy, part, line                         *regexp.Regexp
	documentation                                    []netip.Prefix
}

func newDoubts() doubts {
	return doubts{
		role: regexp.MustCompile(`^(?:(?:customer|kunden|shop|order|bestell|web|post|data|it|hr|tech|user|` +
			`client|servicio)?[._\-]?(?:support|help|helpdesk|info|service|kundenservice|kundendienst|hilfe|` +
			`kontakt|contact|contacto|noreply|no-reply|donotreply|do-not-reply|privacy|datenschutz|dsb|dpo|` +
			`rgpd|press|presse|prensa|sales|vertrieb|ventes|ventas|billing|rechnung|facturation|facturacion|` +
			`hello|hallo|bonjour|hola|team|office|buero|aide|ayuda|soporte|atencion|atencioncliente|` +
			`atencionalcliente|clientes|clients|serviceclient|sav|admin|security|abuse|legal|feedback|` +
			`orders?|bestellung|commandes?|pedidos|returns|retouren|retours|devoluciones|claims|care|` +
			`jobs|careers|marketing|newsletter|webmaster|postmaster|master|git|mail|desk|protection|` +
			`reservations?|booking|accounts?|payments?))(?:[._+\-]\w+)?@`),
		company: regexp.MustCompile(`hotline|help ?line|support|customer (?:service|care)|service (?:desk|` +
			`team|line|center|centre)|help ?desk|call cent|our (?:\w+ )?(?:team|office|number|desk|line)|` +
			`kunden(?:service|dienst|betreuung|hotline)|service-?(?:team|hotline|nummer)|\bunser\w*|zentrale|` +
			`notre|service (?:client|clients|apres)|standard|numero vert|atencion al|servicio (?:de|al)|` +
			`nuestr\w+|central(?:ita)?\b|emergency|notruf|urgenc|police`),
		tollFree: regexp.MustCompile(`^(?:\+?1?[ .\-]?\(?8(?:00|33|44|55|66|77|88)|0 ?[89]00|0[89]0[0-9]|` +
			`\+[0-9]{2,3} ?\(?0?\)?[89]00|[89]0[0-9] ?[0-9]{3}|900)`),
		product: regexp.MustCompile(`ean|gtin|isbn|upc|barcode|bar code|strichcode|code-barres|` +
			`codigo de barras|artikel|article|articulo|sku|product|produkt|produit|tracking|sendung|suivi|` +
			`seguimiento|serial|seriennummer|imei|order|bestell|commande|pedido|referen|ticket|invoice|` +
			`rechnung|facture|factura`),
		cards:   regexp.MustCompile(`card|karte|carte|tarjeta|visa|kredit|credit|debit|pago|zahlung|payment|paiement`),
		version: regexp.MustCompile(`(?:version|release|build|update|firmware|v|kernel|driver|treiber|patch)\W*$`),
		build: regexp.MustCompile(`(?:version|release|build|update|firmware|patch|pa[ck]+et|package|paquete?|` +
			`fassung|image|sdk|plugin|modul\w*|library|bibliothek|app|client|agent)\b[^.\n]{0,12}$`),
		dummy: regexp.MustCompile(`^(?:(?:your|you|ihr|dein|votre|tu|su)?[._\-]?(?:name|username|user|email|mail|` +
			`address|vorname|nachname|nom|prenom|nombre|apellido|usuario|benutzer|benutzername|utilisateur|` +
			`adresse|correo|someone|somebody|test|example|exemple|beispiel|ejemplo|foo|bar|me|you|xyz|` +
			`abc))(?:[._\-](?:name|nachname|surname|lastname|nom|` +
			`apellido|here))?@|^(?:max|erika)[._]?musterm\w+@|^(?:john|jane)[._]?(?:doe|smith)@|^jean[._]?dupont@|` +
			`^juan[._]?perez@|^fulano`),
		part: regexp.MustCompile(`[a-z]-$`),
		line: regexp.MustCompile(`(?:tel|telefon|phone|fax|mobil\w*|handy|cell|fon)-$`),
		documentation: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.51.100.0/24"),
			netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("2001:db8::/32"),
			netip.MustParsePrefix("3fff::/20")},
	}
}

func (d doubts) email(finding, before string) string {
	switch {
	case strings.Contains(before, "://") && !strings.ContainsAny(before[strings.LastIndex(before, "://"):], " \t<>\"'"):
		return "the user name or password of an address on the web"
	case d.role.MatchString(prose.Flat(finding, prose.ShapeWords)):
		return "the mailbox of a role"
	case reserved(finding) && d.dummy.MatchString(prose.Flat(finding, prose.ShapeWords)):
		return "it stands for any address (RFC 2606)"
	}
	return ""
}

func (d doubts) card(finding, before string) string {
	n := len(digits(finding))
	before = prose.Flat(before, prose.ShapeWords)
	switch {
	case d.product.MatchString(before) && !d.cards.MatchString(before):
		return "the number of a product, a parcel or an order"
	case n == 13 && !d.cards.MatchString(before):
		return "it may be a product code (GTIN)"
	}
	return ""
}

func (d doubts) phone(finding, before string) string {
	switch before = prose.Flat(before, prose.ShapeWords); {
	case d.part.MatchString(before) && !d.line.MatchString(before):
		return "it may be part of an identifier"
	case d.tollFree.MatchString(finding):
		return "a number of companies"
	case d.company.MatchString(before):
		return "it may be the company's own"
	case d.product.MatchString(before):
		return "the number of a product, a parcel or an order"
	}
	return ""
}

func (d doubts) ip(finding, before string) string {
	ip, err := netip.ParseAddr(finding)
	before = prose.Flat(before, prose.ShapeWords)
	switch {
	case err == nil && slices.ContainsFunc(d.documentation, func(p netip.Prefix) bool { return p.Contains(ip) }):
		return ofExamples
	case d.version.MatchString(before):
		return aVersion
	case d.build.MatchString(before):
		return "it may be a version"
	}
	return ""
}

// The doubts with which a finding is certainly not personal.
const (
	aVersion      = "a version"
	ofExamples    = "an address for documentation (RFC 5737, RFC 3849)"
	exampleInCode = "an address for documentation (RFC 2606) in code"
)

// isHarmless reports whether a finding with the doubt is certainly not personal.
func isHarmless(doubt string) bool {
	return doubt == aVersion || doubt == ofExamples || doubt == exampleInCode
}

// A suspicion is a form that personal data may have, and what it would be.
type suspicion struct {
	kind PII // "": none of the kinds
	form *prose.Matcher
	why  string
	// needs has texts in lower case of which every finding contains at least one; nil: it
	// need not.
	needs []string
	// digits is the least number of digits that a finding has in a row.
	digits int
}

// suspicions finds what may be personal data, outside of what the detectors found.
type suspicions struct {
	list     []suspicion
	harmless *prose.Matcher
	named    *regexp.Regexp // words that say what a long number identifies
	base64   *regexp.Regexp
	wire     *regexp.Regexp
}

// firstNames are common in the four languages. A capitalised word behind one is taken
// for a surname.
const firstNames = `Anna|Anne|Maria|María|Marie|Julia|Laura|Sarah|Sara|Lisa|Lena|Lea|Léa|Emma|Mia|Sophie|Sofía|` +
	`Sofia|Lucía|Lucia|Carmen|Elena|Helena|Hélène|Claire|Camille|Chloé|Manon|Juliette|Isabelle|Isabel|Ana|` +
	`Marta|Paula|Jane|Mary|Emily|Olivia|Alice|Susan|Linda|Karen|Nancy|Jennifer|Jessica|Katharina|Sabine|` +
	`Petra|Monika|Ursula|Heike|Nina|Jana|` +
	`John|James|Robert|Michael|William|David|Richard|Thomas|Charles|Daniel|Matthew|Mark|Paul|Peter|Andrew|` +
	`Steven|George|Kevin|Brian|Edward|Bob|Tom|Max|Felix|Lukas|Jonas|Leon|Finn|Jan|Stefan|Andreas|` +
	`Christian|Martin|Klaus|Hans|Jürgen|Uwe|Wolfgang|Markus|Tobias|Sebastian|Florian|Alexander|` +
	`Jean|Pierre|Michel|André|Philippe|Louis|Nicolas|Julien|Antoine|Luc|Hugo|Lucas|Mathieu|Olivier|François|` +
	`José|Juan|Antonio|Manuel|Francisco|Javier|Carlos|Miguel|Pedro|Pablo|Luis|Jorge|Alberto|Diego|Sergio|` +
	`Fernando|Álvaro|Rafael`

func newSuspicions() suspicions {
	street := `(?:[Ss]treet|St\.|[Aa]venue|Ave\.?|[Rr]oad|Rd\.?|[Ll]ane|Ln\.|[Dd]rive|Dr\.|[Bb]oulevard|` +
		`Blvd\.?|[Cc]ourt|[Ww]ay|[Ss]quare|[Tt]errace|[Cc]lose|[Pp]lace)\b`
	return suspicions{
		harmless: prose.NewMatcher(`[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9:.]+Z?)?|`+
			`[0-9]{1,2}[./\-][0-9]{1,2}[./\-][0-9]{2,4}|[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?|`+
			`[0-9]{1,3}(?:[., '][0-9]{3})+[.,][0-9]{2}\b|[0-9]{1,3}(?:[., '][0-9]{3})+ ?(?:€|\$|£|EUR|USD|`+
			`GBP|CHF)|[€$£] ?[0-9]{1,3}(?:[., '][0-9]{3})+|`+
			// Up to four digits at the end of a masked number identify nobody.
			`(?:[*•·xX#]{2,}[ \-]?){1,5}[0-9]{2,4}\b|…[0-9]{2,4}\b|`+
			`[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|https?://[^\s]+|`+
			`[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?:$|[^0-9.]|\.(?:$|[^0-9]))`, false),
		named: regexp.MustCompile(`ean|gtin|isbn|upc|barcode|strichcode|code-barres|codigo de barras|artikel|` +
			`article|articulo|sku|product|produkt|produit|tracking|track|sendung|paket|parcel|shipment|colis|` +
			`paquete|envio|suivi|seguimiento|serial|serien|serie|order|bestell|commande|pedido|refer|` +
			`referenz|invoice|rechnung|fact|ticket|case|vorgang|dossier|expediente|caso|transa|booking|` +
			`buchung|reserv|version|build|timestamp|incident|request|trace|log`),
		list: []suspicion{
			{PIICard, prose.NewMatcher(`(?:[*•·xX#]{2,}[ \-]?){1,5}[0-9]{2,6}\b`, false),
				"masked", strings.Split("* • · x #", " "), 2},
			{PIICard, prose.NewMatcher(`(?i)\b(?:ending (?:in|with)|ends (?:in|with)|last (?:four|4)(?: digits)?|`+
				`endet auf|letzten? (?:vier|4)|endziffern?|terminant par|se termine par|derniers chiffres|`+
				`terminad[oa] en|termina en|últimos)\b[^.\n]{0,20}?[0-9]{5,6}`, false), "the end of a number", nil, 0},
			{"", prose.NewMatcher(`[0-9](?:[ .\-/]?[0-9]){8,18}`, false), "a long number that passes no check", nil, 9},
			{"", prose.NewMatcher(`\b(?:Mr|Mrs|Ms|Miss|Dr|Prof|Herrn?|Frau|Mme|Mlle|Monsieur|Madame|Sra?|Srta|`+
				`Señora?|Don|Doña|señora?|customer named|named|called|namens|nommée?|`+
				`llamad[oa])\.? [\p{Lu}][\pL'\-]+(?: [\p{Lu}][\pL'\-]+)*|\bM\. [\p{Lu}][\pL'\-]+`, false),
				"a name", nil, 0},
			{"", prose.NewMatcher(`(?:`+firstNames+`) (?:[\p{Lu}]\. )?(?:(?:de|del|la|von|van|der|di|da|`+
				`le) )*[\p{Lu}][\pL'\-]+`, false), "a name", nil, 0},
			{"", prose.NewMatcher(`\b[0-9]{1,5}[a-zA-Z]?,? (?:[\p{Lu}][\pL'\-]+ ){1,3}`+street+`|`+
				`[\p{Lu}][\pL\-]*(?:straße|strasse|str\.|weg|platz|allee|gasse|ring|damm|ufer)(?: |`+
				`, )?[0-9]{1,4}\b|\b[\p{Lu}][\pL\-]+(?: |-)(?:Straße|Str\.|Weg|Platz|Allee|Ring) [0-9]{1,4}\b`, false),
				"a street address", nil, 0},
			{"", prose.NewMatcher(`(?i)\b[0-9]{1,4}(?: ?bis| ?ter)?,? (?:rue|avenue|av\.|boulevard|bd|place|chemin|`+
				`impasse|allée|quai|cours) [\pL' \-]{3,}|\b(?:calle|c/|avenida|avda\.?|plaza|paseo|camino|`+
				`ronda|carrera) [\pL' \-]{2,40},? ?(?:n\.?º ?)?[0-9]{1,4}\b`, false), "a street address", nil, 0},
			{"", prose.NewMatcher(`\b(?:D-|F-|E-)?[0-9]{5} [\p{Lu}][\pL\-]{2,}|`+
				`\b[A-Z]{1,2}[0-9][0-9A-Z]? [0-9][A-Z]{2}\b|\b[A-Z]{2} [0-9]{5}(?:-[0-9]{4})?\b`, false),
				"a post code", nil, 0},
			{"", prose.NewMatcher(`(?i)\b(?:born|date of birth|dob|birthday|birth date|geboren|geburtsdatum|`+
				`geburtstag|geb\.|née? le|date de naissance|nacid[oa]|fecha de nacimiento|`+
				`cumpleaños)\b[^.\n]{0,25}[0-9]`, false), "a date of birth", nil, 0},
			{"", prose.NewMatcher(`(?i)(?:passport|reisepass|passeport|pasaporte|ausweis\w*|personalausweis\w*|`+
				`driver'?s? licen[cs]e|führerschein\w*|permis de conduire|national id|id card|id number|`+
				`steuer-?id\w*|steuernummer|tax id|nif|dni|nie|nir|carte d'identité|sécurité sociale|`+
				`seguridad social|sozialversicherungs\w*|versichertennummer|insurance number|ssn|`+
				`social security|medical record|patientennummer|iban|swift|bic|password|passwort|`+
				`mot de passe|contraseña|pin)(?:$|[^\pL])[^.\n]{0,30}?[A-Za-z\-]{0,3}[0-9][0-9A-Za-z]*`, false),
				"an identity document, an account or a password", nil, 0},
			{"", prose.NewMatcher(`\b[0-9XYZ][0-9]{7}-?[A-Z]\b`, false), "a national identity number", nil, 7},
			{"", prose.NewMatcher(`(?i)(?:\b(?:zero|oh|one|two|three|four|five|six|seven|eight|nine|null|eins|zwei|`+
				`drei|vier|fünf|sechs|sieben|acht|neun|zéro|un|deux|trois|quatre|cinq|sept|huit|neuf|cero|`+
				`uno|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|double|triple)\b[ ,\-]*){6,}`, false),
				"digits in words", nil, 0},
			{PIIEmail, prose.NewMatcher(`(?i)[\pL\pN._\-]+ (?:at|ät|arobase|arroba|chez) [\pL\pN\-]+ (?:dot|punkt|`+
				`point|punto) [\pL]{2,}`, false),
				"an address written out", []string{" dot ", " punkt ", " point ", " punto "}, 0},
			{PIIEmail, prose.NewMatcher(`[\pL\pN._\-]+\*+[\pL\pN._\-]*@[\pL\pN.\-]+`, false),
				"a masked address", []string{"@"}, 0},
		},
		base64: regexp.MustCompile(`\b[A-Za-z0-9+/_\-]{20,}={0,2}`),
		wire:   regexp.MustCompile(`[A-Z].*[a-z].*[0-9]|[0-9].*[A-Z].*[a-z]|[a-z].*[0-9].*[A-Z]|[A-Z].*[0-9].*[a-z]`),
	}
}

// find returns what may be personal data, outside of the findings found and not in the
// prompt.
func (s suspicions) find(folded prose.PlainText, found []finding, o *contract.Observation) []finding {
	rest := []byte(folded.Text)
	for _, p := range found {
		prose.BlankOut(rest[folded.From(p.start):folded.From(p.end)])
	}
	for _, at := range s.harmless.FindAllStringIndex(string(rest), -1) {
		prose.BlankOut(rest[at[0]:at[1]])
	}
	prompt := prose.Flat(o.Prompt, prose.ShapeSigns)
	text := string(rest)
	var list []finding
	lower, longest := strings.ToLower(text), digitsInRow(text)
	for _, form := range s.list {
		if form.digits > longest || form.needs != nil &&
			!slices.ContainsFunc(form.needs, func(n string) bool { return strings.Contains(lower, n) }) {
			continue
		}
		for _, at := range form.form.FindAllStringIndex(text, -1) {
			part := text[at[0]:at[1]]
			if strings.Contains(prompt, strings.TrimSpace(part)) {
				continue
			}
			if form.why == "a long number that passes no check" && s.ofSomething(text, at[0], at[1]) {
				continue
			}
			start, end := folded.Original(at[0], at[1])
			list = append(list, finding{form.kind, o.Response[start:end], start, end, form.why})
		}
	}
	for _, at := range s.base64.FindAllStringIndex(text, -1) {
		if part := text[at[0]:at[1]]; s.wire.MatchString(part) && decodes(part) {
			start, end := folded.Original(at[0], at[1])
			list = append(list, finding{"", o.Response[start:end], start, end, "encoded text"})
		}
	}
	return list
}

// ofSomething reports whether a long number is named as that of a thing, or is part of a
// word.
func (s suspicions) ofSomething(text string, start, end int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:start])
	after, _ := utf8.DecodeRuneInString(text[end:])
	return start > 0 && (prose.WordRune(before) || before == '-') || end < len(text) && prose.WordRune(after) ||
		s.named.MatchString(prose.Flat(around(text, start, start), prose.ShapeWords))
}

// decodes reports whether a word is text in base64.
func decodes(word string) bool { return decoded(word) != "" }

// decoded returns the text that a word encodes in base64, "" if it encodes none.
func decoded(word string) string {
	word = strings.TrimRight(strings.NewReplacer("-", "+", "_", "/").Replace(word), "=")
	raw, err := base64.RawStdEncoding.DecodeString(word)
	if err != nil || !utf8.Valid(raw) {
		return ""
	}
	for _, r := range string(raw) {
		if r < ' ' && r != '\n' && r != '\t' {
			return ""
		}
	}
	return string(raw)
}

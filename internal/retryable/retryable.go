// Package retryable classifies failed calls by whether trying again can help. The fault
// that answers with a status describes itself by it, and what reads calls judges them
// by it, so that both agree.
package retryable

import (
	"regexp"
	"strings"
	"time"
)

// A Class is whether trying again, with the same arguments, can help.
type Class int

// The classes.
const (
	Unknown   Class = iota // nothing known says so
	Transient              // it can
	Permanent              // it cannot
)

// OfStatus classifies an HTTP status from 400 on: those of a request that is wrong in
// itself are permanent. 408, 409, 425, 429 and those from 500 on are transient.
func OfStatus(code int) Class {
	switch {
	case code >= 500, code == 408, code == 409, code == 425, code == 429:
		return Transient
	}
	return Permanent
}

// textBytes bounds how much of a text is read.
const textBytes = 400

// Of classifies a failed call. The first row that applies decides:
//
//   - the callee asked the caller to wait and come again: transient;
//   - the text says that a quota is used up for good: permanent;
//   - status is one of HTTP, 400 to 599: [OfStatus];
//   - status is a code of JSON-RPC for a wrong request, -32700 or -32602 to -32600:
//     permanent;
//   - the text has words of a time-out, an overload, a lost connection or "try again":
//     transient;
//   - the text names a status ([StatusIn]): [OfStatus];
//   - the text has words of a rejection, such as "not found", "forbidden", "invalid
//     argument": permanent.
//
// Otherwise the class is unknown. Texts are English; codes of gRPC are read as words.
func Of(status int, retryAfter time.Duration, text string) Class {
	if len(text) > textBytes {
		text = text[:textBytes]
	}
	said := text
	text = strings.ToLower(text)
	switch {
	case retryAfter > 0:
		return Transient
	case strings.Contains(text, "insufficient_quota"), strings.Contains(text, "exceeded your current quota"):
		return Permanent
	case status >= 400 && status <= 599:
		return OfStatus(status)
	case status == -32700, status >= -32602 && status <= -32600:
		return Permanent
	case passing.MatchString(text):
		return Transient
	}
	if code := statusIn(said); code != 0 {
		return OfStatus(code)
	}
	if rejected.MatchString(text) {
		return Permanent
	}
	return Unknown
}

var (
	passing = regexp.MustCompile(`\btime[d ]?[ -]?outs?\b|\btimed out\b|\bdeadline ?exceeded\b|` +
		`\bunavailable\b|\btoo many (?:\w+ )?requests\b|\brate[ -]?limit|\boverload|\bbusy\b|\bconnection (?:refused|` +
		`reset|closed)|\bbroken pipe\b|\beof\b|\btry again\b|\bretry (?:later|after|in)\b|\btemporar|` +
		`\binternal (?:server )?error\b|\bno route to host\b|\baborted\b|\block(?:ed)?\b|\bdeadlock|\bconflict\b|` +
		`\bthrottl|\bin progress\b|\bcancell?ed\b`)
	rejected = regexp.MustCompile(`\bunauthori[sz]ed\b|\bunauthenticated\b|\bforbidden\b|` +
		`\b(?:permission|access) ?denied\b|\beacces\b|\beperm\b|\b(?:token|credentials?|key)(?: \w+)? (?:has |have |is |are )?` +
		`(?:expired|revoked|invalid)\b|\binvalid (?:\w+ )?(?:key|token|credentials?|arguments?|params?|parameters?|` +
		`requests?|input)\b|\binvalidargument\b|\bnot ?found\b|\bno such\b|\benoent\b|\bdoes not exist\b|\bunknown (?:\w+ )?` +
		`(?:tool|method|function|argument|parameter|field)\b|\balready ?exists\b|\bnot (?:implemented|supported|` +
		`allowed|permitted)\b|\bunimplemented\b|\bunsupported\b|\bbad request\b|\bunprocessable\b|\bvalidation\b|` +
		`\bdeclined\b|\brejected\b|\bquota exceeded\b|\bfailedprecondition\b|\boutofrange\b|\bgone\b`)
)

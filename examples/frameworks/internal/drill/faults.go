package drill

import (
	"fmt"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
)

// row is one fault of the table.
type row struct {
	name  string
	fault chaos.Fault
	calls bool // the model answers with a tool call, not with text
}

func (c *Client) rows() []row {
	return slices.Concat(connections(), c.statuses(), c.bodies(), c.streams(), completions())
}

func connections() []row {
	rows := []row{
		{name: "Refused()", fault: chaoshttp.Refused()},
		{name: "Reset()", fault: chaoshttp.Reset()},
		{name: "HangUp()", fault: chaoshttp.HangUp()},
		{name: "NoSuchHost()", fault: chaoshttp.NoSuchHost()},
	}
	for _, how := range []chaoshttp.TLSFailure{
		chaoshttp.TLSUnknownAuthority, chaoshttp.TLSExpired, chaoshttp.TLSWrongHost, chaoshttp.TLSHandshake, chaoshttp.TLSNotSpoken,
	} {
		rows = append(rows, row{name: fmt.Sprintf("TLS(%s)", how), fault: chaoshttp.TLS(how)})
	}
	return rows
}

func (c *Client) statuses() (rows []row) {
	for _, kind := range c.Kinds {
		rows = append(rows, row{name: fmt.Sprintf("APIError(%s)", kind), fault: chaoshttp.APIError(c.API, kind, nil)})
	}
	for _, o := range []chaoshttp.StatusOptions{{RetryAfter: 3 * time.Second}, {RetryAfter: 3 * time.Second, RetryDate: true}} {
		name := "Status(429), Retry-After: 3"
		if o.RetryDate {
			name = "Status(429), Retry-After: a date"
		}
		rows = append(rows, row{name: name, fault: chaoshttp.Status(429, &o)})
	}
	for _, code := range []int{408, 409, 422, 502, 504} {
		rows = append(rows, row{name: fmt.Sprintf("Status(%d)", code), fault: chaoshttp.Status(code, nil)})
	}
	return rows
}

func (c *Client) bodies() []row {
	return []row{
		{name: "SlowHeaders(1m)", fault: chaoshttp.SlowHeaders(time.Minute)},
		{name: "SlowHeaders(10m)", fault: chaoshttp.SlowHeaders(10 * time.Minute)},
		{name: "SlowBody(16, 1s)", fault: chaoshttp.SlowBody(16, time.Second)},
		{name: "CutBody(60)", fault: chaoshttp.CutBody(60)},
		{name: "ShortBody(60)", fault: chaoshttp.ShortBody(60)},
		{name: "HTMLPage()", fault: chaoshttp.HTMLPage()},
		{name: "ErrorInOK(overloaded)", fault: chaoshttp.ErrorInOK(c.API, chaoshttp.KindOverloaded)},
		{name: "WrongEncoding()", fault: chaoshttp.WrongEncoding()},
	}
}

func (c *Client) streams() []row {
	return []row{
		{name: "SlowFirstEvent(1m)", fault: chaoshttp.SlowFirstEvent(time.Minute)},
		{name: "SlowEvents(1s)", fault: chaoshttp.SlowEvents(time.Second)},
		{name: "HangStream(4)", fault: chaoshttp.HangStream(4)},
		{name: "CutEvent(4)", fault: chaoshttp.CutEvent(4)},
		{name: "CutStream(4)", fault: chaoshttp.CutStream(4)},
		{name: "CutStream(4), in a tool call", fault: chaoshttp.CutStream(4), calls: true},
		{name: "MalformEvent(4)", fault: chaoshttp.MalformEvent(4)},
		{name: "DuplicateEvent(4)", fault: chaoshttp.DuplicateEvent(4)},
		{name: "SwapEvents(4)", fault: chaoshttp.SwapEvents(4)},
		{name: fmt.Sprintf("ErrorEvent(%s, 4)", c.EventKind), fault: chaoshttp.ErrorEvent(c.API, c.EventKind, 4)},
		{name: "DropTerminator()", fault: chaoshttp.DropTerminator()},
	}
}

func completions() []row {
	rows := []row{
		{name: "EmptyCompletion()", fault: chaoshttp.EmptyCompletion()},
		{name: "CutCompletion(9)", fault: chaoshttp.CutCompletion(9)},
		{name: "CutCompletion(9), in a tool call", fault: chaoshttp.CutCompletion(9), calls: true},
		{name: "FilterCompletion(9)", fault: chaoshttp.FilterCompletion(9)},
		{name: "RefuseCompletion(No.)", fault: chaoshttp.RefuseCompletion("No.")},
		{name: "GarbleCompletion()", fault: chaoshttp.GarbleCompletion()},
		{name: "MalformToolCall()", fault: chaoshttp.MalformToolCall(), calls: true},
		{name: "StripToolCalls()", fault: chaoshttp.StripToolCalls(), calls: true},
		{name: "HallucinateToolCall()", fault: chaoshttp.HallucinateToolCall(""), calls: true},
		{name: "WrongArgument()", fault: chaoshttp.WrongArgument(""), calls: true},
		{name: "MissingArgument()", fault: chaoshttp.MissingArgument(""), calls: true},
	}
	for _, d := range []chaoshttp.Drift{chaoshttp.DriftFormat, chaoshttp.DriftVerbosity, chaoshttp.DriftTone} {
		rows = append(rows, row{name: fmt.Sprintf("DriftCompletion(%s)", d), fault: chaoshttp.DriftCompletion(d)})
	}
	for _, p := range []chaoshttp.Part{chaoshttp.PartContent, chaoshttp.PartArguments} {
		for _, s := range []chaoshttp.Spoil{
			chaoshttp.SpoilError, chaoshttp.SpoilTimeout, chaoshttp.SpoilEmpty, chaoshttp.SpoilTruncate,
			chaoshttp.SpoilCorrupt, chaoshttp.SpoilSchema,
		} {
			rows = append(rows, row{name: fmt.Sprintf("SpoilCompletion(%s, %s)", p, s), fault: chaoshttp.SpoilCompletion(p, s),
				calls: p == chaoshttp.PartArguments})
		}
	}
	return rows
}

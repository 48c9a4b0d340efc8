package planjson

import (
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
)

type (
	characters struct {
		Keep int `json:"keep" bounds:"min=0" doc:"characters that come"`
	}
	words struct {
		Words string `json:"words,omitempty" doc:"what it says; left out: the usual words"`
	}
	toolName struct {
		Name string `json:"name,omitempty" doc:"of the tool that is called; left out: made from the real one"`
	}
	argumentName struct {
		Name string `json:"name,omitempty" doc:"of the argument; left out: a drawn one"`
	}
	drifting struct {
		Drift string `json:"drift" bounds:"enum=keys|format|verbosity|tone"`
	}
	spoiled struct {
		Part  string `json:"part" bounds:"enum=content|toolArguments"`
		Spoil string `json:"spoil" bounds:"enum=error|timeout|empty|truncate|corrupt|schema"`
	}
	eventDelay struct {
		Duration time.Duration `json:"duration" doc:"time that an event takes longer"`
	}
	errorEvent struct {
		API   string `json:"api" bounds:"enum=openai|anthropic"`
		Error string `json:"error" bounds:"enum=invalid_request|context_length|content_filter|authentication|quota|permission|not_found|too_large|rate_limit|server|timeout|overloaded"`
		afterEvents
	}
	afterEvents struct {
		After int `json:"after" bounds:"min=-1" doc:"number of events that come before; -1: a drawn one"`
	}
)

// chatKinds are the faults of a model's completion, streamed or not.
func chatKinds() []*catalog.Row {
	return []*catalog.Row{
		plain("empty_completion", "chaoshttp.EmptyCompletion", "The model says nothing.", chaoshttp.EmptyCompletion),
		faultRow("cut_completion", "chaoshttp.CutCompletion(keep)", "The completion ends at the limit of its tokens.", `{"keep":12}`,
			func(p characters) chaos.Fault { return chaoshttp.CutCompletion(p.Keep) }),
		faultRow("filtered_completion", "chaoshttp.FilterCompletion(keep)", "The provider's filter ends the completion.", `{"keep":12}`,
			func(p characters) chaos.Fault { return chaoshttp.FilterCompletion(p.Keep) }),
		faultRow("refused_completion", "chaoshttp.RefuseCompletion(words)", "The model refuses.", `{}`,
			func(p words) chaos.Fault { return chaoshttp.RefuseCompletion(p.Words) }),
		plain("garbled_completion", "chaoshttp.GarbleCompletion", "The model talks gibberish.", chaoshttp.GarbleCompletion),
		plain("malformed_tool_call", "chaoshttp.MalformToolCall", "A tool call's arguments are not JSON.", chaoshttp.MalformToolCall),
		plain("stripped_tool_call", "chaoshttp.StripToolCalls", "The completion lacks its tool calls.", chaoshttp.StripToolCalls),
		faultRow("hallucinated_tool_call", "chaoshttp.HallucinateToolCall(name)", "A tool call names a tool that does not exist.", `{}`,
			func(p toolName) chaos.Fault { return chaoshttp.HallucinateToolCall(p.Name) }),
		faultRow("wrong_argument", "chaoshttp.WrongArgument(name)", "A tool call has a wrong argument.", `{}`,
			func(p argumentName) chaos.Fault { return chaoshttp.WrongArgument(p.Name) }),
		faultRow("missing_argument", "chaoshttp.MissingArgument(name)", "A tool call lacks an argument.", `{}`,
			func(p argumentName) chaos.Fault { return chaoshttp.MissingArgument(p.Name) }),
		faultRow("drifted_completion", "chaoshttp.DriftCompletion(d)", "The model answers in another style.", `{"drift":"format"}`,
			func(p drifting) chaos.Fault { return chaoshttp.DriftCompletion(chaoshttp.Drift(p.Drift)) }),
		faultRow("spoiled_completion", "chaoshttp.SpoilCompletion(part, spoil)", "One part of the completion is spoiled.", `{"part":"content","spoil":"truncate"}`,
			func(p spoiled) chaos.Fault {
				return chaoshttp.SpoilCompletion(chaoshttp.Part(p.Part), chaoshttp.Spoil(p.Spoil))
			}),
	}
}

// eventKinds are the faults of event streams over HTTP.
func eventKinds() []*catalog.Row {
	at := func(name, code, doc string, build func(int) chaos.Fault) *catalog.Row {
		return faultRow(name, "chaoshttp."+code+"(after)", doc, `{"after":2}`, func(p afterEvents) chaos.Fault { return build(p.After) })
	}
	return []*catalog.Row{
		faultRow("slow_first_event", "chaoshttp.SlowFirstEvent(d)", "The first event of a response is late.", `{"duration":"5s"}`,
			func(p eventDelay) chaos.Fault { return chaoshttp.SlowFirstEvent(p.Duration) }),
		faultRow("slow_events", "chaoshttp.SlowEvents(d)", "Every event of a response is late.", `{"duration":"1s"}`,
			func(p eventDelay) chaos.Fault { return chaoshttp.SlowEvents(p.Duration) }),
		at("hanging_stream", "HangStream", "A response falls silent.", chaoshttp.HangStream),
		at("cut_event", "CutEvent", "The connection breaks within an event.", chaoshttp.CutEvent),
		at("cut_stream", "CutStream", "A response ends between two events, in good order.", chaoshttp.CutStream),
		at("malformed_event", "MalformEvent", "An event's data is half of it.", chaoshttp.MalformEvent),
		at("duplicate_event", "DuplicateEvent", "An event arrives twice.", chaoshttp.DuplicateEvent),
		at("swapped_events", "SwapEvents", "Two events have changed places.", chaoshttp.SwapEvents),
		faultRow("error_event", "chaoshttp.ErrorEvent(api, kind, after)", "The provider sends an error in the middle of a response.",
			`{"api":"openai","error":"server","after":2}`, func(p errorEvent) chaos.Fault {
				return chaoshttp.ErrorEvent(chaoshttp.API(p.API), chaoshttp.ErrorKind(p.Error), p.After)
			}),
		plain("unterminated_stream", "chaoshttp.DropTerminator", "The events that end a response are missing.", chaoshttp.DropTerminator),
	}
}

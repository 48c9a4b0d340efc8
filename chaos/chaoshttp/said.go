package chaoshttp

import (
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp/internal/completion"
	"github.com/shakedown-go/shakedown/internal/sse"
)

// Said reads what a model said in an exchange that was kept: the text, of several choices that
// of the first, and why the model stopped. The reason is "stop", "calls", "length", "filter" or
// "refusal" whatever the provider, or a word of its own; "": the answer did not come so far, or
// the caller did not read so far. ok is false if the answer is no completion, or more of it came
// than was kept. x may be nil.
func Said(x *chaos.Exchange) (text, reason string, ok bool) {
	// Of a short one that is truncated the last word alone is missing: see said.shown.
	if x == nil || x.ResponseTruncated && len(x.Response) > maxTalk/2 {
		return "", "", false
	}
	var said strings.Builder
	reader := func(choice int) editor {
		return func(p *piece) {
			switch {
			case choice > 0:
			case p.Kind == completion.Text:
				said.WriteString(p.Text)
			case p.Kind == completion.Finish:
				reason = p.Text
			}
		}
	}
	if _, _, ok = completion.Edit([]byte(x.Response), reader); ok {
		return said.String(), reason, true
	}
	stream, events := completion.NewStream(reader), sse.NewReader(strings.NewReader(x.Response), 0)
	if strings.HasPrefix(x.Response, "{") {
		events = sse.NewLineReader(strings.NewReader(x.Response), 0)
	}
	said.Reset()
	for n := 0; ; n++ {
		e, err := events.Next()
		if err != nil {
			return said.String(), reason, stream.Understood()
		}
		if e.Seen() {
			stream.Event(n, e)
		}
	}
}

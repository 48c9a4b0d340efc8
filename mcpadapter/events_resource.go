package mcpadapter

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/faulthub"
)

// uriFaults is the resource of the latest delivered faults.
const uriFaults = faulthub.URI

// addFaults adds the resource if there are events to show.
func (s *Server) addFaults() {
	if s.hub == nil {
		return
	}
	s.mcp.AddResource(&mcp.Resource{URI: uriFaults, Name: "faults", Title: "Faults that struck lately", MIMEType: mimeJSON,
		Description: "The last 256 faults that were delivered in the live program, oldest first, each with its number, target, kind, severity and time. Subscribe to be told when there are more, and read on from the last number you saw."},
		func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			text, err := json.Marshal(s.hub.Latest(s.host.Events.Dropped()))
			return content(uriFaults, mimeJSON, text), err
		})
	s.mcp.AddSendingMiddleware(s.hub.Updates)
	s.onEvent(s.notifyOfFault)
}

// subscribes accepts subscriptions to the resource of faults only: no other
// resource reports its changes.
func (s *Server) subscribes(_ context.Context, req *mcp.SubscribeRequest) error {
	if req.Params.URI != uriFaults {
		return mcp.ResourceNotFoundError(req.Params.URI)
	}
	return nil
}

func (s *Server) unsubscribes(context.Context, *mcp.UnsubscribeRequest) error { return nil }

// notifyOfFault notifies the subscribers to events, and then those to the
// resource. The pump calls it.
func (s *Server) notifyOfFault(e chaos.Event) {
	s.hub.Publish(e)
	_ = s.mcp.ResourceUpdated(s.life, &mcp.ResourceUpdatedNotificationParams{URI: uriFaults}) // readers do the sending
}

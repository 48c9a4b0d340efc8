package mcpadapter

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/mcpadapter/internal/faulthub"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

// uriFaults is the resource of the latest delivered faults.
const uriFaults = faulthub.URI

// addFaults adds the resource if there are events to show.
func (s *Server) addFaults() {
	if s.hub == nil {
		return
	}
	s.mcp.AddResource(&mcp.Resource{URI: uriFaults, Name: "faults", Title: "Latest delivered faults",
		MIMEType:    mimeJSON,
		Description: "The last 256 faults that were delivered in the live program, oldest first, each with its number, target, kind, severity and time. Subscribe to be told when there are more, and read on from the last number you saw."},
		func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			text, err := json.Marshal(s.hub.Latest())
			return content(uriFaults, mimeJSON, text), err
		})
	s.mcp.AddSendingMiddleware(s.hub.Updates)
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

type subscribeInput struct {
	Mode string `json:"mode,omitempty" jsonschema:"faults: as an event about an object, logger chaos/faults; resource-faults: flat, as a state of a resource, logger chaos/resource-faults" enum:"faults,resource-faults" default:"\"faults\""`
	faulthub.Filters
}

func eventsSubscribe() (*tool, error) {
	return define(tool{
		Name: "events_subscribe", Title: "Subscribe to faults", Area: "chaos",
		Description: `Has this session told of every fault delivered in the live program from now on, as notifications/message, one for each delivered fault.
Call logging/setLevel first (level info): without it no message is sent. Narrow by target and minSeverity. A session may have 10 subscriptions, the server 100. A session that reads too slowly loses notifications: they are counted in dropped, and it is told by a message of logger chaos/subscription_error.
Subscriptions end with the session. Clients of protocol revision 2026-07-28 or later have no session to push to: they subscribe to the resource chaos://faults.`,
	}, func(ctx context.Context, c *call, in subscribeInput) (faulthub.Subscription, error) {
		if revision := c.Req.ProtocolVersion(); revision >= sessionless {
			return faulthub.Subscription{}, problem(http.StatusConflict, codeStateless,
				fmt.Sprintf("protocol revision %s has no sessions to send messages to", revision),
				"Subscribe to the resource "+uriFaults+
					", or read it from time to time; or connect with revision 2025-11-25.")
		}
		caller, _ := policy.CallerFrom(ctx)
		return c.Server.hub.Subscribe(c.Req.Session, caller.Subject, in.Mode, in.Filters)
	})
}

type unsubscribeInput struct {
	SubscriptionID string `json:"subscriptionId" jsonschema:"as events_subscribe gave it" len:"1,128"`
}

type unsubscribeOutput struct {
	SubscriptionID string `json:"subscriptionId"`
	Removed        bool   `json:"removed" jsonschema:"false if this session had no such subscription"`
}

func eventsUnsubscribe() (*tool, error) {
	return define(tool{
		Name: "events_unsubscribe", Title: "Unsubscribe from faults", Area: "chaos", Target: "subscriptionId",
		Description: `Ends a subscription of this session: no more notifications are queued for it, those under way may still come. Ending one that does not exist, or that belongs to another session, changes nothing and answers removed false, so the call may be repeated.`,
	}, func(_ context.Context, c *call, in unsubscribeInput) (unsubscribeOutput, error) {
		return unsubscribeOutput{in.SubscriptionID, c.Server.hub.Unsubscribe(c.Req.Session, in.SubscriptionID)}, nil
	})
}

type listSubscriptionsOutput struct {
	Subscriptions []faulthub.Subscription `json:"subscriptions" jsonschema:"those of this session, oldest first"`
	SessionLimit  int                     `json:"sessionLimit"`
	ServerTotal   int                     `json:"serverTotal" jsonschema:"subscriptions of all sessions"`
	ServerLimit   int                     `json:"serverLimit"`
	Lost          uint64                  `json:"lost" jsonschema:"faults delivered faster than the server could take them in: no session was told of them"`
}

func eventsListSubscriptions() (*tool, error) {
	return define(tool{
		Name: "events_list_subscriptions", Title: "List subscriptions", Area: "chaos",
		Description: `Lists the subscriptions of this session with their filters, and how many notifications each was sent and has lost because the session read too slowly. Other sessions' subscriptions are counted, not shown.`,
	}, func(_ context.Context, c *call, _ struct{}) (listSubscriptionsOutput, error) {
		own, total := c.Server.hub.List(c.Req.Session)
		return listSubscriptionsOutput{own, faulthub.SessionLimit, total, faulthub.ServerLimit,
			c.Server.hub.Dropped()}, nil
	})
}

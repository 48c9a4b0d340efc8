package mcpadapter

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/mcpadapter/internal/faulthub"
)

func readFaults(t *testing.T, c *mcp.ClientSession) (doc faulthub.Document) {
	t.Helper()
	res, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uriFaults})
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal([]byte(res.Contents[0].Text), &doc))
	return doc
}

// A client of any era can follow the faults as a resource; one without a session keeps a stream open for it.
func TestTheResourceOfFaults(t *testing.T) {
	for name := range eras("", nil) {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			base, client := listen(t, serverOf(t, s.host, nil))
			updated := make(chan string, 100)
			c := connect(t, eras(base, client)[name], &mcp.ClientOptions{ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
				updated <- r.Params.URI
			}})
			assert.Equal(t, faulthub.Document{Last: "0", Faults: []faulthub.Numbered{}}, readFaults(t, c), "nothing was delivered yet")
			require.NoError(t, c.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uriFaults}))
			if name != "without sessions" {
				assert.Error(t, c.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uriCatalogue}), "what does not say when it changes")
			}
			breakdown(t, s)
			_, err := s.lookup(t.Context(), "1042")
			require.Error(t, err)
			assert.Equal(t, uriFaults, <-updated)
			doc := readFaults(t, c)
			require.Len(t, doc.Faults, 1)
			assert.Equal(t, "1", doc.Faults[0].Sequence)
			assert.Equal(t, "orders.get", doc.Faults[0].Resource.Name)
			assert.Equal(t, "error", doc.Faults[0].FaultType)
			require.NoError(t, c.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: uriFaults}))
		})
	}
}

func TestTheResourceIsBounded(t *testing.T) {
	s := newShop(t)
	c := clientOf(t, serverOf(t, s.host, nil), nil)
	breakdown(t, s)
	for range 300 {
		_, err := s.lookup(t.Context(), "1042")
		require.Error(t, err)
	}
	var doc faulthub.Document
	for doc.Last != "300" {
		doc = readFaults(t, c)
	}
	assert.Len(t, doc.Faults, 256)
	assert.EqualValues(t, 44, doc.Omitted)
	assert.Equal(t, "45", doc.Faults[0].Sequence)
}

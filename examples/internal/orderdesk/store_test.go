package orderdesk

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func newStore(t *testing.T) *store {
	t.Helper()
	s, err := openStore(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.close()) })
	return s
}

func TestAKeyMakesARequestHappenOnce(t *testing.T) {
	ctx := t.Context()
	for _, row := range []struct {
		reason string
		key    string
		want   []string
	}{
		{"the second request with a key returns what the first one did", "k", []string{"1042"}},
		{"without a key there is nothing to know a repeated request by", "", []string{"1042", "1042"}},
	} {
		s := newStore(t)
		args := RefundArgs{Order: "1042", Quantity: 1, Reason: "broken", RequestID: row.key}
		first, err := s.refund(ctx, args)
		require.NoError(t, err, row.reason)
		second, err := s.refund(ctx, args)
		require.NoError(t, err, row.reason)
		st, err := s.state(ctx)
		require.NoError(t, err)
		assert.Equal(t, row.want, st.Refunds, row.reason)
		assert.Equal(t, row.key != "", first == second, row.reason)
		assert.Equal(t, "24.50", second.Amount, row.reason)
	}
}

func TestRepeatedShipmentsAndMails(t *testing.T) {
	s, ctx := newStore(t), t.Context()
	for range 2 {
		out, err := s.ship(ctx, ShipArgs{Order: "2003", RequestID: "s"})
		require.NoError(t, err)
		assert.Equal(t, Shipment{"2003", "PL-2003-A"}, out)
		mail, err := s.mail(ctx, MailArgs{Customer: "C-8", Body: "shipped", RequestID: "m"})
		require.NoError(t, err)
		assert.Equal(t, Mail{"M-1"}, mail)
	}
	st, err := s.state(ctx)
	require.NoError(t, err)
	assert.Equal(t, State{
		Refunds:   []string{},
		Shipments: []string{"1042", "3007", "2003"},
		Mails:     []string{"Bo Lindgren"},
		Orders:    map[string]string{"1042": "delivered", "2003": "shipped", "3007": "shipped"},
	}, st)
}

func TestTheShopRefuses(t *testing.T) {
	s, ctx := newStore(t), t.Context()
	before, err := s.state(ctx)
	require.NoError(t, err)
	for _, row := range []struct {
		reason string
		do     func() error
		want   string
	}{
		{"more items than were paid for", func() error {
			_, err := s.refund(ctx, RefundArgs{Order: "1042", Quantity: 3, Reason: "greed"})
			return err
		}, "of order 1042, 0 of 2 are refunded already"},
		{"an order that is not there", func() error {
			_, err := s.refund(ctx, RefundArgs{Order: "1", Quantity: 1, Reason: "broken"})
			return err
		}, "there is no order 1"},
		{"a second shipment", func() error {
			_, err := s.ship(ctx, ShipArgs{Order: "3007"})
			return err
		}, "order 3007 is shipped already"},
		{"a customer who is not there", func() error {
			_, err := s.mail(ctx, MailArgs{Customer: "C-1", Body: "hello"})
			return err
		}, "there is no customer C-1"},
	} {
		err := row.do()
		assert.ErrorIs(t, err, errRefused, row.reason)
		assert.EqualError(t, err, row.want, row.reason)
	}
	after, err := s.state(ctx)
	require.NoError(t, err)
	assert.Equal(t, before, after, "what was refused has left no trace")
}

func TestACancelledTransactionLeavesTheDatabaseAsItWas(t *testing.T) {
	s := newStore(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.refund(ctx, RefundArgs{Order: "1042", Quantity: 1, Reason: "broken"})
	assert.ErrorIs(t, err, context.Canceled)
	st, err := s.state(t.Context())
	require.NoError(t, err, "the one connection is still there, and with it the database")
	assert.Empty(t, st.Refunds)
}

// The database is made, used and closed within a bubble, beside others at the
// same time: what contracttest does with every cell.
func TestWorldsLiveInBubbles(t *testing.T) {
	for range 4 {
		t.Run("world", func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w, err := NewWorld(Robust())(t.Context())
				require.NoError(t, err)
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				answer, err := w.Agent(ctx, "Refund one teapot of order 1042, it arrived damaged.", w.Tools)
				require.NoError(t, err)
				assert.Equal(t, "Order 1042: refunded 24.50 (R-1). Ada Marsh has been told by mail.", answer)
				time.Sleep(30 * time.Minute)
				st, err := w.State(ctx)
				require.NoError(t, err)
				assert.Equal(t, []string{"1042"}, st.(State).Refunds, "no other world's refund is seen")
				require.NoError(t, w.Close())
			})
		})
	}
}

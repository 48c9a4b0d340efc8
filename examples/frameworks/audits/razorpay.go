package main

import (
	"fmt"
	"maps"
)

// razorpay plays Razorpay's API. What of it decides a verdict is documented so:
//
//   - a refund with the header X-Refund-Idempotency that was made before is answered with that refund, and another
//     body under the same key with 400 (razorpay.com/docs/api/refunds/normal-refunds-idempotent); without the header
//     each request is a refund, as long as their sum does not exceed the payment (…/docs/payments/refunds/issue)
//   - a payment that is not authorized cannot be captured (…/docs/api/payments/capture)
//   - an order that is asked for again is another order, unless it has a receipt and unique_receipt
//     (…/docs/payments/payment-gateway/s2s-integration/test-s2s/best-practices/retries-and-idempotency)
//   - payment links, QR codes and instant settlements have no idempotency key in their documentation
//
// Refunds with an equal receipt are not played: their documentation does not say what happens.
func razorpay() *backend {
	var state struct {
		Payments                               map[string]doc
		Refunds, Orders, Links, Codes, Payouts []doc
		Notifications                          map[string]int
	}
	var keys map[string]doc // refunds by idempotency key
	b := newBackend(func() {
		state.Payments = map[string]doc{
			"pay_captured":   {"status": "captured", "amount": 100000.0, "amount_refunded": 0.0, "notes": doc{}},
			"pay_authorized": {"status": "authorized", "amount": 100000.0, "amount_refunded": 0.0, "notes": doc{}},
		}
		state.Orders = []doc{{"amount": 100000.0, "currency": "INR", "notes": doc{}}}
		state.Links = []doc{{"amount": 100000.0, "currency": "INR", "notes": doc{}}}
		state.Refunds, state.Codes, state.Payouts = []doc{}, []doc{}, []doc{}
		state.Notifications, keys = map[string]int{}, map[string]doc{}
	}, func() any { return state })

	refuse := func(why string) (int, any) {
		return 400, doc{"error": doc{"code": "BAD_REQUEST_ERROR", "description": why}}
	}
	answer := func(entity, id string, of doc) (int, any) {
		doc := maps.Clone(of)
		doc["entity"], doc["id"] = entity, id
		return 200, doc
	}
	// create adds what the request has to a list. The list keeps no id, so that states can be compared.
	create := func(entity, prefix string, list *[]doc) func(*request) (int, any) {
		return func(r *request) (int, any) {
			*list = append(*list, r.body)
			return answer(entity, fmt.Sprintf("%s_%014d", prefix, len(*list)), r.body)
		}
	}
	// change replaces the notes of the first of a list.
	change := func(entity string, list *[]doc) func(*request) (int, any) {
		return func(r *request) (int, any) {
			if len(*list) == 0 {
				return refuse("The id provided does not exist")
			}
			maps.Copy((*list)[0], r.body)
			return answer(entity, r.PathValue("id"), (*list)[0])
		}
	}
	b.on("POST /v1/payments/{id}/refund", func(r *request) (int, any) {
		p, key := state.Payments[r.PathValue("id")], r.Header.Get("X-Refund-Idempotency")
		if made := keys[key]; made != nil {
			if fmt.Sprint(made) != fmt.Sprint(r.body) {
				return refuse("Different request with the same idempotency key has already been processed.")
			}
			return answer("refund", "rfnd_"+key, made)
		}
		left := p["amount"].(float64) - p["amount_refunded"].(float64)
		if p["status"] != "captured" || r.number("amount") > left {
			return refuse("The refund amount provided is greater than amount captured")
		}
		p["amount_refunded"] = p["amount_refunded"].(float64) + r.number("amount")
		if key != "" {
			keys[key] = r.body
		}
		return create("refund", "rfnd", &state.Refunds)(r)
	})
	b.on("POST /v1/payments/{id}/capture", func(r *request) (int, any) {
		p := state.Payments[r.PathValue("id")]
		if p["status"] != "authorized" {
			return refuse("This payment has already been captured")
		}
		p["status"] = "captured"
		return answer("payment", r.PathValue("id"), p)
	})
	b.on("GET /v1/payments/{id}", func(r *request) (int, any) {
		return answer("payment", r.PathValue("id"), state.Payments[r.PathValue("id")])
	})
	b.on("PATCH /v1/payments/{id}", func(r *request) (int, any) {
		maps.Copy(state.Payments[r.PathValue("id")], r.body)
		return answer("payment", r.PathValue("id"), state.Payments[r.PathValue("id")])
	})
	b.on("POST /v1/orders", create("order", "order", &state.Orders))
	b.on("PATCH /v1/orders/{id}", change("order", &state.Orders))
	b.on("POST /v1/payment_links", create("payment_link", "plink", &state.Links))
	b.on("PATCH /v1/payment_links/{id}", change("payment_link", &state.Links))
	b.on("POST /v1/payment_links/{id}/notify_by/{medium}", func(r *request) (int, any) {
		state.Notifications[r.PathValue("medium")]++
		return 200, doc{"success": true}
	})
	b.on("POST /v1/payments/qr_codes", create("qr_code", "qr", &state.Codes))
	b.on("POST /v1/settlements/ondemand", create("settlement.ondemand", "setlod", &state.Payouts))
	return b
}

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
)

// The services, in the order in which they start.
const (
	stock   = "stock"
	orders  = "orders"
	gateway = "gateway"
)

func services() []string { return []string{stock, orders, gateway} }

// The injection points are what the services can be asked for: service.path.
const (
	placeOrder  = "gateway.order"
	askStatus   = "gateway.status"
	ordersPlace = "orders.place"
	orderStatus = "orders.status"
	reserve     = "stock.reserve"
)

// step is what a point asks for in turn, and how long its callers wait for it.
type step struct {
	next     string
	patience time.Duration
}

func behind() map[string]step {
	return map[string]step{
		placeOrder:  {ordersPlace, 700 * time.Millisecond},
		askStatus:   {orderStatus, 700 * time.Millisecond},
		ordersPlace: {reserve, 500 * time.Millisecond},
		orderStatus: {"", 500 * time.Millisecond},
		reserve:     {"", 300 * time.Millisecond},
	}
}

// client calls the services, each through an injection point of its own.
type client struct {
	http  *http.Client
	calls map[string]func(context.Context, struct{}) (struct{}, error)

	mu    sync.Mutex
	addrs map[string]string // by service; they change when one is restarted
}

func newClient() *client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = customers
	t.Proxy = nil // loopback only
	c := &client{http: &http.Client{Transport: t}, calls: map[string]func(context.Context, struct{}) (struct{}, error){},
		addrs: map[string]string{}}
	for point, b := range behind() {
		c.calls[point] = chaos.Wrap(point, func(ctx context.Context, _ struct{}) (struct{}, error) {
			ctx, cancel := context.WithTimeout(ctx, b.patience)
			defer cancel()
			return struct{}{}, c.get(ctx, point)
		})
	}
	return c
}

// call calls a point. There are no retries here, so each call is a first attempt.
func (c *client) call(ctx context.Context, point string) error {
	_, err := c.calls[point](chaos.WithAttempt(ctx, 1), struct{}{})
	return err
}

func (c *client) get(ctx context.Context, point string) error {
	url, err := c.url(point)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("gameday: %s: %w", point, err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("gameday: %s: %w", point, err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return fmt.Errorf("gameday: %s: %w", point, err)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("gameday: %s: %s", point, resp.Status)
	}
	return nil
}

func (c *client) url(point string) (string, error) {
	service, path, _ := strings.Cut(point, ".")
	addr := c.addr(service)
	if addr == "" {
		return "", fmt.Errorf("gameday: the address of %s is not known yet", service)
	}
	return "http://" + addr + "/" + path, nil
}

func (c *client) addr(service string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.addrs[service]
}

// meet sets the address of a service.
func (c *client) meet(service, addr string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.addrs[service] = addr
}

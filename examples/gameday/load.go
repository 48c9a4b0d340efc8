package main

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/examples/internal/cli"
)

const (
	customers = 48
	// Each customer asks once in this time, so that there are 60 calls a
	// second; one who still waits for an answer does not ask again.
	interval = 800 * time.Millisecond
	// askingStatus is the share of calls that ask for the status of an order;
	// the others place one.
	askingStatus = 0.3
	seed         = 1 // of which customer asks for what
)

// load is what the customers do until the context ends. What each of them asks
// for depends on the seed; when it is answered, on the machine.
func load(ctx context.Context, c *client, in *chaos.Injector) {
	ctx = chaos.NewContext(ctx, in)
	var all sync.WaitGroup
	for i := range customers {
		all.Go(func() {
			draw := rand.New(rand.NewPCG(seed, uint64(i)))
			if cli.Sleep(ctx, interval*time.Duration(i)/customers) == nil {
				customer(ctx, c, draw)
			}
		})
	}
	all.Wait()
}

func customer(ctx context.Context, c *client, draw *rand.Rand) {
	t := time.NewTicker(interval)
	defer t.Stop()
	for {
		point := placeOrder
		if draw.Float64() < askingStatus {
			point = askStatus
		}
		_ = c.call(ctx, point) // the recorder has its outcome
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}

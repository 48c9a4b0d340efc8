// Command cmd is the triage program with object stores: STORAGE_URL may be
// s3://BUCKET?region=…, gs://BUCKET, azblob://CONTAINER, file:///DIRECTORY or mem://.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/shakedown-go/shakedown/examples/triage/blobstore"
	"github.com/shakedown-go/shakedown/examples/triage/internal/app"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C then ends the process at once
	p := app.Program{Getenv: os.Getenv, Stdout: os.Stdout, Stderr: os.Stderr,
		OpenStore: func(ctx context.Context, url string) (app.Store, error) { return blobstore.Open(ctx, url) }}
	os.Exit(p.Run(ctx, os.Args[1:]))
}

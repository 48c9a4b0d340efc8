package blobstore

import (
	"context"
	"fmt"
	"strings"

	"gocloud.dev/blob"
	_ "gocloud.dev/blob/azureblob" // azblob://CONTAINER
	_ "gocloud.dev/blob/fileblob"  // file:///DIRECTORY
	_ "gocloud.dev/blob/gcsblob"   // gs://BUCKET
	_ "gocloud.dev/blob/memblob"   // mem://
	_ "gocloud.dev/blob/s3blob"    // s3://BUCKET
)

// Open opens the bucket of a URL. Credentials come from where each provider's
// tools look for them. The error does not repeat what stands after a question
// mark, which may be a secret.
func Open(ctx context.Context, url string) (*Store, error) {
	bucket, err := blob.OpenBucket(ctx, url)
	if err != nil {
		shown, secret, _ := strings.Cut(url, "?")
		text := err.Error()
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "(hidden)")
		}
		return nil, fmt.Errorf("blobstore: STORAGE_URL is %q; allowed: s3, gs, azblob, file or mem: %s", shown, text)
	}
	return New(ctx, bucket), nil
}

// Package blobstore keeps incidents in an object store by way of
// gocloud.dev/blob: S3, Google Cloud Storage, Azure, and what else it has drivers for.
//
// Each incident is two objects, ID/incident.json and ID/output/investigation.md.
// All of these stores replace an object in one step, so a reader finds the old
// record or the new one. The report is written before the record that mentions it.
//
// It is a module of its own because of what the drivers need: 650 packages, and
// 80 modules that would otherwise stand in the build list of every example.
package blobstore

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"time"

	"gocloud.dev/blob"

	"github.com/shakedown-go/shakedown/mcpadapter/incident"
)

// requestTime bounds a request.
const requestTime = 30 * time.Second

// A Store is a bucket of incidents. It implements incident.Store, and is safe
// for concurrent use. Make it with [New], and close it.
type Store struct {
	bucket *blob.Bucket
	life   context.Context // of the requests: the runner's interface has no contexts
	stop   context.CancelFunc
}

// New keeps incidents in a bucket, which the store then owns. Requests under way
// end with the store, not with ctx, so that a record written at a shutdown arrives.
func New(ctx context.Context, bucket *blob.Bucket) *Store {
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	return &Store{bucket, life, stop}
}

// Close ends requests under way and closes the bucket.
func (s *Store) Close() error {
	s.stop()
	if err := s.bucket.Close(); err != nil {
		return fmt.Errorf("blobstore: %w", err)
	}
	return nil
}

// Save writes the report, if there is one, and then the record.
func (s *Store) Save(in incident.Incident, report []byte) error {
	if in.IncidentID == "" || strings.ContainsAny(in.IncidentID, `/\`) || strings.Trim(in.IncidentID, ".") == "" {
		return &incident.FieldError{Package: "incident", Field: "incidentId", Value: in.IncidentID, Allowed: "a name without separators"}
	}
	doc, err := json.MarshalIndent(in, "", "  ")
	if err != nil {
		return fmt.Errorf("blobstore: %w", err)
	}
	if len(report) > 0 {
		if err := s.write(path.Join(in.IncidentID, incident.ReportFile), report,
			"text/markdown; charset=utf-8"); err != nil {
			return err
		}
	}
	return s.write(path.Join(in.IncidentID, incident.RecordFile), append(doc, '\n'), "application/json")
}

func (s *Store) write(key string, data []byte, kind string) error {
	ctx, cancel := context.WithTimeout(s.life, requestTime)
	defer cancel()
	if err := s.bucket.WriteAll(ctx, key, data, &blob.WriterOptions{ContentType: kind}); err != nil {
		return fmt.Errorf("blobstore: write %s: %w", key, err)
	}
	return nil
}

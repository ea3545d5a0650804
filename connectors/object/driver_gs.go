//go:build gs

package object

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"

	gcs "cloud.google.com/go/storage"
	"gocloud.dev/blob"
	"gocloud.dev/blob/gcsblob"
	"gocloud.dev/gcp"
	"google.golang.org/api/googleapi"
)

func init() {
	drivers["gs"] = &driver{
		open: openGS, tag: tagGS, pinned: pinnedGS, startAfter: startAfterGS, status: statusGS,
		help: "set GOOGLE_APPLICATION_CREDENTIALS or log in with gcloud; for a public bucket set SLUICE_GS_ANONYMOUS=1",
	}
}

// openGS honours STORAGE_EMULATOR_HOST, as Google's own clients do. Unfinished uploads need no sweeping: they expire.
func openGS(ctx context.Context, c Config, name string) (*blob.Bucket, error) {
	if c.GSAnonymous || os.Getenv("STORAGE_EMULATOR_HOST") != "" {
		return gcsblob.OpenBucket(ctx, gcp.NewAnonymousHTTPClient(http.DefaultTransport), name, nil)
	}
	creds, err := gcp.DefaultCredentials(ctx)
	if err != nil {
		return nil, fmt.Errorf("no credentials (%s): %w", drivers["gs"].help, err)
	}
	client, err := gcp.NewHTTPClient(gcp.DefaultTransport(), gcp.CredentialsTokenSource(creds))
	if err != nil {
		return nil, err
	}
	return gcsblob.OpenBucket(ctx, client, name, nil)
}

// tagGS is the generation: requests are conditional on it, not on ETags.
func tagGS(as asFunc) string {
	var o gcs.ObjectAttrs
	if as(&o) && o.Generation != 0 {
		return strconv.FormatInt(o.Generation, 10)
	}
	return ""
}

func pinnedGS(as asFunc, tag string) error {
	var o **gcs.ObjectHandle
	if !as(&o) || tag == "" {
		return nil
	}
	gen, err := strconv.ParseInt(tag, 10, 64)
	if err != nil {
		return fmt.Errorf("generation %q of an object is not a number", tag)
	}
	*o = (*o).If(gcs.Conditions{GenerationMatch: gen})
	return nil
}

// startAfterGS begins at the key, which the listing then leaves out.
func startAfterGS(as asFunc, key string) bool {
	var q *gcs.Query
	if as(&q) {
		q.StartOffset = key
	}
	return true
}

func statusGS(err error) (int, time.Duration) {
	if e, ok := errors.AsType[*googleapi.Error](err); ok {
		return e.Code, retryAfter(e.Header)
	}
	return 0, 0
}

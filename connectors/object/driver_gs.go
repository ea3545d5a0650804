//go:build gs

package object

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	gcs "cloud.google.com/go/storage"
	"github.com/googleapis/gax-go/v2"
	"gocloud.dev/blob"
	"gocloud.dev/blob/gcsblob"
	"gocloud.dev/gcp"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"
)

func init() {
	drivers["gs"] = &driver{
		open: openGS, tag: tagGS, pinned: pinnedGS, listed: listedGS, status: statusGS,
		noBucket: func(err error) bool { return errors.Is(err, gcs.ErrBucketNotExist) },
		help:     "set GOOGLE_APPLICATION_CREDENTIALS or log in with gcloud; for a public bucket set SLUICE_GS_ANONYMOUS=1",
	}
}

// openGS honours STORAGE_EMULATOR_HOST, as Google's own clients do. Unfinished uploads need no sweeping: they expire.
func openGS(ctx context.Context, c Config, name string) (*blob.Bucket, error) {
	client, err := clientGS(ctx, c)
	if err != nil {
		return nil, err
	}
	opts := &gcsblob.Options{}
	if c.GSEndpoint != "" {
		opts.ClientOptions = append(opts.ClientOptions, option.WithEndpoint(strings.TrimSuffix(c.GSEndpoint, "/")+"/storage/v1/"))
	}
	b, err := gcsblob.OpenBucket(ctx, client, name, opts)
	if err != nil {
		return nil, err
	}
	var own *gcs.Client
	if !b.As(&own) {
		return nil, errors.Join(errors.New("the client of Google's storage is not what it was"), b.Close())
	}
	// Every request may be repeated: what is created on condition is compared when the answer says that it exists.
	own.SetRetry(gcs.WithPolicy(gcs.RetryAlways), gcs.WithMaxAttempts(attempts),
		gcs.WithBackoff(gax.Backoff{Initial: firstPause, Max: longestPause, Multiplier: 2}), gcs.WithErrorFunc(retriesGS))
	return b, nil
}

func clientGS(ctx context.Context, c Config) (*gcp.HTTPClient, error) {
	base := politeTransport{newTransport()}
	if c.GSAnonymous || os.Getenv("STORAGE_EMULATOR_HOST") != "" {
		return gcp.NewAnonymousHTTPClient(base), nil
	}
	creds, err := gcp.DefaultCredentials(ctx)
	if err != nil {
		return nil, fmt.Errorf("no credentials (%s): %w", drivers["gs"].help, err)
	}
	return gcp.NewHTTPClient(base, gcp.CredentialsTokenSource(creds))
}

// politeTransport holds an answer back for as long as the store asks to wait (Retry-After), which the client does not know of, and ends requests that the
// client would repeat for ever.
type politeTransport struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (p politeTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := p.base.RoundTrip(r)
	if isReading(r.Context()) || err == nil && resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode < 500 {
		return resp, err
	}
	if attemptGS(r) >= attempts {
		if err == nil {
			err = errors.Join(errors.New("the store answers "+resp.Status), resp.Body.Close())
		}
		return nil, &givenUpError{err}
	}
	if err != nil {
		return nil, err
	}
	t := time.NewTimer(retryAfter(resp.Header))
	defer t.Stop()
	select {
	case <-t.C:
	case <-r.Context().Done():
	}
	return resp, nil
}

// attemptGS is which attempt at the same a request is, as the client says in a header.
func attemptGS(r *http.Request) int {
	_, rest, _ := strings.Cut(r.Header.Get("X-Goog-Api-Client"), "gccl-attempt-count/")
	n, _ := strconv.Atoi(strings.SplitN(rest, " ", 2)[0]) // 0: it does not say
	return n
}

// givenUpError is the last failure of a request.
type givenUpError struct{ cause error }

func (e *givenUpError) Error() string {
	return fmt.Sprintf("given up after %d attempts: %v", attempts, e.cause)
}

func (e *givenUpError) Unwrap() error { return e.cause }

// retriesGS tells whether the client is to try again.
func retriesGS(err error) bool {
	if _, over := errors.AsType[*givenUpError](err); over {
		return false
	}
	code, _ := statusGS(err)
	return gcs.ShouldRetry(err) || transient(err, code)
}

// tagGS is the generation: requests are conditional on it, not on ETags.
func tagGS(as asFunc) string {
	var o gcs.ObjectAttrs
	if as(&o) && o.Generation != 0 {
		return strconv.FormatInt(o.Generation, 10)
	}
	return ""
}

// pinnedGS leaves repeating a read to the caller, which resumes it where it broke, and takes the bytes as they are stored: ranges of what
// the store decompresses on the way would be of another file.
func pinnedGS(as asFunc, tag string) error {
	var o **gcs.ObjectHandle
	if !as(&o) {
		return nil
	}
	*o = (*o).ReadCompressed(true).Retryer(gcs.WithPolicy(gcs.RetryNever))
	if tag == "" {
		return nil
	}
	gen, err := strconv.ParseInt(tag, 10, 64)
	if err != nil {
		return fmt.Errorf("generation %q of an object is not a number", tag)
	}
	*o = (*o).Generation(gen)
	return nil
}

// listedGS asks for no more than is used, and begins at a key, which the listing then leaves out.
func listedGS(as asFunc, after string) error {
	var q *gcs.Query
	if !as(&q) {
		return nil
	}
	if after != "" {
		q.StartOffset = after
	}
	return q.SetAttrSelection([]string{"Name", "Size", "Updated", "Generation"})
}

func statusGS(err error) (int, time.Duration) {
	if e, ok := errors.AsType[*googleapi.Error](err); ok {
		return e.Code, retryAfter(e.Header)
	}
	return 0, 0
}

//go:build az

package object

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	azblob "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"gocloud.dev/blob"
	"gocloud.dev/blob/azureblob"
)

func init() {
	drivers["az"] = &driver{
		open: openAZ, tag: tagAZ, pinned: pinnedAZ, reading: readingAZ, status: statusAZ, brief: briefAZ,
		noBucket: func(err error) bool { return bloberror.HasCode(err, bloberror.ContainerNotFound) },
		help:     "set AZURE_STORAGE_ACCOUNT with AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN or a login, or AZURE_STORAGE_CONNECTION_STRING; for a public container set SLUICE_AZ_ANONYMOUS=1",
	}
}

// openAZ opens a container of the account that the environment names. Blocks that were never committed expire after a week.
func openAZ(ctx context.Context, c Config, name string) (*blob.Bucket, error) {
	client, err := clientAZ(c, name)
	if err != nil {
		return nil, err
	}
	return azureblob.OpenBucket(ctx, client, nil)
}

// clientAZ looks for credentials in the order in which they are named in docs/environment.md.
func clientAZ(c Config, name string) (*container.Client, error) {
	opts := &container.ClientOptions{ClientOptions: azcore.ClientOptions{
		Transport: &http.Client{Transport: newTransport()},
		Retry: policy.RetryOptions{MaxRetries: attempts - 1, RetryDelay: firstPause, MaxRetryDelay: longestPause,
			StatusCodes: []int{http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
				http.StatusServiceUnavailable, http.StatusGatewayTimeout}},
	}}
	account := c.AZAccount
	if text := os.Getenv("AZURE_STORAGE_CONNECTION_STRING"); text != "" && !c.AZAnonymous && c.AZEndpoint == "" && account == "" {
		client, err := container.NewClientFromConnectionString(text, name, opts)
		if err != nil {
			return nil, errors.New("AZURE_STORAGE_CONNECTION_STRING cannot be read") // its error would show it
		}
		return client, nil
	}
	service := c.AZEndpoint
	if service == "" {
		if account == "" {
			return nil, fmt.Errorf("no account is named: %s", drivers["az"].help)
		}
		service = "https://" + account + ".blob.core.windows.net"
	}
	if u, err := url.Parse(service); err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return nil, errors.New("SLUICE_AZ_ENDPOINT: want the address of an account without credentials, such as http://localhost:10000/NAME")
	}
	at := strings.TrimSuffix(service, "/") + "/" + url.PathEscape(name)
	switch key, sas := os.Getenv("AZURE_STORAGE_KEY"), strings.TrimPrefix(os.Getenv("AZURE_STORAGE_SAS_TOKEN"), "?"); {
	case c.AZAnonymous:
		return container.NewClientWithNoCredential(at, opts)
	case key != "":
		if account == "" {
			return nil, fmt.Errorf("AZURE_STORAGE_KEY is set and no account is named: %s", drivers["az"].help)
		}
		cred, err := container.NewSharedKeyCredential(account, key)
		if err != nil {
			return nil, errors.New("AZURE_STORAGE_KEY is not in base64")
		}
		return container.NewClientWithSharedKeyCredential(at, cred, opts)
	case sas != "":
		return container.NewClientWithNoCredential(at+"?"+sas, opts)
	}
	cred, err := azidentity.NewDefaultAzureCredential(nil)
	if err != nil {
		return nil, fmt.Errorf("no credentials (%s): %w", drivers["az"].help, err)
	}
	return container.NewClient(at, cred, opts)
}

func tagAZ(as asFunc) string {
	var item container.BlobItem
	var props azblob.GetPropertiesResponse
	switch {
	case as(&item):
		if item.Properties != nil && item.Properties.ETag != nil {
			return azTag(*item.Properties.ETag)
		}
	case as(&props):
		if props.ETag != nil {
			return azTag(*props.ETag)
		}
	}
	return ""
}

// azTag writes a version in one way: listings leave out the quotes that answers about one object have.
func azTag(t azcore.ETag) string {
	s := string(t)
	if len(s) >= 2 && s[0] == '"' {
		s = s[1 : len(s)-1]
	}
	return s
}

func pinnedAZ(as asFunc, tag string) error {
	var o *azblob.DownloadStreamOptions
	if as(&o) && tag != "" {
		match := azcore.ETag(`"` + tag + `"`)
		o.AccessConditions = &azblob.AccessConditions{ModifiedAccessConditions: &azblob.ModifiedAccessConditions{IfMatch: &match}}
	}
	return nil
}

// readingAZ leaves repeating a read to the caller, which resumes it where it broke.
func readingAZ(ctx context.Context) context.Context {
	return policy.WithRetryOptions(ctx, policy.RetryOptions{MaxRetries: -1})
}

func statusAZ(err error) (int, time.Duration) {
	e, ok := errors.AsType[*azcore.ResponseError](err)
	if !ok {
		return 0, 0
	}
	if e.RawResponse == nil {
		return e.StatusCode, 0
	}
	return e.StatusCode, retryAfter(e.RawResponse.Header)
}

// answerError is an answer of the store in one line; the client draws a picture of it.
type answerError struct{ *azcore.ResponseError }

func (e answerError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("the store answers %d %s", e.StatusCode, e.ErrorCode))
}

// Unwrap returns the client's own error.
func (e answerError) Unwrap() error { return e.ResponseError }

func briefAZ(err error) error {
	if e, ok := errors.AsType[*azcore.ResponseError](err); ok {
		return answerError{e}
	}
	return err
}

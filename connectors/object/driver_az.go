//go:build az

package object

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	azblob "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"gocloud.dev/blob"
	"gocloud.dev/blob/azureblob"
)

func init() {
	drivers["az"] = &driver{
		open: openAZ, tag: tagAZ, pinned: pinnedAZ, startAfter: func(asFunc, string) bool { return false }, status: statusAZ,
		help: "set AZURE_STORAGE_ACCOUNT with AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN or a login; for a public container set SLUICE_AZ_ANONYMOUS=1",
	}
}

// openAZ opens a container of the account that the environment names. Blocks that were never committed expire after a week.
func openAZ(ctx context.Context, c Config, name string) (*blob.Bucket, error) {
	where := azureblob.NewDefaultServiceURLOptions()
	if where.AccountName == "" {
		return nil, fmt.Errorf("no account is named: %s", drivers["az"].help)
	}
	service, err := azureblob.NewServiceURL(where)
	if err != nil {
		return nil, err
	}
	var client *container.Client
	if c.AZAnonymous {
		client, err = container.NewClientWithNoCredential(string(service)+"/"+name, nil)
	} else {
		client, err = azureblob.NewDefaultClient(service, azureblob.ContainerName(name))
	}
	if err != nil {
		return nil, err
	}
	return azureblob.OpenBucket(ctx, client, nil)
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

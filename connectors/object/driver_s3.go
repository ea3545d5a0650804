package object

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/logging"
	"gocloud.dev/blob"
	"gocloud.dev/blob/s3blob"
)

func init() {
	drivers["s3"] = &driver{
		open: openS3, tag: tagS3, pinned: pinnedS3, listed: listedS3, status: statusS3, sweep: sweepS3, copyLimit: 5 << 30,
		noBucket: func(err error) bool { return strings.Contains(err.Error(), "NoSuchBucket") },
		help:     "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; for a public bucket set SLUICE_S3_ANONYMOUS=1",
	}
}

// defaultRegion is Amazon's own default; other stores take any.
const defaultRegion = "us-east-1"

func openS3(ctx context.Context, c Config, name string) (*blob.Bucket, error) {
	opts := []func(*config.LoadOptions) error{
		config.WithHTTPClient(awshttp.NewBuildableClient().WithTransportOptions(tune).WithDialerOptions(func(d *net.Dialer) { d.Timeout = dialTime })),
		config.WithDefaultRegion(defaultRegion),
		config.WithLogger(logging.Nop{}), // what matters is in the errors
		config.WithRetryer(func() aws.Retryer { return newRetryer() }),
	}
	if c.S3Region != "" {
		opts = append(opts, config.WithRegion(c.S3Region))
	}
	if c.S3Profile != "" && os.Getenv("AWS_ACCESS_KEY_ID") == "" {
		opts = append(opts, config.WithSharedConfigProfile(c.S3Profile))
	}
	if c.S3Anonymous {
		opts = append(opts, config.WithCredentialsProvider(aws.AnonymousCredentials{}))
	}
	cfg, err := config.LoadDefaultConfig(ctx, opts...)
	if err != nil {
		return nil, err
	}
	client := s3.NewFromConfig(cfg, func(o *s3.Options) {
		o.UsePathStyle = c.S3PathStyle
		o.DisableLogOutputChecksumValidationSkipped = true
		if c.S3Endpoint != "" {
			o.BaseEndpoint = aws.String(c.S3Endpoint)
			o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
			o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
		}
	})
	bo := &s3blob.Options{RequestChecksumCalculation: cfg.RequestChecksumCalculation}
	if c.S3Endpoint != "" { // other stores do not know the newer checksums
		bo.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
	}
	return s3blob.OpenBucket(ctx, client, name, bo)
}

// retryer is the client's own with the pause that the store asks for.
type retryer struct{ *retry.Standard }

func newRetryer() aws.Retryer {
	return retryer{retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts, o.MaxBackoff = attempts, longestPause
		o.RateLimiter = ratelimit.None // it would give up early where many requests are throttled at once
		o.Retryables = append(o.Retryables, retry.RetryableHTTPStatusCode{Codes: map[int]struct{}{409: {}, 429: {}}},
			retry.IsErrorRetryableFunc(brokenAnswer))
	})}
}

// brokenAnswer finds answers that broke off (a page of a listing), which the client does not repeat by itself.
func brokenAnswer(err error) aws.Ternary {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return aws.TrueTernary
	}
	return aws.UnknownTernary
}

// RetryDelay implements aws.Retryer.
func (r retryer) RetryDelay(attempt int, err error) (time.Duration, error) {
	if _, pause := statusS3(err); pause > 0 {
		return pause, nil
	}
	return r.Standard.RetryDelay(attempt, err)
}

func tagS3(as asFunc) string {
	var o types.Object
	var h s3.HeadObjectOutput
	switch {
	case as(&o):
		return aws.ToString(o.ETag)
	case as(&h):
		return aws.ToString(h.ETag)
	}
	return ""
}

// pinnedS3 also leaves repeating a read to the caller, which resumes it where it broke.
func pinnedS3(as asFunc, tag string) error {
	var in *s3.GetObjectInput
	if as(&in) && tag != "" {
		in.IfMatch = aws.String(tag)
	}
	var opts *[]func(*s3.Options)
	if as(&opts) {
		*opts = append(*opts, func(o *s3.Options) { o.Retryer = aws.NopRetryer{} })
	}
	return nil
}

func listedS3(as asFunc, after string) error {
	var in *s3.ListObjectsV2Input
	if as(&in) && after != "" {
		in.StartAfter = aws.String(after)
	}
	return nil
}

func statusS3(err error) (int, time.Duration) {
	re, ok := errors.AsType[*awshttp.ResponseError](err)
	if !ok {
		return 0, 0
	}
	resp := re.HTTPResponse()
	if resp == nil || resp.Response == nil {
		return 0, 0
	}
	return resp.StatusCode, retryAfter(resp.Header)
}

// sweepS3 aborts the uploads that a killed run left; their parts cost money and show nowhere.
func sweepS3(ctx context.Context, b *blob.Bucket, name, prefix string) error {
	var client *s3.Client
	if !b.As(&client) {
		return nil
	}
	in := &s3.ListMultipartUploadsInput{Bucket: aws.String(name), Prefix: aws.String(prefix)}
	for {
		out, err := client.ListMultipartUploads(ctx, in)
		if err != nil {
			return err
		}
		for _, u := range out.Uploads {
			_, err := client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: in.Bucket, Key: u.Key, UploadId: u.UploadId})
			if code, _ := statusS3(err); err != nil && code != 404 {
				return err
			}
		}
		if !aws.ToBool(out.IsTruncated) {
			return nil
		}
		in.KeyMarker, in.UploadIdMarker = out.NextKeyMarker, out.NextUploadIdMarker
	}
}

package object

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluice-data/sluice/dataset"
)

func TestFromEnv(t *testing.T) {
	for _, c := range []struct {
		name  string
		env   map[string]string
		check func(Config) bool
		want  string // of the error
	}{
		{"nothing", nil, func(c Config) bool {
			return c.Ranges == 4 && c.RangeBytes == 4<<20 && !c.S3PathStyle && c.Patience == time.Minute && c.UploadMany == 3
		}, ""},
		{"an endpoint", map[string]string{"SLUICE_S3_ENDPOINT": "http://x:9000"}, func(c Config) bool { return c.S3PathStyle && c.S3Endpoint == "http://x:9000" }, ""},
		{"hosts", map[string]string{"SLUICE_S3_ENDPOINT": "http://x", "SLUICE_S3_PATH_STYLE": "false"}, func(c Config) bool { return !c.S3PathStyle }, ""},
		{"sizes", map[string]string{"SLUICE_OBJECT_RANGES": "16", "SLUICE_OBJECT_RANGE_SIZE": "1MiB", "SLUICE_OBJECT_PATIENCE": "90s"},
			func(c Config) bool { return c.Ranges == 16 && c.RangeBytes == 1<<20 && c.Patience == 90*time.Second }, ""},
		{"endpoints", map[string]string{"SLUICE_GS_ENDPOINT": "http://x:4443", "SLUICE_AZ_ENDPOINT": "http://x:10000/a", "SLUICE_OBJECT_FILES": "100"},
			func(c Config) bool {
				return c.GSEndpoint == "http://x:4443" && c.AZEndpoint == "http://x:10000/a" && c.Files == 100
			}, ""},
		{"bad flag", map[string]string{"SLUICE_S3_ANONYMOUS": "maybe"}, nil, `SLUICE_S3_ANONYMOUS="maybe": want true or false`},
		{"bad number", map[string]string{"SLUICE_OBJECT_RANGES": "0"}, nil, "from 1 to 256"},
		{"bad size", map[string]string{"SLUICE_OBJECT_UPLOAD_PART": "1KiB"}, nil, "from 5MiB"},
		{"bad duration", map[string]string{"SLUICE_OBJECT_STALL": "-1s"}, nil, "a duration like"},
	} {
		got, err := fromEnv(func(k string) string { return c.env[k] }, nil)
		if c.want == "" {
			if err != nil || !c.check(got) {
				t.Errorf("%s: %+v, %v", c.name, got, err)
			}
			continue
		}
		if _, usage := errors.AsType[*dataset.UsageError](err); !usage || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	for v, want := range map[string]time.Duration{"": 0, "0": 0, "7": 7 * time.Second, "-3": 0, "99999999": 5 * time.Minute, "soon": 0,
		"Mon, 02 Jan 2006 15:04:05 GMT": 0, time.Now().Add(24 * time.Hour).UTC().Format(http.TimeFormat): 5 * time.Minute} {
		if got := retryAfter(http.Header{"Retry-After": {v}}); got != want {
			t.Errorf("%q: %s, want %s", v, got, want)
		}
	}
}

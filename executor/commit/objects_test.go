//go:build objects

package commit_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/sluice-data/sluice/connectors/object"
	"github.com/sluice-data/sluice/connectors/object/objecttest"
)

// buckets is the S3 server of these tests.
var buckets *objecttest.Gateway

func init() {
	if err := object.Register(nil); err != nil {
		panic(err)
	}
	leakOptions = append(leakOptions, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
	serve = func() (stop func() error, err error) {
		if buckets, err = objecttest.Start("../../.cache/bin/versitygw"); err != nil {
			return nil, err
		}
		os.Setenv(bucketsVariable, buckets.Root)
		os.Setenv("SLUICE_S3_ENDPOINT", "http://"+buckets.Address)
		return buckets.Stop, nil
	}
}

// inBucket gives a world a bucket of its own.
func inBucket(t *testing.T, w world) world {
	t.Helper()
	name, dir, err := buckets.Bucket()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	w.Path = "s3://" + name + w.Path
	return w
}

// TestChaosObjects is TestChaos on an S3 server.
func TestChaosObjects(t *testing.T) {
	least := 1
	if os.Getenv("SLUICE_CHAOS") != "" {
		least = 50
	}
	chaos(t, least, func(t *testing.T, _ string, w world) world { return inBucket(t, w) })
}

// TestKillObjectsAtRandom kills runs on an S3 server from outside, several times, before one is left to end.
func TestKillObjectsAtRandom(t *testing.T) {
	killAtRandom(t, func(t *testing.T, w world) world { return inBucket(t, w) })
}

//go:build objects

package commit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/sluice-data/sluice/connectors/object"
	"github.com/sluice-data/sluice/connectors/object/objecttest"
)

// clouds are the servers of these tests, by scheme.
var clouds = map[string]*objecttest.Server{}

func init() {
	if err := object.Register(nil); err != nil {
		panic(err)
	}
	leakOptions = append(leakOptions, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
	serve = func() (stop func() error, err error) {
		all, stop, err := objecttest.StartAll("../..", objecttest.Schemes...)
		for _, s := range all {
			clouds[s.Scheme] = s
		}
		return stop, err
	}
	onDisk = copied
}

// copied copies the bucket of a URL to the disk, into the folder that copies names, if it is not a folder itself, and returns where the path is
// in it.
func copied(path string) string {
	scheme, rest, isURL := strings.Cut(path, "://")
	if !isURL {
		return path
	}
	bucket, _, _ := strings.Cut(rest, "/")
	dir, isFolder := clouds[scheme].Folder(bucket)
	if !isFolder {
		dir = copies[scheme+"://"+bucket]
		if err := clouds[scheme].Copy(bucket, "", dir); err != nil {
			panic(err)
		}
	}
	out := filepath.Join(dir, strings.TrimPrefix(rest, bucket))
	if strings.HasSuffix(path, "/") {
		out += "/"
	}
	return out
}

// copies are the folders for the copies of buckets, by URL.
var copies = map[string]string{}

// inBucket gives a world a bucket of its own.
func inBucket(t *testing.T, s *objecttest.Server, w world) world {
	t.Helper()
	name, err := s.Bucket()
	if err != nil {
		t.Fatal(err)
	}
	bucket := s.Scheme + "://" + name
	copies[bucket] = t.TempDir()
	t.Cleanup(func() { // a server that keeps everything in memory would grow
		delete(copies, bucket)
		keys, err := s.Keys(name, "")
		if err != nil {
			t.Error(err)
		}
		for _, k := range keys {
			if err := s.Remove(name, k); err != nil {
				t.Error(err)
			}
		}
	})
	w.Path = bucket + w.Path
	return w
}

// TestChaosObjects is TestChaos on real servers of the clouds.
func TestChaosObjects(t *testing.T) {
	least := 1
	if os.Getenv("SLUICE_CHAOS") != "" {
		least = 50
	}
	for scheme, s := range clouds {
		t.Run(scheme, func(t *testing.T) {
			chaos(t, least, func(t *testing.T, _ string, w world) world { return inBucket(t, s, w) })
		})
	}
}

// TestKillObjectsAtRandom kills runs on real servers from outside, several times, before one is left to end.
func TestKillObjectsAtRandom(t *testing.T) {
	for scheme, s := range clouds {
		t.Run(scheme, func(t *testing.T) {
			killAtRandom(t, func(t *testing.T, w world) world { return inBucket(t, s, w) })
		})
	}
}

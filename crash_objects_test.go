//go:build objects

package sluice_test

import (
	"path/filepath"
	"testing"

	"github.com/sluice-data/sluice/connectors/object/objecttest"
)

func init() { crashTags += ",gs,az" }

// TestCrashObjects is TestCrash on real servers of the clouds.
func TestCrashObjects(t *testing.T) {
	for _, scheme := range objecttest.Schemes {
		t.Run(scheme, func(t *testing.T) {
			server, err := objecttest.Start(".", scheme)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := server.Stop(); err != nil {
					t.Error(err)
				}
			}()
			crashMatrix(t, func(t *testing.T) crashPlace {
				bucket, err := server.Bucket()
				if err != nil {
					t.Fatal(err)
				}
				at := crashPlace{url: scheme + "://" + bucket, env: server.Environ(server.Address)}
				if dir, ok := server.Folder(bucket); ok {
					at.dir = dir
					return at
				}
				at.dir = filepath.Join(t.TempDir(), bucket)
				at.fetch = func() error { return server.Copy(bucket, "", at.dir) }
				return at
			})
		})
	}
}

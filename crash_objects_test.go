//go:build objects

package sluice_test

import (
	"testing"

	"github.com/sluice-data/sluice/connectors/object/objecttest"
)

// TestCrashObjects is TestCrash on an S3 server.
func TestCrashObjects(t *testing.T) {
	server, err := objecttest.Start(".cache/bin/versitygw")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	}()
	crashMatrix(t, func(t *testing.T) crashPlace {
		bucket, dir, err := server.Bucket()
		if err != nil {
			t.Fatal(err)
		}
		return crashPlace{url: "s3://" + bucket, dir: dir, env: server.Environ()}
	})
}

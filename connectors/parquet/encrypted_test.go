package parquet

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	apq "github.com/apache/arrow-go/v18/parquet"
)

// TestEncryptedFiles reads files that another implementation encrypted in each way there is.
func TestEncryptedFiles(t *testing.T) {
	key := strings.Repeat("k", 16)
	column := func(name string) *apq.ColumnEncryptionProperties {
		return apq.NewColumnEncryptionProperties(name, apq.WithKey(strings.Repeat("c", 16)), apq.WithKeyID("kc"))
	}
	for _, c := range []struct {
		name string
		opts []apq.EncryptOption
		want string
	}{
		{"everything", nil, ""},
		{"footer and one column", []apq.EncryptOption{apq.WithEncryptedColumns(apq.ColumnPathToEncryptionPropsMap{"name": column("name")})}, ""},
		{"one column under a plain footer", []apq.EncryptOption{apq.WithPlaintextFooter(),
			apq.WithEncryptedColumns(apq.ColumnPathToEncryptionPropsMap{"name": column("name")})}, "encrypted columns: name"},
		{"all columns under a plain footer", []apq.EncryptOption{apq.WithPlaintextFooter()}, "encrypted columns: id, name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := jsonBatch(t, fields("id", arrow.PrimitiveTypes.Int64, "name", arrow.BinaryTypes.String), `{"id":1,"name":"x"}`)
			raw := pqWrite(t, b, apq.NewWriterProperties(apq.WithEncryptionProperties(apq.NewFileEncryptionProperties(key, c.opts...))))
			if _, err := Open(bytes.NewReader(raw), int64(len(raw))); !errors.Is(err, ErrEncrypted) {
				t.Fatalf("opened: %v", err)
			}
			path := filepath.Join(t.TempDir(), "secret.parquet")
			if err := os.WriteFile(path, raw, 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := openFile(t, path).Schema(t.Context())
			if !errors.Is(err, ErrEncrypted) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "without encryption") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want the file, the remedy and %q", err, c.want)
			}
		})
	}
}

package schema

import (
	"bytes"
	"encoding/base64"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/sluice-data/sluice/connectors/parquet/internal/meta"
	"github.com/sluice-data/sluice/dataset/codec/arrowmeta"
)

// ArrowKey is the footer entry that holds the Arrow schema of the writer: an
// encapsulated IPC schema message in base64. Arrow C++ defines it.
const ArrowKey = "ARROW:schema"

// storedSchema decodes the ARROW:schema entry; nil without one.
func storedSchema(m *meta.FileMetaData) (s *arrow.Schema, err error) {
	text, ok := m.Lookup(ArrowKey)
	if !ok {
		return nil, nil
	}
	defer func() {
		if p := recover(); p != nil {
			s, err = nil, fmt.Errorf("malformed schema message: %v", p)
		}
	}()
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	if err := checkMessage(b); err != nil {
		return nil, err
	}
	r, err := ipc.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	defer r.Release()
	return r.Schema(), nil
}

// checkMessage makes sure that what the IPC reader allocates is covered by the
// bytes: the message's length and the lists in it.
func checkMessage(b []byte) error {
	m, err := arrowmeta.Encapsulated(b)
	if err != nil {
		return err
	}
	return arrowmeta.VerifySchema(m)
}

// Serialize encodes a schema as the value of the ARROW:schema entry.
func Serialize(s *arrow.Schema) (string, error) {
	var buf bytes.Buffer
	w := ipc.NewWriter(&buf, ipc.WithSchema(s))
	if err := w.Close(); err != nil {
		return "", fmt.Errorf("encode Arrow schema: %w", err)
	}
	return base64.StdEncoding.EncodeToString(buf.Bytes()), nil
}

package meta

import (
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// Statistics are the bounds and the null count of a column chunk. Min and Max
// (the deprecated pair) are only trustworthy for signed comparison.
type Statistics struct {
	Max             thrift.Null[[]byte] `thrift:"1,optional"`
	Min             thrift.Null[[]byte] `thrift:"2,optional"`
	NullCount       thrift.Null[int64]  `thrift:"3,optional"`
	DistinctCount   thrift.Null[int64]  `thrift:"4,optional"`
	MaxValue        thrift.Null[[]byte] `thrift:"5,optional"`
	MinValue        thrift.Null[[]byte] `thrift:"6,optional"`
	IsMaxValueExact thrift.Null[bool]   `thrift:"7,optional"`
	IsMinValueExact thrift.Null[bool]   `thrift:"8,optional"`
}

// SchemaElement is one node of the flattened schema tree.
type SchemaElement struct {
	Type           thrift.Null[format.Type]                `thrift:"1,optional"`
	TypeLength     thrift.Null[int32]                      `thrift:"2,optional"`
	RepetitionType thrift.Null[format.FieldRepetitionType] `thrift:"3,optional"`
	Name           string                                  `thrift:"4,required"`
	NumChildren    thrift.Null[int32]                      `thrift:"5,optional"`
	ConvertedType  thrift.Null[deprecated.ConvertedType]   `thrift:"6,optional"`
	Scale          thrift.Null[int32]                      `thrift:"7,optional"`
	Precision      thrift.Null[int32]                      `thrift:"8,optional"`
	FieldID        thrift.Null[int32]                      `thrift:"9,optional"`
	LogicalType    format.LogicalType                      `thrift:"10,optional"`
}

// ColumnMetaData describes one column chunk.
type ColumnMetaData struct {
	Type                  format.Type                            `thrift:"1,required"`
	Encodings             thrift.Slice[format.Encoding]          `thrift:"2,required"`
	PathInSchema          thrift.Slice[string]                   `thrift:"3,required"`
	Codec                 format.CompressionCodec                `thrift:"4,required"`
	NumValues             int64                                  `thrift:"5,required"`
	TotalUncompressedSize int64                                  `thrift:"6,required"`
	TotalCompressedSize   int64                                  `thrift:"7,required"`
	KeyValueMetadata      thrift.Slice[format.KeyValue]          `thrift:"8,optional"`
	DataPageOffset        int64                                  `thrift:"9,required"`
	IndexPageOffset       thrift.Null[int64]                     `thrift:"10,optional"`
	DictionaryPageOffset  thrift.Null[int64]                     `thrift:"11,optional"`
	Statistics            thrift.Null[Statistics]                `thrift:"12,optional"`
	EncodingStats         thrift.Slice[format.PageEncodingStats] `thrift:"13,optional"`
	BloomFilterOffset     thrift.Null[int64]                     `thrift:"14,optional"`
	BloomFilterLength     thrift.Null[int32]                     `thrift:"15,optional"`
}

// ColumnChunk locates one column of one row group.
type ColumnChunk struct {
	FilePath          thrift.Null[string]         `thrift:"1,optional"`
	FileOffset        int64                       `thrift:"2,required"`
	MetaData          thrift.Null[ColumnMetaData] `thrift:"3,optional"`
	OffsetIndexOffset thrift.Null[int64]          `thrift:"4,optional"`
	OffsetIndexLength thrift.Null[int32]          `thrift:"5,optional"`
	ColumnIndexOffset thrift.Null[int64]          `thrift:"6,optional"`
	ColumnIndexLength thrift.Null[int32]          `thrift:"7,optional"`
	CryptoMetadata    format.ColumnCryptoMetaData `thrift:"8,optional"`
	EncryptedMetadata thrift.Null[[]byte]         `thrift:"9,optional"`
}

// RowGroup is a horizontal slice of the file: one chunk per leaf column.
type RowGroup struct {
	Columns             thrift.Slice[ColumnChunk]          `thrift:"1,required"`
	TotalByteSize       int64                              `thrift:"2,required"`
	NumRows             int64                              `thrift:"3,required"`
	SortingColumns      thrift.Slice[format.SortingColumn] `thrift:"4,optional"`
	FileOffset          thrift.Null[int64]                 `thrift:"5,optional"`
	TotalCompressedSize thrift.Null[int64]                 `thrift:"6,optional"`
	Ordinal             thrift.Null[int16]                 `thrift:"7,optional"`
}

// FileMetaData is the footer.
type FileMetaData struct {
	Version             int32                            `thrift:"1,required"`
	Schema              thrift.Slice[SchemaElement]      `thrift:"2,required"`
	NumRows             int64                            `thrift:"3,required"`
	RowGroups           thrift.Slice[RowGroup]           `thrift:"4,required"`
	KeyValueMetadata    thrift.Slice[format.KeyValue]    `thrift:"5,optional"`
	CreatedBy           string                           `thrift:"6,optional"`
	ColumnOrders        thrift.Slice[format.ColumnOrder] `thrift:"7,optional"`
	EncryptionAlgorithm format.EncryptionAlgorithm       `thrift:"8,optional"`
	FooterSigningKey    thrift.Null[[]byte]              `thrift:"9,optional"`
}

// Lookup returns the file-level value stored under key.
func (m *FileMetaData) Lookup(key string) (string, bool) {
	for i := range m.KeyValueMetadata {
		if m.KeyValueMetadata[i].Key == key {
			return m.KeyValueMetadata[i].Value, true
		}
	}
	return "", false
}

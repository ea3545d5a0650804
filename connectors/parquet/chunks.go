package parquet

import (
	"slices"
	"strings"
)

// Chunk describes how one column of one row group is stored.
type Chunk struct {
	Path         string // of the leaf, with dots
	Type         string // physical: INT64, BYTE_ARRAY, …
	Encodings    []string
	Codec        string // SNAPPY, UNCOMPRESSED, …
	Values       int64  // nulls included
	Compressed   int64  // bytes in the file
	Uncompressed int64  // bytes of pages
	Dictionary   bool
	Nulls        int64 // -1 when the footer does not say
}

// Chunks describes the leaf columns of row group g in file order.
func (f *File) Chunks(g int) []Chunk {
	rg := &f.meta.RowGroups[g]
	out := make([]Chunk, len(rg.Columns))
	for i := range rg.Columns {
		md := &rg.Columns[i].MetaData.V
		c := Chunk{Path: strings.Join(md.PathInSchema, "."), Type: md.Type.String(), Codec: md.Codec.String(), Values: md.NumValues,
			Compressed: md.TotalCompressedSize, Uncompressed: md.TotalUncompressedSize, Dictionary: md.DictionaryPageOffset.Valid, Nulls: -1}
		if st := &md.Statistics; st.Valid && st.V.NullCount.Valid && st.V.NullCount.V >= 0 {
			c.Nulls = st.V.NullCount.V
		}
		for _, e := range md.Encodings {
			if s := e.String(); !slices.Contains(c.Encodings, s) {
				c.Encodings = append(c.Encodings, s)
			}
		}
		out[i] = c
	}
	return out
}

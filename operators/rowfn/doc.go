// Package rowfn runs functions written in Go on rows: Map, FlatMap and Filter on structs, BatchMap on Arrow records.
//
// Struct fields are columns. A field's column is named by its tag, or by its own name in snake case:
//
//	type Photo struct {
//		Path  string                      // column "path"
//		Image []byte  `sluice:"image"`
//		Score *float64                    // a null is nil
//		Width int32   `sluice:",zero"`    // a null is 0; without zero it is a row error
//		Tags  []string
//		Vec   []float32 `sluice:"embedding,copy"`
//		cache int                         // not a column, like `sluice:"-"`
//	}
//
// Strings are copied. Slices view the block and must not be kept after the function returned, nor written to, unless the field says copy.
// Integers and floats may be wider than the column, never narrower. Structs, lists and pointers nest.
//
// The output of a function is its Out struct. An Out that embeds In keeps In's columns as they are in the input, without a copy; what
// the function does to the embedded fields is not seen, but a field of the same name replaces the column.
//
// A struct is bound to a schema when the plan is made; a row costs no reflection. A function that fails or panics fails its row only.
// Read map.go first; read.go and write.go bind structs.
package rowfn

package tfrecord

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/encoding/protowire"
)

// Field numbers of tensorflow/core/example: Example.features, Features.feature (a map), Feature's lists and their values.
const (
	exampleFeatures = 1
	featuresEntry   = 1
	entryKey        = 1
	entryValue      = 2
	listValue       = 1
)

// kind is which list a feature has; the numbers are Feature's fields.
type kind int

const (
	kindNone   kind = 0 // a feature without a list: no value
	kindBytes  kind = 1
	kindFloats kind = 2
	kindInts   kind = 3
)

// feature is one feature of an example; list is the message of its list.
type feature struct {
	kind kind
	list []byte
}

// maxFeatures bounds the columns of an inferred schema.
const maxFeatures = 4096

var errExample = &recordError{"not a tf.train.Example", fmt.Errorf("the record is not a tf.train.Example message; read it without features=true")}

// fieldsOf calls fn for every length-delimited field of a message.
func fieldsOf(b []byte, fn func(num protowire.Number, v []byte) error) error {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errExample
		}
		b = b[n:]
		if typ != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(num, typ, b); n < 0 {
				return errExample
			}
			b = b[n:]
			continue
		}
		v, n := protowire.ConsumeBytes(b)
		if n < 0 {
			return errExample
		}
		if err := fn(num, v); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// eachFeature calls fn for every feature of an example, in the order of the message; of a name that comes twice the last counts.
func eachFeature(rec []byte, fn func(name []byte, f feature) error) error {
	return fieldsOf(rec, func(num protowire.Number, v []byte) error {
		if num != exampleFeatures {
			return nil
		}
		return fieldsOf(v, func(num protowire.Number, entry []byte) error {
			if num != featuresEntry {
				return nil
			}
			var name []byte
			var f feature
			err := fieldsOf(entry, func(num protowire.Number, v []byte) error {
				switch num {
				case entryKey:
					name = v
				case entryValue:
					f = feature{}
					return fieldsOf(v, func(num protowire.Number, list []byte) error {
						if k := kind(num); k >= kindBytes && k <= kindInts {
							f = feature{k, list}
						}
						return nil
					})
				}
				return nil
			})
			if err != nil {
				return err
			}
			return fn(name, f)
		})
	})
}

// values calls one of the functions for every value of a feature, packed or not.
func (f feature) values(bytes func([]byte), float func(float32), integer func(int64)) error {
	b := f.list
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errExample
		}
		b = b[n:]
		var packed []byte
		switch {
		case num != listValue:
			if n = protowire.ConsumeFieldValue(num, typ, b); n < 0 {
				return errExample
			}
			b = b[n:]
			continue
		case typ == protowire.BytesType:
			if packed, n = protowire.ConsumeBytes(b); n < 0 {
				return errExample
			}
			if f.kind == kindBytes {
				bytes(packed)
				b = b[n:]
				continue
			}
		default:
			if n = protowire.ConsumeFieldValue(num, typ, b); n < 0 {
				return errExample
			}
			if f.kind == kindFloats && typ != protowire.Fixed32Type || f.kind == kindInts && typ != protowire.VarintType || f.kind == kindBytes {
				return errExample
			}
			packed = b[:n]
		}
		b = b[n:]
		for len(packed) > 0 {
			if f.kind == kindFloats {
				v, n := protowire.ConsumeFixed32(packed)
				if n < 0 {
					return errExample
				}
				float(math.Float32frombits(v))
				packed = packed[n:]
				continue
			}
			v, n := protowire.ConsumeVarint(packed)
			if n < 0 {
				return errExample
			}
			integer(int64(v))
			packed = packed[n:]
		}
	}
	return nil
}

func (k kind) elem() arrow.DataType {
	switch k {
	case kindFloats:
		return arrow.PrimitiveTypes.Float32
	case kindInts:
		return arrow.PrimitiveTypes.Int64
	}
	return arrow.BinaryTypes.Binary
}

// inference gathers the features of a sample.
type inference struct {
	names []string
	seen  map[string]*inferred
}

type inferred struct {
	kind kind
	list bool // an example has several values, or none where the feature is there
}

func (in *inference) add(rec []byte, at uint64) error {
	if in.seen == nil {
		in.seen = map[string]*inferred{}
	}
	err := eachFeature(rec, func(name []byte, f feature) error {
		have := in.seen[string(name)]
		if have == nil {
			if len(in.names) == maxFeatures {
				return fmt.Errorf("examples have more than %d different features; read the records without features=true", maxFeatures)
			}
			have = &inferred{}
			in.seen[string(name)] = have
			in.names = append(in.names, string(name))
		}
		n := 0
		if err := f.values(func([]byte) { n++ }, func(float32) { n++ }, func(int64) { n++ }); err != nil {
			return err
		}
		if f.kind == kindNone {
			return nil
		}
		if have.kind != kindNone && have.kind != f.kind {
			return fmt.Errorf("feature %q is a list of %s, and of %s in an earlier example; read the records without features=true", name, f.kind.elem(), have.kind.elem())
		}
		have.kind = f.kind
		have.list = have.list || n != 1
		return nil
	})
	if err != nil {
		return fmt.Errorf("record at byte %d: %w", at, err)
	}
	return nil
}

// schema has the features by name: the order in messages is that of a hash map.
func (in *inference) schema() *arrow.Schema {
	slices.Sort(in.names)
	var out []arrow.Field
	for _, name := range in.names {
		have := in.seen[name]
		t := have.kind.elem()
		if have.list {
			t = arrow.ListOf(t)
		}
		out = append(out, arrow.Field{Name: strings.ToValidUTF8(name, "\uFFFD"), Type: t, Nullable: true})
	}
	return arrow.NewSchema(out, nil)
}

// examples makes columns of features.
type examples struct {
	want *arrow.Schema
	cols []exampleColumn
	at   map[string]int
	n    int
	size int64
}

type exampleColumn struct {
	name string
	b    array.Builder // of the column
	v    array.Builder // of the values: b, or the elements of the list b
	list *array.ListBuilder
	kind kind
	f    feature // of the present example
	ok   bool
}

func newExamples(mem memory.Allocator, want *arrow.Schema) (*examples, error) {
	e := &examples{want: want, at: map[string]int{}}
	for i, f := range want.Fields() {
		c := exampleColumn{name: f.Name, b: array.NewBuilder(mem, f.Type)}
		c.v = c.b
		if l, ok := c.b.(*array.ListBuilder); ok {
			c.list, c.v = l, l.ValueBuilder()
		}
		switch c.v.(type) {
		case *array.Int64Builder:
			c.kind = kindInts
		case *array.Float32Builder:
			c.kind = kindFloats
		case *array.BinaryBuilder:
			c.kind = kindBytes
		default:
			e.cols = append(e.cols, c)
			e.release()
			return nil, fmt.Errorf("column %q: no feature is %s", f.Name, f.Type)
		}
		e.at[f.Name] = i
		e.cols = append(e.cols, c)
	}
	return e, nil
}

// add looks at the whole example before it appends, so that a broken one leaves nothing.
func (e *examples) add(rec []byte) error {
	for i := range e.cols {
		e.cols[i].f, e.cols[i].ok = feature{}, false
	}
	err := eachFeature(rec, func(name []byte, f feature) error {
		if i, ok := e.at[string(name)]; ok {
			e.cols[i].f, e.cols[i].ok = f, f.kind != kindNone
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i := range e.cols {
		if err := e.cols[i].check(); err != nil {
			return err
		}
	}
	for i := range e.cols {
		e.cols[i].append()
	}
	e.n++
	e.size += int64(len(rec))
	return nil
}

func (c *exampleColumn) check() error {
	if !c.ok {
		return nil
	}
	if c.f.kind != c.kind {
		return &recordError{"feature has another type", fmt.Errorf("feature %q is a list of %s, in the first examples of %s; read the records without features=true", c.name, c.f.kind.elem(), c.kind.elem())}
	}
	n := 0
	if err := c.f.values(func([]byte) { n++ }, func(float32) { n++ }, func(int64) { n++ }); err != nil {
		return err
	}
	if c.list == nil && n > 1 {
		return &recordError{"feature has several values", fmt.Errorf("feature %q has %d values, one in each of the first examples; read the records without features=true", c.name, n)}
	}
	if c.list == nil && n == 0 {
		c.ok = false
	}
	return nil
}

func (c *exampleColumn) append() {
	if !c.ok {
		c.b.AppendNull()
		return
	}
	if c.list != nil {
		c.list.Append(true)
	}
	// check has walked the values and found no fault
	_ = c.f.values(
		func(p []byte) { c.v.(*array.BinaryBuilder).Append(p) },
		func(x float32) { c.v.(*array.Float32Builder).Append(x) },
		func(x int64) { c.v.(*array.Int64Builder).Append(x) })
}

func (e *examples) bytes() int64 { return e.size + int64(e.n)*int64(len(e.cols))*8 }

func (e *examples) take(rows int) arrow.RecordBatch {
	cols := make([]arrow.Array, len(e.cols))
	for i := range e.cols {
		cols[i] = e.cols[i].b.NewArray()
		defer cols[i].Release()
	}
	e.n, e.size = 0, 0
	return array.NewRecordBatch(e.want, cols, int64(rows))
}

func (e *examples) release() {
	for i := range e.cols {
		e.cols[i].b.Release()
	}
}

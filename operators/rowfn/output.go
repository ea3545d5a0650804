package rowfn

import (
	"fmt"
	"reflect"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset"
)

// output is how an Out struct becomes columns: some are built from fields, some pass through from the input.
type output struct {
	schema *arrow.Schema
	fields []field
	encs   []encoder
	place  []int // of each field in the schema
	pass   []int // for each column of the schema that passes through its place in the input, else -1
}

func newOutput(out, in reflect.Type, schema *arrow.Schema) (*output, error) {
	fields, embeds, err := fieldsOf(out, in)
	if err != nil {
		return nil, err
	}
	o := &output{fields: fields}
	var cols []arrow.Field
	if embeds {
		kept, _, err := fieldsOf(in, nil)
		if err != nil {
			return nil, err
		}
		for _, f := range kept {
			at, err := dataset.FieldIndex(schema, f.name)
			if err != nil {
				return nil, err
			}
			cols, o.pass = append(cols, schema.Field(at)), append(o.pass, at)
		}
	}
	for _, f := range fields {
		e, err := encode(f, f.typ, 0)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", f.name, err)
		}
		o.encs = append(o.encs, e)
		c := arrow.Field{Name: f.name, Type: e.typ, Nullable: true}
		at := len(cols)
		for i := range cols {
			if cols[i].Name == f.name {
				at = i
			}
		}
		if at == len(cols) {
			cols, o.pass = append(cols, c), append(o.pass, -1)
		} else {
			cols[at], o.pass[at] = c, -1
		}
		o.place = append(o.place, at)
	}
	if len(cols) == 0 {
		return nil, fmt.Errorf("%s has no field that is a column", out)
	}
	o.schema = arrow.NewSchema(cols, nil)
	return o, nil
}

// columns builds the columns that come from fields.
type columns struct {
	out      *output
	builders []array.Builder
	putters  []putter
	rows     int
	bytes    int64
}

func (o *output) builders(mem memory.Allocator) *columns {
	c := &columns{out: o}
	for _, e := range o.encs {
		b := array.NewBuilder(mem, e.typ)
		c.builders, c.putters = append(c.builders, b), append(c.putters, e.bind(b))
	}
	return c
}

// add appends the Out struct at p.
func (c *columns) add(p unsafe.Pointer) {
	for i, put := range c.putters {
		c.bytes += put(unsafe.Add(p, c.out.fields[i].offset))
	}
	c.rows++
}

// seal makes a record of what was added. pass gives the columns that pass through, as the input's record or a part of it.
func (c *columns) seal(pass arrow.RecordBatch) arrow.RecordBatch {
	cols := make([]arrow.Array, c.out.schema.NumFields())
	for i, at := range c.out.pass {
		if at >= 0 {
			cols[i] = pass.Column(at)
			cols[i].Retain()
		}
	}
	for i, b := range c.builders {
		cols[c.out.place[i]] = b.NewArray()
	}
	rec := array.NewRecordBatch(c.out.schema, cols, int64(c.rows))
	for _, a := range cols {
		a.Release()
	}
	c.rows, c.bytes = 0, 0
	return rec
}

func (c *columns) release() {
	for _, b := range c.builders {
		b.Release()
	}
}

// passes reports whether any column passes through.
func (o *output) passes() bool {
	for _, at := range o.pass {
		if at >= 0 {
			return true
		}
	}
	return false
}

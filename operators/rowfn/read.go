package rowfn

import (
	"fmt"
	"reflect"
	"time"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice/dataset"
)

// setter stores element i, which is not null, at p, where a zero value of the field's type lies.
type setter func(i int, p unsafe.Pointer) error

// binder makes the setter for one array.
type binder func(a arrow.Array) setter

// reader fills structs of one type from records of one schema.
type reader struct {
	fields  []field
	columns []int
	binders []binder
}

func newReader(t reflect.Type, schema *arrow.Schema) (*reader, error) {
	fields, _, err := fieldsOf(t, nil)
	if err != nil {
		return nil, err
	}
	r := &reader{fields: fields}
	for _, f := range fields {
		at, err := dataset.FieldIndex(schema, f.name)
		if err != nil {
			return nil, err
		}
		b, err := bind(f, f.typ, schema.Field(at).Type)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", f.name, err)
		}
		r.columns, r.binders = append(r.columns, at), append(r.binders, b)
	}
	return r, nil
}

// names lists the columns that are read.
func (r *reader) names() []string {
	out := make([]string, len(r.fields))
	for i, f := range r.fields {
		out[i] = f.name
	}
	return out
}

// rows is a reader on one record.
type rows struct {
	fields  []field
	setters []setter
	arrays  []arrow.Array
	nulls   []bool
}

func (r *reader) on(rec arrow.RecordBatch) *rows {
	s := &rows{fields: r.fields}
	for i, at := range r.columns {
		a := rec.Column(at)
		s.arrays, s.nulls = append(s.arrays, a), append(s.nulls, a.NullN() != 0)
		s.setters = append(s.setters, r.binders[i](a))
	}
	return s
}

// read fills the zero struct at p from row i.
func (s *rows) read(i int, p unsafe.Pointer) error {
	for k := range s.fields {
		f := &s.fields[k]
		if s.nulls[k] && s.arrays[k].IsNull(i) {
			if f.zero || f.typ.Kind() == reflect.Pointer {
				continue
			}
			return fmt.Errorf("column %q is null, the field is %s; use *%s or the tag option zero", f.name, f.typ, f.typ)
		}
		if err := s.setters[k](i, unsafe.Add(p, f.offset)); err != nil {
			return fmt.Errorf("column %q: %w", f.name, err)
		}
	}
	return nil
}

// bind finds how elements of dt become a t.
func bind(f field, t reflect.Type, dt arrow.DataType) (binder, error) {
	switch d := dt.(type) {
	case arrow.ExtensionType:
		inner, err := bind(f, t, d.StorageType())
		if err != nil {
			return nil, mismatch(t, dt)
		}
		return func(a arrow.Array) setter { return inner(a.(array.ExtensionArray).Storage()) }, nil
	case *arrow.DictionaryType:
		return bindDictionary(f, t, d)
	}
	switch {
	case t.Kind() == reflect.Pointer:
		return bindPointer(f, t, dt)
	case t == timeType:
		return bindTime(dt)
	case t == durationType:
		return bindDuration(dt)
	case t.Kind() == reflect.Struct:
		return bindStruct(t, dt)
	case t.Kind() == reflect.String:
		return bindString(dt)
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 && isBytes(dt):
		return bindBytes(f, dt)
	case t.Kind() == reflect.Slice:
		return bindSlice(f, t, dt)
	}
	if b := bindNumber(t.Kind(), dt.ID()); b != nil {
		return b, nil
	}
	return nil, mismatch(t, dt)
}

func mismatch(t reflect.Type, dt arrow.DataType) error {
	return fmt.Errorf("it is %s, which a field of type %s does not hold", dt, t)
}

func bindPointer(f field, t reflect.Type, dt arrow.DataType) (binder, error) {
	inner, err := bind(f, t.Elem(), dt)
	if err != nil {
		return nil, err
	}
	elem := t.Elem()
	return func(a arrow.Array) setter {
		set := inner(a)
		return func(i int, p unsafe.Pointer) error {
			v := reflect.New(elem).UnsafePointer()
			*(*unsafe.Pointer)(p) = v
			return set(i, v)
		}
	}, nil
}

func bindDictionary(f field, t reflect.Type, dt *arrow.DictionaryType) (binder, error) {
	inner, err := bind(f, t, dt.ValueType)
	if err != nil {
		return nil, err
	}
	return func(a arrow.Array) setter {
		d := a.(*array.Dictionary)
		set := inner(d.Dictionary())
		return func(i int, p unsafe.Pointer) error { return set(d.GetValueIndex(i), p) }
	}, nil
}

func bindStruct(t reflect.Type, dt arrow.DataType) (binder, error) {
	st, ok := dt.(*arrow.StructType)
	if !ok {
		return nil, mismatch(t, dt)
	}
	r, err := newReader(t, arrow.NewSchema(st.Fields(), nil))
	if err != nil {
		return nil, err
	}
	return func(a arrow.Array) setter {
		s := a.(*array.Struct)
		inner := &rows{fields: r.fields}
		for i, at := range r.columns {
			c := s.Field(at)
			inner.arrays, inner.nulls = append(inner.arrays, c), append(inner.nulls, c.NullN() != 0)
			inner.setters = append(inner.setters, r.binders[i](c))
		}
		return inner.read
	}, nil
}

func bindTime(dt arrow.DataType) (binder, error) {
	switch d := dt.(type) {
	case *arrow.TimestampType:
		to, err := d.GetToTimeFunc()
		if err != nil {
			return nil, err
		}
		return func(a arrow.Array) setter {
			v := a.(*array.Timestamp).Values()
			return func(i int, p unsafe.Pointer) error { *(*time.Time)(p) = to(v[i]); return nil }
		}, nil
	case *arrow.Date32Type:
		return func(a arrow.Array) setter {
			v := a.(*array.Date32).Values()
			return func(i int, p unsafe.Pointer) error { *(*time.Time)(p) = v[i].ToTime(); return nil }
		}, nil
	case *arrow.Date64Type:
		return func(a arrow.Array) setter {
			v := a.(*array.Date64).Values()
			return func(i int, p unsafe.Pointer) error { *(*time.Time)(p) = v[i].ToTime(); return nil }
		}, nil
	}
	return nil, mismatch(timeType, dt)
}

func bindDuration(dt arrow.DataType) (binder, error) {
	d, ok := dt.(*arrow.DurationType)
	if !ok {
		return nil, mismatch(durationType, dt)
	}
	unit := d.Unit.Multiplier()
	return func(a arrow.Array) setter {
		v := a.(*array.Duration).Values()
		return func(i int, p unsafe.Pointer) error {
			n := time.Duration(v[i]) * unit
			if n/unit != time.Duration(v[i]) {
				return fmt.Errorf("%d%s do not fit time.Duration", v[i], d.Unit)
			}
			*(*time.Duration)(p) = n
			return nil
		}
	}, nil
}

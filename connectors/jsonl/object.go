package jsonl

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// maxExtraKeys bounds how many unseen keys an object remembers by name; further ones are only counted together.
const maxExtraKeys = 1000

// field is one key of an object. A field without a column is passed over: the caller did not ask for it, or it is extra.
type field struct {
	name  string
	col   column
	extra bool
	next  *field // the key that followed this one last time
	mark  uint64 // serial of the last object that had the key
	count int64  // objects that had an extra key
}

// object reads JSON objects into one column per field. Objects of one file repeat their keys in the same order, so it guesses
// the next key from the last object and compares bytes; only a wrong guess costs a hash.
type object struct {
	fields []*field // those with a column, in schema order
	byName map[string]*field
	first  *field
	serial uint64
	extras int
	others int64 // extra keys beyond maxExtraKeys
	refuse bool  // an extra key fails the line
	onKey  func(s *scanner, key, keyEnd, value, valueEnd int)
}

func newObject(mem memory.Allocator, fields []arrow.Field) (*object, error) {
	o := &object{byName: make(map[string]*field, len(fields))}
	for _, f := range fields {
		if o.byName[f.Name] != nil {
			o.release()
			return nil, fmt.Errorf("build schema: two columns are named %q", f.Name)
		}
		col, err := newColumn(mem, f)
		if err != nil {
			o.release()
			return nil, fmt.Errorf("column %q: %w", f.Name, err)
		}
		nf := &field{name: f.Name, col: col}
		o.fields = append(o.fields, nf)
		o.byName[f.Name] = nf
	}
	return o, nil
}

// ignore makes the object pass over a key that the schema knows and nobody asked for.
func (o *object) ignore(name string) {
	if o.byName[name] == nil {
		o.byName[name] = &field{name: name}
	}
}

// refuseExtras makes an unseen key fail the line, here and in the objects inside.
func (o *object) refuseExtras() {
	o.refuse = true
	o.eachObject(func(_ string, inner *object) { inner.refuseExtras() })
}

// parse reads the object at i as row n of its columns. On failure the columns hold n or n+1 values each.
func (o *object) parse(s *scanner, i, n int) int {
	if !s.enter(i) {
		return -1
	}
	o.serial++
	serial, seen := o.serial, 0
	i = s.space(i + 1)
	more := s.buf[i] != '}'
	if !more {
		s.depth--
		i++
	}
	var last *field
	for more {
		start := i
		f, next := o.key(s, i, last)
		if next < 0 {
			return -1
		}
		if o.refuse && (f == nil || f.extra) {
			return s.fail(start, msgExtra)
		}
		if i = s.colon(next); i < 0 {
			return -1
		}
		value := i
		switch {
		case f == nil:
			o.others++
			i = s.skip(i)
		case f.col == nil:
			i = s.skip(i)
		case f.mark == serial: // a repeated key: the last one counts, as in encoding/json
			f.col.truncate(n)
			i = f.col.parse(s, i)
		default:
			f.mark = serial
			seen++
			i = f.col.parse(s, i)
		}
		if i < 0 {
			if f == nil {
				return -1
			}
			return s.within(f.name)
		}
		if o.onKey != nil && (f == nil || f.extra) {
			o.onKey(s, start, next, value, i)
		}
		last = f
		if i, more = s.comma(i, '}'); i < 0 {
			return -1
		}
	}
	if seen < len(o.fields) {
		for _, f := range o.fields {
			if f.mark != serial {
				f.col.null()
			}
		}
	}
	return i
}

// key finds the field of the key at i; nil is an extra key beyond those remembered.
func (o *object) key(s *scanner, i int, last *field) (*field, int) {
	guess := o.first
	if last != nil {
		guess = last.next
	}
	if s.buf[i] != '"' {
		return nil, s.fail(i, "an object key must be a string")
	}
	if guess != nil {
		end := i + 1 + len(guess.name)
		if end < len(s.buf) && s.buf[end] == '"' && string(s.buf[i+1:end]) == guess.name {
			if guess.extra {
				guess.count++
			}
			return guess, end + 1
		}
	}
	name, end := s.text(i)
	if end < 0 {
		return nil, end
	}
	f := o.byName[string(name)]
	if f == nil && o.extras < maxExtraKeys {
		f = &field{name: string(name), extra: true}
		o.byName[f.name] = f
		o.extras++
	}
	if f != nil {
		if f.extra {
			f.count++
		}
		if plainKey(f.name) {
			if last == nil {
				o.first = f
			} else {
				last.next = f
			}
		}
	}
	return f, end
}

// plainKey reports whether a key reads in JSON as it is, so that its source text can be compared with it.
func plainKey(name string) bool {
	for i := range len(name) {
		if c := name[i]; c < 0x20 || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

func (o *object) truncate(n int) {
	for _, f := range o.fields {
		f.col.truncate(n)
	}
}

func (o *object) bytes() int {
	size := 0
	for _, f := range o.fields {
		size += f.col.bytes()
	}
	return size
}

func (o *object) take() []arrow.ArrayData {
	out := make([]arrow.ArrayData, len(o.fields))
	for i, f := range o.fields {
		out[i] = f.col.take()
	}
	return out
}

func (o *object) release() {
	for _, f := range o.fields {
		f.col.release()
	}
}

// eachExtra calls f with the path and the count of every extra key, here and in the objects inside.
func (o *object) eachExtra(at string, f func(path string, count int64)) {
	for name, k := range o.byName {
		if k.extra && k.count > 0 {
			f(at+name, k.count)
		}
	}
	if o.others > 0 {
		f(at+"…", o.others)
	}
	o.eachObject(func(name string, inner *object) { inner.eachExtra(at+name+".", f) })
}

// eachObject calls f with the objects right inside the columns of o.
func (o *object) eachObject(f func(name string, inner *object)) {
	for _, k := range o.fields {
		name, col := k.name, k.col
		for col != nil {
			switch c := col.(type) {
			case *structColumn:
				f(name, c.obj)
				col = nil
			case *listColumn[int32]:
				name, col = name+"[]", c.elem
			case *listColumn[int64]:
				name, col = name+"[]", c.elem
			case *extensionColumn:
				col = c.column
			default:
				col = nil
			}
		}
	}
}

package rowfn

import (
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode"
)

// field is one field of a struct that is a column.
type field struct {
	name   string
	typ    reflect.Type
	offset uintptr
	zero   bool // a null is the zero value
	copied bool // slices are copied
	image  bool // bytes are an encoded picture
}

var (
	timeType     = reflect.TypeFor[time.Time]()
	durationType = reflect.TypeFor[time.Duration]()
)

// fieldsOf lists the columns of a struct. Embedded structs count as their fields, except skip, which is left out and reported.
func fieldsOf(t, skip reflect.Type) (fields []field, embeds bool, err error) {
	if t.Kind() != reflect.Struct || t == timeType {
		return nil, false, fmt.Errorf("%s is no struct of columns", t)
	}
	seen := map[string]bool{}
	for i := range t.NumField() {
		sf := t.Field(i)
		if sf.Anonymous && sf.Type == skip {
			embeds = true
			continue
		}
		fs, err := oneField(sf, skip)
		if err != nil {
			return nil, false, err
		}
		for _, f := range fs {
			if seen[f.name] {
				return nil, false, fmt.Errorf("%s has two fields for column %q", t, f.name)
			}
			seen[f.name] = true
			fields = append(fields, f)
		}
	}
	return fields, embeds, nil
}

func oneField(sf reflect.StructField, skip reflect.Type) ([]field, error) {
	tag, tagged := sf.Tag.Lookup("sluice")
	if tag == "-" {
		return nil, nil
	}
	if sf.Anonymous && sf.Type.Kind() == reflect.Struct && !tagged {
		inner, _, err := fieldsOf(sf.Type, skip)
		for i := range inner {
			inner[i].offset += sf.Offset
		}
		return inner, err
	}
	if !sf.IsExported() {
		if tagged {
			return nil, fmt.Errorf("field %s has a sluice tag but is not exported", sf.Name)
		}
		return nil, nil
	}
	f := field{name: snake(sf.Name), typ: sf.Type, offset: sf.Offset}
	name, opts, _ := strings.Cut(tag, ",")
	if name != "" {
		f.name = name
	}
	for _, o := range strings.Split(opts, ",") {
		switch o {
		case "":
		case "zero":
			f.zero = true
		case "copy":
			f.copied = true
		case "image":
			f.image = true
		default:
			return nil, fmt.Errorf("field %s: unknown tag option %q; there are zero, copy and image", sf.Name, o)
		}
	}
	return []field{f}, nil
}

// snake writes UserID as user_id and PHash2 as p_hash2.
func snake(s string) string {
	var b strings.Builder
	rs := []rune(s)
	for i, r := range rs {
		if unicode.IsUpper(r) && i > 0 && (!unicode.IsUpper(rs[i-1]) || i+1 < len(rs) && unicode.IsLower(rs[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

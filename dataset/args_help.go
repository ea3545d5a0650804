package dataset

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// ParamDoc describes one parameter for help.
type ParamDoc struct {
	Name    string
	Arg     string // "word", "rest", "list", or "" for key=value only
	Type    string // for people: "text", "whole number", "list of text", …
	Default string // as typed; empty if there is none
	Doc     string
}

// DescribeParams lists the parameters of the struct that params points to, which holds the defaults, in field order. What is no
// pointer to a struct has no parameters.
func DescribeParams(params any) []ParamDoc {
	fields, err := paramsOf(params)
	if err != nil {
		return nil
	}
	out := make([]ParamDoc, len(fields))
	for i, f := range fields {
		out[i] = ParamDoc{Name: f.name, Arg: f.arg, Type: typeName(f.v.Type()), Default: defaultText(f.v), Doc: f.doc}
	}
	return out
}

// UsageLine is the shape of a step as typed: resize SIZE [MODE] [quality=…]. A positional parameter with a default is optional.
func UsageLine(name string, params any) string {
	var b strings.Builder
	b.WriteString(name)
	for _, p := range DescribeParams(params) {
		up := strings.ToUpper(p.Name)
		switch p.Arg {
		case argOption:
			up = p.Name + "=…"
		case argList:
			up += ", …"
		}
		if p.Arg == argOption || p.Default != "" {
			up = "[" + up + "]"
		}
		b.WriteString(" " + up)
	}
	return b.String()
}

func typeName(t reflect.Type) string {
	switch {
	case t.Kind() == reflect.Pointer:
		return typeName(t.Elem())
	case t == typeDuration:
		return "duration"
	case t == reflect.TypeFor[ByteSize]():
		return "size"
	case reflect.PointerTo(t).Implements(typeText):
		return "text"
	}
	switch t.Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "whole number"
	case reflect.Float32, reflect.Float64:
		return "number"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "text"
		}
		return "list of " + typeName(t.Elem())
	case reflect.Map, reflect.Struct:
		return "mapping"
	}
	return t.String()
}

// defaultText writes a default as it would be typed.
func defaultText(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return ""
		}
		v = v.Elem()
	}
	if v.Kind() == reflect.Bool {
		return fmt.Sprint(v.Bool())
	}
	if v.IsZero() {
		return ""
	}
	switch x := v.Interface().(type) {
	case time.Duration:
		return x.String()
	case ByteSize:
		return x.String()
	case encoding.TextMarshaler:
		if text, err := x.MarshalText(); err == nil {
			return string(text)
		}
	case fmt.Stringer:
		return x.String()
	}
	if v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8 {
		items := make([]string, v.Len())
		for i := range items {
			items[i] = defaultText(v.Index(i))
		}
		return strings.Join(items, ",")
	}
	if v.Kind() == reflect.String && strings.TrimSpace(v.String()) == "" {
		return Quote(v.String())
	}
	return fmt.Sprint(v.Interface())
}

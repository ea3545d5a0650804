package dataset

import (
	"fmt"
	"reflect"
	"strings"
)

// Defaulter is implemented by parameter structs whose defaults are not the zero value: parameters that are as there are not printed.
type Defaulter interface{ Defaults() any }

// paramText prints the parameters of a plan node as they are typed in a pipeline string: paths first, then words and name=value.
func paramText(params any) string {
	if params == nil {
		return ""
	}
	return strings.Join(paramTexts(reflect.ValueOf(params)), " ")
}

func paramTexts(v reflect.Value) []string {
	for v.IsValid() && (v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer) {
		if v.IsNil() {
			return nil
		}
		if _, ok := v.Interface().(ArgsTexter); ok {
			break
		}
		v = v.Elem()
	}
	switch {
	case !v.IsValid():
		return nil
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
		return []string{programText(v)}
	case v.Kind() != reflect.Struct:
		return []string{fmt.Sprint(v.Interface())}
	}
	var defaults any
	if d, ok := v.Interface().(Defaulter); ok {
		defaults = d.Defaults()
	}
	if text, err := ArgsText(v.Interface(), defaults); err == nil {
		if text == "" {
			return nil
		}
		return []string{text}
	}
	return fieldTexts(v)
}

// fieldTexts prints the fields of a struct that holds others: patterns are paths, and options stand beside them.
func fieldTexts(v reflect.Value) (out []string) {
	for i := range v.NumField() {
		f := v.Field(i)
		switch patterns, ok := f.Interface().([]Pattern); {
		case ok:
			paths := make([]string, len(patterns))
			for k, p := range patterns {
				if paths[k] = QuoteWord(p.Text); p.Literal {
					paths[k] = Quote(p.Text)
				}
			}
			out = append(out, strings.Join(paths, " + "))
		case f.Kind() == reflect.Struct || f.Kind() == reflect.Interface:
			out = append(out, paramTexts(f)...)
		case f.Kind() == reflect.Slice && f.Len() == 0:
		default:
			if text, err := valueText(f); err == nil && text != "" && !f.IsZero() {
				name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
				out = append(out, name+"="+text)
			}
		}
	}
	return out
}

// programText prints the steps that were composed into one.
func programText(v reflect.Value) string {
	var steps []string
	for i := range v.Len() {
		s := v.Index(i)
		if s.NumField() != 2 || s.Field(0).Kind() != reflect.String {
			return fmt.Sprint(v.Interface())
		}
		steps = append(steps, strings.Join(append([]string{s.Field(0).String()}, paramTexts(s.Field(1))...), " "))
	}
	return "(" + strings.Join(steps, " | ") + ")"
}

package dataset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// ParamError is a mistake in one parameter given by name. Key is the name, with dots into nested parameters.
type ParamError struct {
	Key string
	Err error
}

func (e *ParamError) Error() string { return e.Key + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *ParamError) Unwrap() error { return e.Err }

// ParamsFromMap fills the parameter struct that params points to from named values, as a job file gives them: text, numbers, booleans,
// []any, map[string]any, and nil for "not given". Text is read as ParseArgs reads an option, without quotes. Mistakes are
// *ParamError; unknown names suggest the nearest.
func ParamsFromMap(m map[string]any, params any) error {
	fields, err := paramsOf(params)
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		f := findParam(fields, key)
		if f == nil {
			return &ParamError{key, fmt.Errorf("unknown option%s", nearParam(fields, key))}
		}
		if f.set {
			return &ParamError{key, fmt.Errorf("it is given twice, as %s and %s", f.name, key)}
		}
		f.set = true
		if err := setAny(f.v, m[key]); err != nil {
			return under(key, err)
		}
	}
	return nil
}

// under adds a key to the path of an error.
func under(key string, err error) error {
	if p, ok := err.(*ParamError); ok { //nolint // made here, never wrapped
		return &ParamError{key + "." + p.Key, p.Err}
	}
	if s, ok := err.(*SyntaxError); ok { //nolint // an offset within the value of a job file helps nobody
		err = fmt.Errorf("%s", s.Msg)
	}
	return &ParamError{key, err}
}

func setAny(v reflect.Value, val any) error {
	if val == nil {
		return nil
	}
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		return setAny(v.Elem(), val)
	}
	switch x := val.(type) {
	case string:
		return setText(v, x, true)
	case []any:
		return setSlice(v, x)
	case map[string]any:
		return setMap(v, x)
	case bool, int, int64, uint64, json.Number:
		return setText(v, fmt.Sprint(x), true)
	case float64:
		return setText(v, strconv.FormatFloat(x, 'f', -1, 64), true)
	}
	return fmt.Errorf("a value of type %T is not understood", val)
}

func setSlice(v reflect.Value, items []any) error {
	switch {
	case v.Kind() == reflect.Slice:
		out := reflect.MakeSlice(v.Type(), len(items), len(items))
		for i, it := range items {
			if it == nil {
				return fmt.Errorf("item %d is null", i+1)
			}
			if err := setAny(out.Index(i), it); err != nil {
				return under(strconv.Itoa(i+1), err)
			}
		}
		v.Set(out)
		return nil
	case v.Addr().Type().Implements(typeJSON):
		return setJSON(v, items)
	case v.Kind() == reflect.String: // the list form of a text that is itself divided at commas
		texts := make([]string, len(items))
		for i, it := range items {
			s, ok := it.(string)
			if !ok {
				return fmt.Errorf("item %d is not text", i+1)
			}
			texts[i] = s
		}
		v.SetString(strings.Join(texts, ", "))
		return nil
	}
	return fmt.Errorf("a list is given, want %s", typeName(v.Type()))
}

func setMap(v reflect.Value, m map[string]any) error {
	switch {
	case v.Addr().Type().Implements(typeJSON):
		return setJSON(v, m)
	case v.Kind() == reflect.Struct:
		return ParamsFromMap(m, v.Addr().Interface())
	case v.Kind() == reflect.Map && v.Type().Key().Kind() == reflect.String:
		out := reflect.MakeMap(v.Type())
		for _, k := range slices.Sorted(maps.Keys(m)) {
			e := reflect.New(v.Type().Elem()).Elem()
			if err := setAny(e, m[k]); err != nil {
				return under(k, err)
			}
			out.SetMapIndex(reflect.ValueOf(k).Convert(v.Type().Key()), e)
		}
		v.Set(out)
		return nil
	}
	return fmt.Errorf("a mapping is given, want %s", typeName(v.Type()))
}

// setJSON is for types that read JSON themselves.
func setJSON(v reflect.Value, val any) error {
	data, err := json.Marshal(val)
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return dec.Decode(v.Addr().Interface())
}

package dataset

import (
	"encoding"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ArgsTexter is implemented by parameter structs of steps whose text Def.Parse reads: it writes that text.
type ArgsTexter interface{ ArgsText() string }

// ArgsText writes a parameter struct, or a pointer to one, as the text that follows the name of its step in a pipeline string: ParseArgs, or
// the Def's own Parse, reads it back. Parameters that are as in defaults, which is a struct of the same type or nil for the zero value, are
// left out where that does not change the meaning. What cannot be written as text (nested structs) is an error.
func ArgsText(params, defaults any) (string, error) {
	if t, ok := params.(ArgsTexter); ok {
		return t.ArgsText(), nil
	}
	fields, same, err := compared(params, defaults)
	if err != nil {
		return "", err
	}
	var words, options, list []string
	tail := ""
	last := -1 // the last word that must be said
	for i, f := range fields {
		if f.arg == argWord && !same[i] {
			last = i
		}
	}
	for i, f := range fields {
		if same[i] && (f.arg != argWord || i > last) {
			continue
		}
		if f.arg == argList && f.v.Kind() == reflect.Slice && f.v.Len() > 0 {
			if list, err = listWords(f); err != nil {
				return "", err
			}
			continue
		}
		text, err := fieldText(f.v, f.arg == argWord)
		if err != nil {
			return "", fmt.Errorf("write %s: %w", f.name, err)
		}
		switch {
		case f.arg == argRest && f.v.Kind() == reflect.String && restReadsBack(f.v.String(), fields):
			tail = f.v.String()
		case f.arg == argWord:
			words = append(words, text)
		default:
			options = append(options, f.name+"="+text)
		}
	}
	all := append(slices.Concat(words, options, list), tail)
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), " "), nil
}

// listWords writes the items of a list, each but the last with its comma.
func listWords(f *param) ([]string, error) {
	var words []string
	for i := range f.v.Len() {
		text, err := fieldText(f.v.Index(i), true)
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", f.name, err)
		}
		if i < f.v.Len()-1 {
			text += ","
		}
		words = append(words, text)
	}
	return words, nil
}

// OptionText is one option of a source or sink in the three forms it can be written in.
type OptionText struct {
	Name string
	Text string // as in a pipeline string, with quotes where it needs them
	Any  any    // as in a job file: text, []any or map[string]any
}

// OptionTexts lists the parameters that differ from defaults, in field order. SetOption reads Text back and ParamsFromMap reads Any.
func OptionTexts(params, defaults any) ([]OptionText, error) {
	if params == nil {
		return nil, nil
	}
	fields, same, err := compared(params, defaults)
	if err != nil {
		return nil, err
	}
	var out []OptionText
	for i, f := range fields {
		if same[i] {
			continue
		}
		text, err := fieldText(f.v, false)
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", f.name, err)
		}
		out = append(out, OptionText{f.name, text, plainValue(f.v)})
	}
	return out, nil
}

// compared lists the fields of params and says of each whether it is as in defaults.
func compared(params, defaults any) (fields []*param, same []bool, err error) {
	if fields, err = paramsOf(addressable(params)); err != nil {
		return nil, nil, err
	}
	var other []*param
	if defaults != nil {
		if other, err = paramsOf(addressable(defaults)); err != nil {
			return nil, nil, err
		}
	}
	same = make([]bool, len(fields))
	for i, f := range fields {
		if len(other) == len(fields) {
			same[i] = reflect.DeepEqual(f.v.Interface(), other[i].v.Interface())
			continue
		}
		same[i] = f.v.IsZero()
	}
	return fields, same, nil
}

// addressable returns a pointer to a struct, or to a copy of it.
func addressable(params any) any {
	v := reflect.ValueOf(params)
	if v.Kind() != reflect.Struct {
		return params
	}
	p := reflect.New(v.Type())
	p.Elem().Set(v)
	return p.Interface()
}

// restReadsBack says whether a text can stand bare as the rest: it does not begin with what would be taken for an option.
func restReadsBack(s string, fields []*param) bool {
	if s == "" || s != strings.TrimSpace(s) || isQuote(s[0]) {
		return false
	}
	w, err := nextWord(s, 0)
	if err != nil {
		return true // the rest has a syntax of its own
	}
	key, _, ok := w.Option()
	return !ok || findParam(fields, key) == nil
}

// fieldText writes a value; one that stands alone must not look like an option.
func fieldText(v reflect.Value, alone bool) (string, error) {
	text, err := valueText(v)
	if err != nil || !alone {
		return text, err
	}
	if _, _, ok := (Word{Text: text}).Option(); ok {
		return Quote(text), nil
	}
	return text, nil
}

// valueText writes a value so that setText reads it back.
func valueText(v reflect.Value) (string, error) {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return "", nil
		}
		return valueText(v.Elem())
	}
	if s, ok := scalarText(v); ok {
		return QuoteWord(s), nil
	}
	switch v.Kind() {
	case reflect.Slice:
		items := make([]string, v.Len())
		for i := range items {
			s, err := valueText(v.Index(i))
			if err != nil {
				return "", err
			}
			items[i] = s
		}
		return strings.Join(items, ","), nil
	case reflect.Map:
		var items []string
		for _, k := range slices.Sorted(maps.Keys(stringMap(v))) {
			s, err := valueText(v.MapIndex(reflect.ValueOf(k).Convert(v.Type().Key())))
			if err != nil {
				return "", err
			}
			items = append(items, QuoteWord(k)+":"+s)
		}
		return strings.Join(items, ","), nil
	}
	return "", fmt.Errorf("a %s cannot be written as text", typeName(v.Type()))
}

func stringMap(v reflect.Value) map[string]bool {
	out := map[string]bool{}
	for _, k := range v.MapKeys() {
		out[k.String()] = true
	}
	return out
}

// scalarText writes a value without quotes.
func scalarText(v reflect.Value) (string, bool) {
	switch x := v.Interface().(type) {
	case time.Duration:
		return x.String(), true
	case ByteSize:
		return x.String(), true
	case encoding.TextMarshaler:
		text, err := x.MarshalText()
		return string(text), err == nil
	}
	switch v.Kind() {
	case reflect.String:
		return v.String(), true
	case reflect.Bool:
		return strconv.FormatBool(v.Bool()), true
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.FormatInt(v.Int(), 10), true
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return strconv.FormatUint(v.Uint(), 10), true
	case reflect.Float32, reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'g', -1, v.Type().Bits()), true
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return string(v.Bytes()), true
		}
	}
	return "", false
}

// plainValue gives a value as a job file holds it.
func plainValue(v reflect.Value) any {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil
		}
		return plainValue(v.Elem())
	}
	if s, ok := scalarText(v); ok {
		return s
	}
	switch v.Kind() {
	case reflect.Slice:
		out := make([]any, v.Len())
		for i := range out {
			out[i] = plainValue(v.Index(i))
		}
		return out
	case reflect.Map:
		out := map[string]any{}
		for k := range stringMap(v) {
			out[k] = plainValue(v.MapIndex(reflect.ValueOf(k).Convert(v.Type().Key())))
		}
		return out
	}
	return fmt.Sprint(v.Interface())
}

// QuoteWord writes s as one word of a pipeline string, with quotes only if it needs them.
func QuoteWord(s string) string {
	if words, err := Words(s); err != nil || len(words) != 1 || words[0].Text != s || strings.ContainsAny(s, "\"'`|,\\") || s[0] == '=' || s[0] == '~' {
		return Quote(s)
	}
	for _, r := range s {
		if r < ' ' || r == 0x7f || r == 0xfffd {
			return Quote(s)
		}
	}
	return s
}

// ArgsUsed lists the names of the options that a text gives, as far as it can be read: it may end within a word.
func ArgsUsed(text string) map[string]bool {
	used := map[string]bool{}
	for at := 0; ; {
		w, err := nextWord(text, at)
		if err != nil || w.Text == "" {
			return used
		}
		if key, _, ok := w.Option(); ok {
			used[key] = true
		}
		at = w.End()
	}
}

package dataset

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// ByteSize is a number of bytes. In text it has a unit: 64MiB, 1.5GB, 512B.
type ByteSize int64

// sizeUnits maps lower-case units to bytes.
var sizeUnits = map[string]float64{
	"b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
}

// ParseByteSize reads a number with a unit: B, kB, MB, GB, TB (powers of 1000) or KiB, MiB, GiB, TiB (powers of 1024). A number without
// a unit is bytes.
func ParseByteSize(s string) (ByteSize, error) {
	t := strings.TrimSpace(s)
	n := len(t)
	for n > 0 && (t[n-1] >= 'a' && t[n-1] <= 'z' || t[n-1] >= 'A' && t[n-1] <= 'Z') {
		n--
	}
	factor, ok := 1.0, true
	if n < len(t) {
		factor, ok = sizeUnits[strings.ToLower(t[n:])]
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(t[:n]), 64)
	if !ok || err != nil || v < 0 || !(v*factor < math.MaxInt64) {
		return 0, fmt.Errorf("parse size %q: want a number with B, kB, MB, GB, KiB, MiB or GiB, such as 256MiB", s)
	}
	return ByteSize(v * factor), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (b *ByteSize) UnmarshalText(text []byte) error {
	v, err := ParseByteSize(string(text))
	if err == nil {
		*b = v
	}
	return err
}

// UnmarshalJSON reads a size as JSON writes it, a number of bytes, and as people write it.
func (b *ByteSize) UnmarshalJSON(data []byte) error {
	if len(data) == 0 || data[0] != '"' {
		return json.Unmarshal(data, (*int64)(b))
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	return b.UnmarshalText([]byte(text))
}

// String writes the size in the largest binary unit that is exact, else in bytes, so that it reads back equal.
func (b ByteSize) String() string {
	for _, u := range []struct {
		name string
		size ByteSize
	}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if b >= u.size && b%u.size == 0 {
			return strconv.FormatInt(int64(b/u.size), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(b), 10) + "B"
}

var (
	typeDuration = reflect.TypeFor[time.Duration]()
	typeText     = reflect.TypeFor[encoding.TextUnmarshaler]()
	typeJSON     = reflect.TypeFor[json.Unmarshaler]()
)

// setText sets v from typed text. literal text has no quotes of its own (it came from a job file).
func setText(v reflect.Value, text string, literal bool) error {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		return setText(v.Elem(), text, literal)
	}
	scalar := v.Addr().Type().Implements(typeText)
	if !scalar && v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8 {
		return setTextSlice(v, text)
	}
	if !scalar && v.Kind() == reflect.Map {
		return setTextMap(v, text)
	}
	s := text
	if !literal {
		var err error
		if s, err = (Word{Text: text}).Unquote(); err != nil {
			return err
		}
	}
	if scalar {
		return v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(s)) //nolint // Implements was asked
	}
	return setScalar(v, s)
}

func setScalar(v reflect.Value, s string) error {
	if v.Type() == typeDuration {
		d, err := time.ParseDuration(s)
		if err != nil {
			return fmt.Errorf("%q is no duration; write it with a unit, such as 500ms, 30s or 2m", s)
		}
		v.SetInt(int64(d))
		return nil
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(s)
	case reflect.Slice: // of bytes
		v.SetBytes([]byte(s))
	case reflect.Bool:
		return setBool(v, s)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n, err := parseWhole(s)
		if err != nil || v.OverflowInt(n) {
			return fmt.Errorf("%q is no whole number%s", s, rangeOf(v.Type()))
		}
		v.SetInt(n)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		n, err := strconv.ParseUint(strings.ReplaceAll(s, "_", ""), 10, 64)
		if size, serr := parseWhole(s); err != nil && serr == nil && size >= 0 {
			n, err = uint64(size), nil
		}
		if err != nil || v.OverflowUint(n) {
			return fmt.Errorf("%q is no whole number%s", s, rangeOf(v.Type()))
		}
		v.SetUint(n)
	case reflect.Float32, reflect.Float64:
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || v.OverflowFloat(f) {
			return fmt.Errorf("%q is no number", s)
		}
		v.SetFloat(f)
	default:
		return errors.New("it cannot be written as text; use a job file")
	}
	return nil
}

// parseWhole reads an integer, with _ between digits, or a size with a unit that ends in B.
func parseWhole(s string) (int64, error) {
	n, err := strconv.ParseInt(strings.ReplaceAll(s, "_", ""), 10, 64)
	if err == nil || !strings.HasSuffix(s, "B") {
		return n, err
	}
	size, err := ParseByteSize(s)
	return int64(size), err
}

func rangeOf(t reflect.Type) string {
	bits := t.Bits()
	switch k := t.Kind(); {
	case k >= reflect.Uint && k <= reflect.Uint64 && bits == 64:
		return ", zero or above"
	case k >= reflect.Uint && k <= reflect.Uint64:
		return fmt.Sprintf(" from 0 to %d", uint64(1)<<bits-1)
	case bits < 64:
		return fmt.Sprintf(" from %d to %d", -(int64(1) << (bits - 1)), int64(1)<<(bits-1)-1)
	}
	return ""
}

func setBool(v reflect.Value, s string) error {
	switch strings.ToLower(s) {
	case "true", "yes", "on", "1":
		v.SetBool(true)
	case "false", "no", "off", "0":
		v.SetBool(false)
	default:
		return fmt.Errorf("%q is neither true nor false", s)
	}
	return nil
}

// setTextSlice sets a slice from items divided by commas.
func setTextSlice(v reflect.Value, text string) error {
	items, err := Items(text)
	if err != nil {
		return err
	}
	return setItems(v, items)
}

func setItems(v reflect.Value, items []Word) error {
	out := reflect.MakeSlice(v.Type(), len(items), len(items))
	for i, it := range items {
		if err := setText(out.Index(i), it.Text, !wholeQuoted(it.Text)); err != nil {
			return atWord(it, err)
		}
	}
	v.Set(out)
	return nil
}

// wholeQuoted says whether all of s is one quoted text. Items such as `"a b" desc` are not; they stay as typed.
func wholeQuoted(s string) bool {
	if s == "" || !isQuote(s[0]) {
		return false
	}
	_, end, err := ScanQuoted(s, 0)
	return err == nil && end == len(s)
}

// setTextMap sets a map with string keys from items of the form key:value.
func setTextMap(v reflect.Value, text string) error {
	if v.Type().Key().Kind() != reflect.String {
		return errors.New("it cannot be written as text; use a job file")
	}
	items, err := Items(text)
	if err != nil {
		return err
	}
	out := reflect.MakeMap(v.Type())
	for _, it := range items {
		k, val, ok := strings.Cut(it.Text, ":")
		if !ok {
			return atWord(it, fmt.Errorf("%q is not of the form key:value", clip(it.Text)))
		}
		key, err := Word{strings.TrimSpace(k), it.Offset}.Unquote()
		if err != nil {
			return err
		}
		e := reflect.New(v.Type().Elem()).Elem()
		if err := setText(e, strings.TrimSpace(val), false); err != nil {
			return atWord(it, err)
		}
		out.SetMapIndex(reflect.ValueOf(key).Convert(v.Type().Key()), e)
	}
	v.Set(out)
	return nil
}

// atWord makes a SyntaxError at w of any error that has no place yet, and shifts those that have one.
func atWord(w Word, err error) error {
	if s, ok := err.(*SyntaxError); ok { //nolint // made here, never wrapped
		return &SyntaxError{Offset: w.Offset + s.Offset, Msg: s.Msg, Err: s.Err}
	}
	return &SyntaxError{Offset: w.Offset, Msg: err.Error(), Err: err}
}

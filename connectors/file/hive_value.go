package file

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/expr"
)

// hiveNull is the folder value that stands for null, by Hive's convention.
const hiveNull = "__HIVE_DEFAULT_PARTITION__"

// hiveField is one column of folders.
type hiveField struct {
	name string
	typ  arrow.DataType // string, int64 or date32 when it was inferred; any scalar of hiveParsers when given
	at   int            // its place among the columns of the folders
}

// hivePair is one folder named key=value.
type hivePair struct{ key, value string }

// hivePairs are the folders of a path that are named key=value, outermost first; values are as they were before they were escaped.
func hivePairs(path string) []hivePair {
	var out []hivePair
	folders := strings.Split(path, "/")
	for _, name := range folders[:len(folders)-1] {
		key, value, ok := strings.Cut(name, "=")
		if !ok || key == "" {
			continue
		}
		out = append(out, hivePair{hiveUnescape(key), hiveUnescape(value)})
	}
	return out
}

// hiveUnescape undoes hiveEscape; what is no escape stands for itself.
func hiveUnescape(s string) string {
	if u, err := url.PathUnescape(s); err == nil {
		return u
	}
	return s
}

// hiveTypes reads the types that the option gives.
func hiveTypes(option string) ([]hiveField, error) {
	columns, err := ParseSchema(option)
	if err != nil {
		return nil, dataset.Usagef("hive=%q: want auto, off, or types such as \"year int64, lang string\": %v", option, err)
	}
	var out []hiveField
	for i, c := range columns {
		if len(c.Path) != 1 || hiveParsers[c.Type.ID()] == nil {
			return nil, dataset.Usagef("hive=%q: column %q cannot be %s; folder names give string, int64, float64, bool and date", option, strings.Join(c.Path, "."), c.Type)
		}
		out = append(out, hiveField{c.Path[0], c.Type, i})
	}
	return out, nil
}

// hiveFields finds the columns of the folders of a bounded sample of the files. types are those that were given.
func hiveFields(ctx context.Context, set *Set, types []hiveField) ([]hiveField, error) {
	if types != nil {
		return types, nil
	}
	var keys []string
	var values [][]string
	n := 0
	for ref, err := range set.Files(ctx, "") {
		if _, usage := errors.AsType[*dataset.UsageError](err); usage {
			return nil, nil // nothing is there: some connectors know their schema all the same, and reading says so
		}
		if err != nil {
			return nil, err
		}
		pairs := hivePairs(ref.Path)
		if n == 0 {
			for _, p := range pairs {
				if slices.Contains(keys, p.key) {
					return nil, nil // the same key twice says nothing
				}
				keys, values = append(keys, p.key), append(values, nil)
			}
		}
		if !slices.EqualFunc(pairs, keys, func(p hivePair, k string) bool { return p.key == k }) || len(keys) == 0 {
			return nil, nil // these are no partitions of one table
		}
		for i, p := range pairs {
			values[i] = append(values[i], p.value)
		}
		if n++; n == hiveSample {
			break
		}
	}
	out := make([]hiveField, len(keys))
	for i, k := range keys {
		out[i] = hiveField{k, inferHive(values[i]), i}
	}
	return out, nil
}

// inferHive is the type of all values: whole numbers, dates, else text.
func inferHive(values []string) arrow.DataType {
	for _, t := range []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.FixedWidthTypes.Date32} {
		fits, some := true, false
		for _, v := range values {
			if v == hiveNull {
				continue
			}
			some = true
			if _, err := hiveParsers[t.ID()](v); err != nil {
				fits = false
				break
			}
		}
		if fits && some {
			return t
		}
	}
	return arrow.BinaryTypes.String
}

// hiveParsers read folder values; the results are what expr.ColumnStats takes.
var hiveParsers = map[arrow.Type]func(string) (any, error){
	arrow.STRING:  func(s string) (any, error) { return s, nil },
	arrow.INT64:   func(s string) (any, error) { return strconv.ParseInt(s, 10, 64) },
	arrow.FLOAT64: func(s string) (any, error) { return strconv.ParseFloat(s, 64) },
	arrow.BOOL:    func(s string) (any, error) { return strconv.ParseBool(s) },
	arrow.DATE32:  func(s string) (any, error) { return time.Parse(time.DateOnly, s) },
}

// hiveValues are the values of one file, nil for null, in the order of fields.
func hiveValues(fields []hiveField, path string) ([]any, error) {
	pairs := hivePairs(path)
	out := make([]any, len(fields))
	for i, f := range fields {
		k := slices.IndexFunc(pairs, func(p hivePair) bool { return p.key == f.name })
		if k < 0 {
			return nil, &dataset.FatalError{Err: fmt.Errorf("read %s: it lies in no folder %s=…, as the first files do; pass hive=off to read the files without columns of their folders", path, f.name)}
		}
		v := pairs[k].value
		if v == hiveNull {
			continue
		}
		x, err := hiveParsers[f.typ.ID()](v)
		if err != nil {
			return nil, &dataset.FatalError{Err: fmt.Errorf("read %s: folder %s=%s is no %s, as those of the first files are; pass hive=\"%s string\", with the other columns, or hive=off", path, f.name, v, f.typ, f.name)}
		}
		out[i] = x
	}
	return out, nil
}

// hiveStats says what is known of a column in a file with these values.
func hiveStats(fields []hiveField, values []any, column string) (expr.ColumnStats, bool) {
	i := slices.IndexFunc(fields, func(f hiveField) bool { return f.name == column })
	if i < 0 {
		return expr.ColumnStats{}, false
	}
	if values[i] == nil {
		return expr.ColumnStats{NullCount: 1, Rows: 1}, true
	}
	return expr.ColumnStats{Min: values[i], Max: values[i], Rows: 1}, true
}

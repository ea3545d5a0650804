package sluice

import (
	"strconv"
	"strings"
)

// Filter keeps the rows for which the expression is true: Filter("score > 0.9 and lang == 'de'").
func (d Dataset) Filter(expr string) Dataset { return d.Step("where", expr) }

// Select keeps the named columns, in that order.
func (d Dataset) Select(columns ...string) Dataset { return d.Step("select", names(columns)) }

// Drop leaves the named columns out.
func (d Dataset) Drop(columns ...string) Dataset { return d.Step("drop", names(columns)) }

// Rename gives a column another name.
func (d Dataset) Rename(from, to string) Dataset { return d.Step("rename", quote(from)+" "+quote(to)) }

// With adds or replaces a column by an expression: With("len", "length(text)").
func (d Dataset) With(column, expr string) Dataset { return d.Step("with", quote(column)+" = "+expr) }

// Limit passes n rows on and stops the sources. Which rows they are is fixed only where the order is: WithOrdered, or one file written.
func (d Dataset) Limit(n int64) Dataset { return d.Step("limit", strconv.FormatInt(n, 10)) }

// Sample keeps each row with the given probability, decided by where the row came from and the seed.
func (d Dataset) Sample(fraction float64, options ...string) Dataset {
	return d.Step("sample", join(options, strconv.FormatFloat(fraction, 'g', -1, 64)))
}

// Sort orders the rows: Sort("score desc", "id"). Nulls come last. It spills to disk when the rows exceed the memory budget.
func (d Dataset) Sort(keys ...string) Dataset { return d.Step("sort", strings.Join(keys, ", ")) }

// Union appends the rows of other datasets of the same columns.
func (d Dataset) Union(more ...Dataset) Dataset {
	spec, err := d.s.spec("union", "")
	if err != nil {
		return d.failed(err)
	}
	return d.Via(spec, more...)
}

// Repartition cuts the rows into blocks of exactly so many rows; the last has what is left.
func (d Dataset) Repartition(rows int) Dataset { return d.Step("repartition", strconv.Itoa(rows)) }

// Unnest makes a row of each element of a list column, or columns of the fields of a struct column.
func (d Dataset) Unnest(column string, options ...string) Dataset {
	return d.Step("unnest", join(options, quote(column)))
}

// Download fetches the URLs of a column into the binary column data: Download("url", "timeout=10s", "max_bytes=10MiB").
func (d Dataset) Download(column string, options ...string) Dataset {
	return d.Step("download", join(options, quote(column)))
}

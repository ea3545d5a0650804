package sql

import (
	"strings"

	"github.com/sluice-data/sluice/dataset"
)

// Options of reading.
type Options struct {
	Table string `json:"table,omitempty" doc:"table or view to read (schema.table); without it and query= the only table of the database"`
	Query string `json:"query,omitempty" doc:"query to read instead of a table"`
	By    string `json:"by,omitempty" doc:"column to divide the work by: a whole number, date or timestamp, best an indexed one (a primary key of one such column)"`
	// Split is not part of what is read.
	Split dataset.ByteSize `json:"split,omitempty" doc:"about how much one reader takes at a time (32MiB)"`
}

// SQLiteOptions are the options of reading SQLite.
type SQLiteOptions struct {
	Options
	Schema string `json:"schema,omitempty" doc:"types of columns whose declared type says less: \"at timestamp, price decimal(10, 2)\""`
}

// fromURL completes the options by what the URL says, and checks them.
func (o *Options) fromURL(a address) error {
	for name, at := range map[string]*string{"table": &o.Table, "query": &o.Query, "by": &o.By} {
		if err := a.merge(name, at); err != nil {
			return err
		}
	}
	if o.Table != "" && o.Query != "" {
		return dataset.Usagef("open %s: give table= or query=, not both", a.shown)
	}
	if o.Split < 0 {
		return dataset.Usagef("open %s: split=%s: must be positive", a.shown, o.Split)
	}
	return nil
}

// maxShownQuery is how much of a query stands in the name of a source.
const maxShownQuery = 60

// shownAs is the name of a relation in errors and logs.
func (s selection) shownAs(place string) string {
	sep := "?"
	if strings.Contains(place, "?") {
		sep = "&"
	}
	if s.query == "" && s.table == "" {
		return place
	}
	if s.query == "" {
		return place + sep + "table=" + s.table
	}
	q := strings.Join(strings.Fields(s.query), " ")
	if len(q) > maxShownQuery {
		q = strings.ToValidUTF8(q[:maxShownQuery], "") + "…"
	}
	return place + sep + "query=" + q
}

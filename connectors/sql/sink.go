package sql

import (
	"context"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
)

// Modes of a sink.
const (
	modeCreate = "create" // the table is ours: it is made, or holds nothing but what earlier runs put there
	modeInsert = "insert" // rows are added to whatever is there
	modeUpsert = "upsert" // rows replace those of the same key
)

// SinkOptions are the options of writing.
type SinkOptions struct {
	Table string   `json:"table,omitempty" doc:"table to write (schema.table); it is made if it does not exist"`
	Mode  string   `json:"mode,omitempty" doc:"create (default: the table is made, or holds only what runs of this job put there), insert (rows are added to what is there) or upsert (rows replace those of the same key)"`
	Key   []string `json:"key,omitempty" doc:"columns of the key of an upsert; they need a unique index, which a table that is made gets"`
}

// complete checks the options and takes over what the URL says.
func (o *SinkOptions) complete(a address) error {
	key := strings.Join(o.Key, ",")
	for name, at := range map[string]*string{"table": &o.Table, "mode": &o.Mode, "key": &key} {
		if err := a.merge(name, at); err != nil {
			return err
		}
	}
	if err := a.only("sink", "table", "mode", "key"); err != nil {
		return err
	}
	o.Key = nil
	for k := range strings.SplitSeq(key, ",") {
		if k = strings.TrimSpace(k); k != "" {
			o.Key = append(o.Key, k)
		}
	}
	switch {
	case o.Table == "":
		return dataset.Usagef("open %s: name the table to write with table=", a.shown)
	case strings.HasPrefix(bare(o.Table), "_sluice_"):
		return dataset.Usagef("open %s: tables named _sluice_… keep the state of results; give another name", a.shown)
	case o.Mode == "" && len(o.Key) > 0:
		o.Mode = modeUpsert
	case o.Mode == "":
		o.Mode = modeCreate
	case !slices.Contains([]string{modeCreate, modeInsert, modeUpsert}, o.Mode):
		return dataset.Usagef("open %s: mode=%s: must be create, insert or upsert%s", a.shown, o.Mode, dataset.DidYouMean(o.Mode, []string{modeCreate, modeInsert, modeUpsert}))
	}
	if (o.Mode == modeUpsert) != (len(o.Key) > 0) {
		return dataset.Usagef("open %s: mode=upsert goes with key=column, and key= with mode=upsert", a.shown)
	}
	return nil
}

// check accepts or refuses the columns of the rows.
func (o *SinkOptions) check(in *arrow.Schema, typeOf func(arrow.DataType) (string, error)) error {
	if in.NumFields() == 0 {
		return dataset.Usagef("a table needs a column")
	}
	seen := map[string]string{}
	for _, f := range in.Fields() {
		if _, err := typeOf(f.Type); err != nil {
			return dataset.Usagef("column %q: %w", f.Name, err)
		}
		lower := strings.ToLower(f.Name)
		if other, taken := seen[lower]; taken {
			return dataset.Usagef("columns %q and %q: tables do not tell them apart; rename one", other, f.Name)
		}
		if f.Name == "" || strings.ContainsRune(f.Name, 0) {
			return dataset.Usagef("column %q: a table has no such name; rename it", f.Name)
		}
		seen[lower] = f.Name
	}
	for _, k := range o.Key {
		if _, err := dataset.FieldIndex(in, k); err != nil {
			return dataset.Usagef("key=%s: %w", k, err)
		}
	}
	return nil
}

// made is a column as a table is made with it.
type made struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// madeOf are the columns of a table that is made for rows.
func madeOf(in *arrow.Schema, typeOf func(arrow.DataType) (string, error)) ([]made, error) {
	out := make([]made, in.NumFields())
	for i, f := range in.Fields() {
		t, err := typeOf(f.Type)
		if err != nil {
			return nil, err
		}
		out[i] = made{f.Name, t}
	}
	return out, nil
}

// createTable writes the statement that makes a table where there is none.
func (o *SinkOptions) createTable(table string, cols []made) string {
	var defs []string
	for _, c := range cols {
		defs = append(defs, quote(c.Name)+" "+c.Type)
	}
	if o.Mode == modeUpsert {
		defs = append(defs, "PRIMARY KEY ("+quoteAll(o.Key)+")")
	}
	return "CREATE TABLE IF NOT EXISTS " + table + " (" + strings.Join(defs, ", ") + ")"
}

// onConflict is what an upsert adds to an INSERT.
func (o *SinkOptions) onConflict(cols []made) string {
	if o.Mode != modeUpsert {
		return ""
	}
	var set []string
	for _, c := range cols {
		if !slices.Contains(o.Key, c.Name) {
			set = append(set, quote(c.Name)+" = excluded."+quote(c.Name))
		}
	}
	if len(set) == 0 {
		return " ON CONFLICT (" + quoteAll(o.Key) + ") DO NOTHING"
	}
	return " ON CONFLICT (" + quoteAll(o.Key) + ") DO UPDATE SET " + strings.Join(set, ", ")
}

func quoteAll(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = quote(n)
	}
	return strings.Join(out, ", ")
}

func names(cols []made) []string {
	out := make([]string, len(cols))
	for i, c := range cols {
		out[i] = c.Name
	}
	return out
}

// foreignRows is how a table that holds rows of others is shown when it is refused.
func foreignRows(table string) dataset.Receipt {
	return dataset.Receipt{Name: "rows of table " + table + " (mode=insert adds to them, mode=upsert key=… replaces those of the same key)"}
}

// publication is a transaction that puts parts into a table, not yet committed. It outlives the call that began it: what Rehearse has
// found to be possible, Finish commits.
type publication interface {
	commit(ctx context.Context) error
	rollback() error
}

// rehearsal is a publication and what it is of.
type rehearsal struct {
	pub   publication
	parts []string
}

func partNames(receipts []dataset.Receipt) []string {
	out := make([]string, len(receipts))
	for i, r := range receipts {
		out[i] = r.Name
	}
	return out
}

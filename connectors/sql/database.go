package sql

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice/dataset"
)

// database is one kind of database at one place, as sources see it. It is immutable and connects to nothing by itself.
type database interface {
	dialect
	// describe looks at the columns and keys of what is to be read.
	describe(ctx context.Context, what selection) (*relation, error)
	// open opens a view of the current state.
	open(ctx context.Context) (view, error)
}

// dialect is how a database writes SQL.
type dialect interface {
	// selected is an expression as it stands in a list of columns.
	selected(expr string) string
	// noLimit is what must stand before an OFFSET that has no LIMIT.
	noLimit() string
	// param is the placeholder of the n-th parameter, from 1, of a value that is compared with a column of this kind.
	param(n int, k kind) string
	// value is v as a parameter of that kind; ok is false where the database would not compare it as expressions do.
	value(v any, k kind) (out any, ok bool)
	// bound is a key as a parameter.
	bound(v int64, k kind) any
	// binary is what follows a text column so that it compares by bytes.
	binary() string
}

// view is one state of a database, which all readers of a run share. Methods may be called from several goroutines.
type view interface {
	// pin is what tells this state from others: everything of a FileRef but the path.
	pin() dataset.FileRef
	// version is part of the names of rows that are named in this state only; "" where pin says it all.
	version() string
	// bounds tells where the keys of a relation lie, which is to be read in pieces of about target bytes.
	bounds(ctx context.Context, r *relation, target int64) (bounds, error)
	// rows starts a query. What waits for the database waits in wait.
	rows(ctx context.Context, wait waiter, s scan) (rows, error)
	// lost tells whether an error means that the state is gone for good, so that another view must be opened.
	lost(err error) bool
	close() error
}

// waiter is dataset.Runtime's Blocking.
type waiter func(reason string, fn func() error) error

// rows is a running query. Calls never overlap.
type rows interface {
	// next goes to the next row; false behind the last.
	next(ctx context.Context) (bool, error)
	// key is the key of the row, where the scan asked for keys.
	key() (int64, error)
	// append decodes column i of the row into b. An error is that of the row; then one value or none was
	// appended.
	append(i int, b array.Builder) error
	// size is about what the row takes, in bytes.
	size() int
	close() error
}

// selection is what a user asked to read.
type selection struct {
	table, query string // one of them
	by           string
	schema       string // declared types, "" if there are none
}

// kind says how values of a column compare in SQL.
type kind uint8

const (
	kindOther   kind = iota // not as expressions do
	kindBool                // false before true
	kindInt                 // 64 bits at most
	kindFloat               // NaN last
	kindDecimal             // exact
	kindText                // by bytes, where the dialect's binary() follows the column
	kindUUID                // 128 bits, which have no literal in expressions
	kindDate                // days
	kindTime                // without zone
	kindInstant             // with zone
	kindPlace               // where a row lies in a table
)

// column is one column of a relation.
type column struct {
	name string
	expr string // that selects it
	typ  arrow.DataType
	kind kind
	raw  uint32 // the database's own number of its type, if it has one
	elem uint32 // that of the elements of an array
}

// relation is what is read: a table, a view or a query.
type relation struct {
	from  string // what stands behind FROM
	table string // the database's own number or name of the table, "" for queries and views
	cols  []column
	key   key
	tie   string // orders rows of equal keys
}

// scheme says how the rows of a relation are named and divided.
type scheme uint8

const (
	// byKey: a unique whole number names each row, so that a row keeps its name in every state of the database.
	byKey scheme = iota
	// byPlace: the place of a row in its table names it, within one state of the database.
	byPlace
	// byRange: ranges of a column that is not unique; rows are counted within the range, in its order.
	byRange
	// byText: the same, of a column of text or UUIDs, whose ranges lie between values that occur.
	byText
	// byCount: rows are counted, in the order in which the database gives them.
	byCount
)

// key is how the rows of a relation are divided.
type key struct {
	scheme scheme
	name   string // of the column; "" without one
	expr   string
	kind   kind
}

// bounds is where keys lie.
type bounds struct {
	lo, hi int64 // smallest and largest, inclusive
	any    bool  // there is one
	nulls  bool  // some rows may have none
	cuts   []int64
	texts  []string // byText: values between which the ranges lie, ascending; of equal shares of the rows
	bytes  int64    // estimate of what there is to read
}

// scan is one query of a reader.
type scan struct {
	rel      *relation
	cols     []column
	where    string // condition of the plan, "" if there is none
	args     []any  // its parameters
	from, to *int64 // keys: from inclusive, to exclusive; nil: open
	text     span   // byText: the same
	nulls    bool   // rows without a key instead
	skip     uint64 // rows left out at the start
	limit    int64  // 0: none
}

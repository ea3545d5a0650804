package sql

import (
	"context"
	"strings"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

const postgresHelp = `postgres://user@host:5432/database?table=name, or ?query=…; what the URL leaves out comes from PGHOST, PGUSER and the like. Passwords are taken from PGPASSWORD, ~/.pgpass or a service file, never from the URL. All readers of a run see one snapshot, and read ranges of the primary key (or of by=) side by side. Conditions, columns and limits that SQL can say are asked of the server.`

const sqliteHelp = `sqlite:path.db?table=name, or shop.db table=name. All readers of a run see one state of the database; they read ranges of the rowid (or of by=) side by side. Types are the declared ones, those of a sample where none is declared; a value of another type is a row error. Conditions, columns and limits that SQL can say are asked of SQLite.`

const postgresSinkHelp = `Rows are copied (COPY) into a staging table for each part and published in one transaction: readers see all rows of a run or none, and a run that is killed and goes on adds none twice. The table is made if it does not exist. State is kept in tables named _sluice_… beside it.`

const sqliteSinkHelp = `Parts are staged beside the database and published in one transaction: readers see all rows of a run or none, and a run that is killed and goes on adds none twice. Database and table are made if they do not exist. State is kept in .NAME.sluice/ beside the database.`

var sqliteExtensions = []string{"sqlite", "sqlite3", "db"}

// Register adds the sources and the sinks to a registry.
func Register(reg *dataset.Registry) error {
	for _, scheme := range []string{postgresScheme, "postgresql", sqliteScheme} {
		file.RegisterState(scheme, stateOf)
	}
	err := reg.AddSinks(
		dataset.SinkDef{Name: postgresScheme, Doc: "Tables of PostgreSQL", Help: postgresSinkHelp, Zero: func() any { return &SinkOptions{} }, Open: openPostgresSink},
		dataset.SinkDef{Name: "postgresql", Doc: "The same as postgres", Help: postgresSinkHelp, Zero: func() any { return &SinkOptions{} }, Open: openPostgresSink},
		dataset.SinkDef{Name: sqliteScheme, Doc: "Tables of SQLite", Help: sqliteSinkHelp, Extensions: sqliteExtensions,
			Zero: func() any { return &SinkOptions{} }, Open: openSQLiteSink},
	)
	if err != nil {
		return err
	}
	return reg.AddSources(
		dataset.SourceDef{Name: postgresScheme, Doc: "Tables and queries of PostgreSQL", Help: postgresHelp,
			Zero: func() any { return &Options{} }, Open: openPostgres},
		dataset.SourceDef{Name: "postgresql", Doc: "The same as postgres", Help: postgresHelp,
			Zero: func() any { return &Options{} }, Open: openPostgres},
		dataset.SourceDef{Name: sqliteScheme, Doc: "Tables and queries of SQLite", Help: sqliteHelp,
			Extensions: sqliteExtensions, Zero: func() any { return &SQLiteOptions{} }, Open: openSQLiteSource},
	)
}

// one takes the one place that a source reads.
func one(in []dataset.Pattern) (string, error) {
	if len(in) != 1 {
		return "", dataset.Usagef("open database: %d places are joined; read one, with a query that has UNION ALL", len(in))
	}
	if in[0].Text == file.StdinPath {
		return "", dataset.Usagef("open database: standard input is no database; save it as a file")
	}
	return in[0].Text, nil
}

func openPostgres(_ context.Context, in []dataset.Pattern, params any) (dataset.Source, error) {
	text, err := one(in)
	if err != nil {
		return nil, err
	}
	opt := *params.(*Options) //nolint // what Zero gave
	a, err := parsePostgres(text)
	if err != nil {
		return nil, err
	}
	if err := a.only("source", "table", "query", "by"); err != nil {
		return nil, err
	}
	if err := opt.fromURL(a); err != nil {
		return nil, err
	}
	db, err := newPostgres(a.conn)
	if err != nil {
		return nil, err
	}
	return newSource(postgresScheme, a.shown, db, selection{table: opt.Table, query: opt.Query, by: opt.By}, int64(opt.Split)), nil
}

func openSQLiteSource(_ context.Context, in []dataset.Pattern, params any) (dataset.Source, error) {
	text, err := one(in)
	if err != nil {
		return nil, err
	}
	if file.IsURL(text) && !strings.HasPrefix(text, sqliteScheme+":") {
		return nil, dataset.Usagef("open sqlite %s: SQLite databases are read where they lie; copy it to this machine", text)
	}
	opt := *params.(*SQLiteOptions) //nolint // what Zero gave
	a, err := parseSQLite(text)
	if err != nil {
		return nil, err
	}
	if err := a.only("source", "table", "query", "by", "schema"); err != nil {
		return nil, err
	}
	if err := opt.fromURL(a); err != nil {
		return nil, err
	}
	if err := a.merge("schema", &opt.Schema); err != nil {
		return nil, err
	}
	db, err := newSQLite(a.conn)
	if err != nil {
		return nil, err
	}
	return newSource(sqliteScheme, a.shown, db, selection{table: opt.Table, query: opt.Query, by: opt.By, schema: opt.Schema}, int64(opt.Split)), nil
}

func openPostgresSink(path string, params any) (dataset.Sink, error) {
	opt := *params.(*SinkOptions) //nolint // what Zero gave
	a, err := parsePostgres(path)
	if err != nil {
		return nil, err
	}
	if err := opt.complete(a); err != nil {
		return nil, err
	}
	return newPgSink(a, opt)
}

func openSQLiteSink(path string, params any) (dataset.Sink, error) {
	opt := *params.(*SinkOptions) //nolint // what Zero gave
	a, err := parseSQLite(path)
	if err != nil {
		return nil, err
	}
	if err := opt.complete(a); err != nil {
		return nil, err
	}
	return newSQLiteSink(a, opt)
}

// stateOf is file.StateOf for tables.
func stateOf(ctx context.Context, path string) (store dataset.Storage, result string, ok bool, err error) {
	open := openPostgresSink
	if strings.HasPrefix(path, sqliteScheme+":") {
		open = openSQLiteSink
	}
	sink, err := open(path, &SinkOptions{Mode: modeInsert})
	if err != nil {
		return nil, "", false, err
	}
	target := sink.(dataset.Target) //nolint // both are
	if store, err = target.State(ctx); err != nil {
		return nil, "", false, err
	}
	names, err := store.List(ctx, "")
	return store, target.Locator(), len(names) > 0, err
}

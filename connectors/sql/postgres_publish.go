package sql

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sluice-data/sluice/dataset"
)

// pgReceipt is what a receipt says of a staged part.
type pgReceipt struct {
	Stage string `json:"stage"` // name of its table, in the schema of the target
	Cols  []made `json:"cols"`  // as a table is made for them
}

func pgReceiptOf(r dataset.Receipt) (d pgReceipt, err error) {
	if err := json.Unmarshal(r.Data, &d); err != nil || !strings.HasPrefix(d.Stage, "_sluice_") {
		return d, fmt.Errorf("read receipt of %s: it names no staging table", r.Name)
	}
	return d, nil
}

// pgPublication is a transaction on a connection of its own.
type pgPublication struct {
	conn *pgconn.PgConn
}

// commit implements publication.
func (p *pgPublication) commit(ctx context.Context) error {
	return errors.Join(pgRun(ctx, p.conn, "COMMIT"), hangUp(p.conn))
}

// rollback implements publication.
func (p *pgPublication) rollback() error { return hangUp(p.conn) }

// open implements publisher.begin.
func (s *pgSink) open(ctx context.Context, clear bool, parts []dataset.Receipt) (publication, error) {
	store, err := s.state(ctx)
	if err != nil {
		return nil, err
	}
	c, err := s.db.connect(ctx)
	if err != nil {
		return nil, err
	}
	p := &pgPublication{c}
	any, err := s.fill(ctx, c, store, clear, parts)
	if err != nil {
		return nil, errors.Join(err, p.rollback())
	}
	if !any {
		return nil, p.rollback()
	}
	return p, nil
}

// fill puts the parts into the table; any is false if they were all there.
func (s *pgSink) fill(ctx context.Context, c *pgconn.PgConn, store *pgStorage, clear bool, parts []dataset.Receipt) (any bool, err error) {
	at := store.at
	if err := pgRun(ctx, c, "BEGIN; SET LOCAL client_min_messages = error; SET LOCAL synchronize_seqscans = off; "+
		strings.Replace(makeParts, partsTable, at.beside(partsTable), 1)); err != nil {
		return false, err
	}
	if err := store.fence(ctx, c); err != nil {
		return false, err
	}
	out, err := pgText(ctx, c, "SELECT part FROM "+at.beside(partsTable)+" WHERE target = $1", at.name)
	if err != nil {
		return false, err
	}
	done := map[string]bool{}
	for _, row := range out {
		done[row[0]] = true
	}
	for _, r := range parts {
		any = any || !done[r.Name]
	}
	if !any {
		return false, nil
	}
	if clear {
		there, err := pgText(ctx, c, "SELECT to_regclass($1) IS NOT NULL", at.table())
		if err == nil && there[0][0] == "t" {
			err = pgRun(ctx, c, "DELETE FROM "+at.table())
		}
		if err == nil {
			_, err = pgText(ctx, c, "DELETE FROM "+at.beside(partsTable)+" WHERE target = $1", at.name)
		}
		if err != nil {
			return false, err
		}
		done = map[string]bool{}
	}
	for _, r := range parts {
		if !done[r.Name] {
			if err := s.addPart(ctx, c, at, r); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// addPart moves the rows of a staging table.
func (s *pgSink) addPart(ctx context.Context, c *pgconn.PgConn, at pgPlace, r dataset.Receipt) error {
	d, err := pgReceiptOf(r)
	if err != nil {
		return err
	}
	if err := pgRun(ctx, c, s.opt.createTable(at.table(), d.Cols)); err != nil {
		return err
	}
	have, err := pgColumnsOf(ctx, c, at)
	if err != nil {
		return err
	}
	var list []string
	for _, col := range d.Cols {
		expr := quote(col.Name)
		if h := have[col.Name]; h.staged() != h.typ {
			expr += "::" + h.typ
		}
		list = append(list, expr)
	}
	order := "ORDER BY ctid"
	from := "SELECT "
	if s.opt.Mode == modeUpsert { // of rows with one key the last wins
		from = "SELECT DISTINCT ON (" + quoteAll(s.opt.Key) + ") "
		order = "ORDER BY " + quoteAll(s.opt.Key) + ", ctid DESC"
	}
	res := c.ExecParams(ctx, "INSERT INTO "+at.table()+" ("+quoteAll(names(d.Cols))+") OVERRIDING SYSTEM VALUE "+from+strings.Join(list, ", ")+
		" FROM "+at.beside(d.Stage)+" "+order+s.opt.onConflict(d.Cols), nil, nil, nil, nil).Read()
	if res.Err != nil {
		return pgError(res.Err)
	}
	if n := res.CommandTag.RowsAffected(); s.opt.Mode != modeUpsert && n != r.Rows {
		return fmt.Errorf("part %s: %d rows were added, its receipt says %d (a rule or trigger of the table keeps rows away?)", r.Name, n, r.Rows)
	}
	_, err = pgText(ctx, c, "INSERT INTO "+at.beside(partsTable)+" VALUES ($1, $2, $3::bigint)", at.name, r.Name, fmt.Sprint(r.Rows))
	return err
}

// pgHave is a column of a table that exists.
type pgHave struct {
	typ     string // as SQL writes it
	oid     uint32
	notNull bool // and nothing fills it
}

package sql

import (
	"context"
	"encoding/binary"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/sluice-data/sluice/dataset"
)

// postgres is one PostgreSQL database.
type postgres struct {
	config *pgconn.Config
}

var _ database = (*postgres)(nil)

// Limits of a connection.
const (
	connectTimeout = 15 * time.Second
	maxRowBytes    = 512 << 20 // of one message: a row with all its columns
)

// newPostgres reads the URL and what the environment adds to it: PGHOST, PGUSER, PGPASSWORD, ~/.pgpass, service files.
func newPostgres(conn string) (*postgres, error) {
	cfg, err := pgconn.ParseConfig(conn)
	if err != nil {
		return nil, dataset.Usagef("open postgres: %w", flat(err))
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = connectTimeout
	}
	for k, v := range map[string]string{
		"timezone": "UTC", "datestyle": "ISO", "extra_float_digits": "3", "client_encoding": "UTF8",
		"idle_in_transaction_session_timeout": "0", // the plan reads when it has room, which may be late
	} {
		cfg.RuntimeParams[k] = v
	}
	if cfg.RuntimeParams["application_name"] == "" {
		cfg.RuntimeParams["application_name"] = "sluice"
	}
	build := cfg.BuildFrontend
	cfg.BuildFrontend = func(r io.Reader, w io.Writer) *pgproto3.Frontend {
		f := build(r, w)
		f.SetMaxBodyLen(maxRowBytes)
		return f
	}
	return &postgres{cfg}, nil
}

func (p *postgres) connect(ctx context.Context) (*pgconn.PgConn, error) {
	c, err := pgconn.ConnectConfig(ctx, p.config)
	if err != nil {
		return nil, pgError(err)
	}
	return c, nil
}

// hangUp closes a connection, also when the context is done: the server must not wait for it.
func hangUp(c *pgconn.PgConn) error {
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
	defer stop()
	_ = c.Close(ctx) // the transaction is read-only or given up: how it ends tells nothing
	return nil
}

// pgParam is a parameter in the binary form of its type.
type pgParam struct {
	oid  uint32
	data []byte
}

func (p *postgres) param(n int, k kind) string {
	if k == kindUUID { // it travels as text
		return "$" + strconv.Itoa(n) + "::uuid"
	}
	return "$" + strconv.Itoa(n)
}

func (p *postgres) binary() string { return ` COLLATE "C"` }

func (p *postgres) selected(expr string) string { return expr }

func (p *postgres) noLimit() string { return "" }

// pgEpoch is the day from which PostgreSQL counts, in days since 1970.
const pgEpoch = 10957

func be64(v uint64) []byte { return binary.BigEndian.AppendUint64(nil, v) }

// bound implements dialect. Keys are in the units of the database: days and microseconds since 2000.
func (p *postgres) bound(v int64, k kind) any {
	switch k {
	case kindDate:
		return pgParam{pgtype.DateOID, binary.BigEndian.AppendUint32(nil, uint32(int32(max(min(v, math.MaxInt32), math.MinInt32))))}
	case kindTime:
		return pgParam{pgtype.TimestampOID, be64(uint64(v))}
	case kindInstant:
		return pgParam{pgtype.TimestamptzOID, be64(uint64(v))}
	case kindPlace:
		return pgParam{pgtype.TIDOID, binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint32(nil, uint32(v>>16)), uint16(v))}
	}
	return pgParam{pgtype.Int8OID, be64(uint64(v))}
}

// value implements dialect.
func (p *postgres) value(v any, k kind) (any, bool) {
	switch v := v.(type) {
	case int64:
		switch k {
		case kindFloat:
			return pgParam{pgtype.Float8OID, be64(math.Float64bits(float64(v)))}, true
		default:
			return pgParam{pgtype.Int8OID, be64(uint64(v))}, true
		}
	case float64:
		return pgParam{pgtype.Float8OID, be64(math.Float64bits(v))}, true
	case string:
		return pgParam{pgtype.TextOID, []byte(v)}, true
	case bool:
		b := byte(0)
		if v {
			b = 1
		}
		return pgParam{pgtype.BoolOID, []byte{b}}, true
	case time.Time:
		return pgTime(v, k)
	}
	return nil, false
}

func pgTime(t time.Time, k kind) (any, bool) {
	if t.Nanosecond()%1000 != 0 || t.Year() < 1 || t.Year() > 9999 {
		return nil, false
	}
	micros := t.UnixMicro() - pgEpoch*86400*1e6
	switch k {
	case kindTime:
		return pgParam{pgtype.TimestampOID, be64(uint64(micros))}, true
	case kindInstant:
		return pgParam{pgtype.TimestamptzOID, be64(uint64(micros))}, true
	case kindDate:
		days := t.Unix()/86400 - pgEpoch
		return pgParam{pgtype.DateOID, binary.BigEndian.AppendUint32(nil, uint32(int32(days)))}, t.Unix()%86400 == 0 && t.Nanosecond() == 0
	}
	return nil, false
}

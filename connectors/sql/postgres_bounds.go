package sql

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// estimate is how many bytes the planner expects of a relation.
func estimate(ctx context.Context, c *pgconn.PgConn, r *relation) (int64, error) {
	out, err := pgText(ctx, c, "EXPLAIN (FORMAT JSON) SELECT * FROM "+r.from)
	if err != nil {
		return 0, err
	}
	var lines []string
	for _, row := range out {
		lines = append(lines, row[0])
	}
	var plans []struct {
		Plan struct {
			Rows  float64 `json:"Plan Rows"`
			Width float64 `json:"Plan Width"`
		}
	}
	if err := json.Unmarshal([]byte(strings.Join(lines, "\n")), &plans); err != nil {
		return 0, fmt.Errorf("read the plan of the query: %w", err)
	}
	total := 0.0
	for _, p := range plans {
		total += p.Plan.Rows * p.Plan.Width
	}
	const most = 1 << 60
	return int64(min(total, most)), nil
}

// textBounds finds values that divide a column of texts or UUIDs evenly, in the order that comparing has there.
func textBounds(ctx context.Context, c *pgconn.PgConn, r *relation, b *bounds, target int64) error {
	out, err := pgText(ctx, c, "SELECT EXISTS (SELECT 1 FROM "+r.from+" WHERE "+r.key.expr+" IS NULL)")
	if err != nil {
		return err
	}
	b.nulls = out[0][0] == "t"
	n := b.quantiles(target)
	if n == 0 {
		return nil
	}
	shares := make([]string, n)
	for i := range shares {
		shares[i] = strconv.FormatFloat(float64(i+1)/float64(n+1), 'g', -1, 64)
	}
	out, err = pgText(ctx, c, "SELECT unnest(percentile_disc($1::float8[]) WITHIN GROUP (ORDER BY "+r.key.expr+"))::text FROM "+r.from, "{"+strings.Join(shares, ",")+"}")
	for _, row := range out {
		if row[0] != "" {
			b.texts = append(b.texts, row[0])
		}
	}
	return err
}

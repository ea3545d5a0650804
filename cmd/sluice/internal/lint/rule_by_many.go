package lint

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
)

func init() {
	register(Rule{"by-many", "the result is divided by a column of very many values", byMany})
}

// manyValues is how many values among the sampled rows are too many for a folder each.
const manyValues = 200

// byMany counts the values of the columns that the sink is divided by in a sample of the source. Columns that a step makes are not looked at,
// as the step would have to run.
func byMany(ctx context.Context, j *Job) (out []Finding, err error) {
	p, ok := j.Built.Sink.(dataset.Partitioned)
	if !ok {
		return nil, nil
	}
	schema, err := j.source().Schema(ctx)
	if err != nil {
		return nil, err
	}
	for _, column := range p.PartitionBy() {
		if !schema.HasField(column) {
			continue
		}
		values, read, err := distinct(ctx, j, schema, column)
		if err != nil {
			return nil, err
		}
		if values < manyValues && (read < 100 || values < read/2) {
			continue
		}
		out = append(out, Finding{Pos: j.Parsed.Sink.Pos,
			Message: fmt.Sprintf("by=%s makes a folder and at least one file for each value, and the first %d rows have %d of them", column, read, values),
			Remedy:  "divide by a column of few values; make one of a time or a number: with day = date_trunc(\"day\", t), or with bucket = int(id) % 64"})
	}
	return out, nil
}

// distinct counts the values of a column among the first rows of the source.
func distinct(ctx context.Context, j *Job, schema *arrow.Schema, column string) (values, read int, err error) {
	src := j.source()
	if p, ok := src.(dataset.Projectable); ok {
		if src, err = p.Project([]string{column}); err != nil {
			return 0, 0, err
		}
	}
	if h, ok := src.(dataset.LimitHint); ok {
		src = h.LimitHint(sampleRows)
	}
	ctx, cancel := context.WithTimeout(ctx, sampleTime)
	defer cancel()
	seen := map[string]bool{}
	opts := dataset.Options{OnError: dataset.OnErrorSkip}
	for b, err := range dataset.From(src, j.Runner).Blocks(ctx, opts) {
		if errors.Is(err, context.DeadlineExceeded) {
			break
		}
		if err != nil {
			return 0, 0, err
		}
		col := b.ColumnByName(column)
		for i := range b.NumRows() {
			seen[col.ValueStr(i)] = true
			if read++; read == sampleRows {
				return len(seen), read, nil
			}
		}
	}
	return len(seen), read, nil
}

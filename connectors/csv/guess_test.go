package csv_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/connectors/csv"
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

// misleading makes records whose quoted fields hold whole records, quotes and commas, and fields without quotes that hold quotes.
func misleading(rng *rand.Rand, n int, odd bool) string {
	var b strings.Builder
	b.WriteString("id,text,more\n")
	for i := range n {
		if i%97 == 96 {
			b.WriteString("no number,\"\nx,y,z\n\",1\n")
			continue
		}
		fmt.Fprintf(&b, "%d,", i)
		switch k := rng.IntN(8); {
		case k < 2:
			b.WriteString("plain,1\n")
		case k < 4:
			b.WriteString(`"` + strings.Repeat("7,looks like,a record\n", rng.IntN(12)) + `",2` + "\n")
		case k < 5:
			b.WriteString(`"` + strings.Repeat("8,\"\"in quotes\"\",\"\"x\"\"\n", rng.IntN(12)) + `",3` + "\r\n")
		case k < 6 && odd:
			b.WriteString("5\" pipe,\"4\"\n")
		case k < 7:
			b.WriteString(`"",` + "\n")
		default:
			b.WriteString(`",",""` + "\n")
		}
	}
	return b.String()
}

// TestGuessedStarts reads ranges whose first records are only guessed, in orders in which nothing is known of the ranges before: last first, and
// many at the same time. The rows are those of the file in one range, and so are the failed ones.
func TestGuessedStarts(t *testing.T) {
	for _, odd := range []bool{false, true} {
		for seed := range uint64(4) {
			t.Run(fmt.Sprintf("odd=%v/%d", odd, seed), func(t *testing.T) {
				text := misleading(rand.New(rand.NewPCG(seed, 3)), 600, odd)
				dir := t.TempDir()
				write(t, dir, map[string]string{"in.csv": text})
				read := func(size int64, order string) (rows, failed []string) {
					src := open(t, file.Local{}, dir, csv.Options{Schema: "id int64, text string, more string"}, size)
					rt := connectortest.NewRuntime(t)
					rt.Bytes, rt.Rows = 2000, 50
					rows = readInOrder(t, src, rt, order)
					for _, f := range rt.Failures() {
						failed = append(failed, fmt.Sprintf("%d: %v", f.Position, f.Err))
					}
					slices.Sort(failed)
					return rows, failed
				}
				want, failed := read(1<<30, "as they come")
				if len(failed) != 6 {
					t.Fatalf("failed rows %q, want 6", failed)
				}
				for _, size := range []int64{300, 4096, 20_000} {
					for _, order := range []string{"as they come", "last first", "together"} {
						got, bad := read(size, order)
						if !slices.Equal(got, want) {
							t.Errorf("splits of %d bytes, %s: %d rows, other than the %d in one split", size, order, len(got), len(want))
						}
						if !slices.Equal(bad, failed) {
							t.Errorf("splits of %d bytes, %s: failed rows %q, want %q", size, order, bad, failed)
						}
					}
				}
			})
		}
	}
}

// readInOrder reads the splits of a source and returns the rows in the order of the file.
func readInOrder(t *testing.T, src dataset.Source, rt dataset.Runtime, order string) []string {
	t.Helper()
	splits := connectortest.Splits(t, src, dataset.Cursor{})
	parts := make([][]connectortest.Row, len(splits))
	var g errgroup.Group
	g.SetLimit(1)
	if order == "together" {
		g.SetLimit(8)
	}
	for k := range splits {
		if order == "last first" {
			k = len(splits) - 1 - k
		}
		g.Go(func() (err error) {
			parts[k], err = connectortest.ReadSplit(t.Context(), src, rt, splits[k], 0)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, rows := range parts {
		for _, r := range rows {
			out = append(out, fmt.Sprintf("%d %s", r.Position, r.Values))
		}
	}
	return out
}

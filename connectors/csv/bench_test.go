package csv_test

import (
	"bytes"
	stdcsv "encoding/csv"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/connectors/csv"
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

// events makes n records of eight typed columns, about 145 bytes each.
func events(n int) []byte {
	rng := rand.New(rand.NewPCG(7, 7))
	words := []string{"sluice", "keeps", "the", "gold", "and", "lets", "gravel", "go", "while", "water", "flows"}
	var b bytes.Buffer
	b.WriteString("\"id\",\"key\",\"cat\",\"score\",\"maybe\",\"ts\",\"flag\",\"text\"\n")
	for i := range n {
		maybe := ""
		if rng.IntN(10) > 0 {
			maybe = fmt.Sprint(rng.NormFloat64())
		}
		text := ""
		for range 6 + rng.IntN(6) {
			text += words[rng.IntN(len(words))] + " "
		}
		fmt.Fprintf(&b, "%d,%d,\"category_%03d\",%v,%s,2023-11-14 22:13:20.%06d,%v,\"%s\"\n",
			i, rng.IntN(1_000_000), rng.IntN(200), rng.Float64(), maybe, rng.IntN(1_000_000), rng.IntN(2) == 0, text)
	}
	return b.Bytes()
}

// BenchmarkRead reads a file through the whole source: listing, splits, the scan of quotes, reading, parsing, blocks. With SLUICE_CSV set
// it reads that file.
func BenchmarkRead(b *testing.B) {
	p := os.Getenv("SLUICE_CSV")
	if p == "" {
		p = filepath.Join(b.TempDir(), "in.csv")
		if err := os.WriteFile(p, events(300_000), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	st, err := os.Stat(p)
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		columns []string
		split   int64
		readers int
	}{{"all", nil, 0, 1}, {"two readers", nil, 0, 2}, {"one split", nil, 1 << 40, 1}, {"two columns", []string{"id", "score"}, 0, 1}} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(st.Size())
			b.ReportAllocs()
			start := cpuSeconds(b)
			for b.Loop() {
				// a new source each time: the scan of quotes is part of reading
				s, err := csv.NewSource(file.NewSet(file.Local{}, []dataset.Pattern{{Text: p}}), csv.Options{})
				if err != nil {
					b.Fatal(err)
				}
				var src dataset.Source = s.SplitBytes(c.split)
				if c.columns != nil {
					if src, err = s.Project(c.columns); err != nil {
						b.Fatal(err)
					}
				}
				rt := &connectortest.Runtime{Bytes: 8 << 20, Rows: 1 << 17}
				if rows := readAll(b, src, rt, c.readers); rows < 300_000 || len(rt.Failures()) > 0 {
					b.Fatal(rows, rt.Failures())
				}
			}
			b.ReportMetric(float64(st.Size())*float64(b.N)/1e6/(cpuSeconds(b)-start), "MB/cpu-s")
		})
	}
}

// readAll counts the rows of a source, whose splits so many readers share.
func readAll(b *testing.B, src dataset.Source, rt *connectortest.Runtime, readers int) int {
	var rows atomic.Int64
	var g errgroup.Group
	g.SetLimit(readers)
	for _, split := range connectortest.Splits(b, src, dataset.Cursor{}) {
		g.Go(func() error {
			n, err := connectortest.Count(b.Context(), src, rt, split)
			rows.Add(int64(n))
			return err
		})
	}
	if err := g.Wait(); err != nil {
		b.Fatal(err)
	}
	return int(rows.Load())
}

// cpuSeconds is the processor time of this process: what a core does in a second, however busy the machine is.
func cpuSeconds(tb testing.TB) float64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// BenchmarkStandardLibrary only splits the same text into fields with encoding/csv, to compare within one run.
func BenchmarkStandardLibrary(b *testing.B) {
	data := events(100_000)
	b.SetBytes(int64(len(data)))
	start := cpuSeconds(b)
	for b.Loop() {
		r := stdcsv.NewReader(bytes.NewReader(data))
		r.ReuseRecord = true
		for {
			if _, err := r.Read(); err == io.EOF {
				break
			} else if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(len(data))*float64(b.N)/1e6/(cpuSeconds(b)-start), "MB/cpu-s")
}

package cli

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluice-data/sluice/dataset"
)

func TestSummary(t *testing.T) {
	var examples []dataset.FailureExample
	for i := range 10 {
		examples = append(examples, dataset.FailureExample{Where: fmt.Sprintf("p/%d.jpg", i), Cause: "unexpected end\nof file"})
	}
	tests := []struct {
		name    string
		report  dataset.Report
		printed bool
		want    string
	}{
		{"plain", dataset.Report{RowsRead: 1, RowsWritten: 1, Wall: time.Second}, false, "read 1 row, wrote 1 row in 1.0 s\n"},
		{"full", dataset.Report{
			RowsRead: 1234, BytesRead: 5_000_000, RowsWritten: 1219, BytesWritten: 64_000, RowsFailed: 15, Wall: 90 * time.Second,
			PeakBytes: 80 << 20, BudgetBytes: 1 << 30, SpilledBytes: 7000, Notes: []string{"an unfinished run was discarded"},
			Targets:  []dataset.TargetReport{{Locator: "out/", Rows: 1219, Bytes: 64_000, Files: []string{"a", "b"}, Parts: 3}},
			Failures: []dataset.Failure{{Op: "decode", Class: "truncated", Count: 15, Examples: examples}},
			Warnings: []dataset.Warning{{Class: "unseen keys", Count: 2, Examples: []string{"key x in a.jsonl"}}, {Class: "NaN as null", Count: 1}},
		}, false, `note: an unfinished run was discarded
read 1,234 rows (5.0 MB), wrote 1,219 rows (64 kB) in 1m30s; memory peak 80 MiB of 1.0 GiB; spilled 7.0 kB
  out/: 1,219 rows, 64 kB in 3 files
15 rows failed and were left out:
  decode: truncated: 15 rows
    p/0.jpg: unexpected end
    p/1.jpg: unexpected end
    p/2.jpg: unexpected end
    p/3.jpg: unexpected end
    p/4.jpg: unexpected end
    p/5.jpg: unexpected end
    p/6.jpg: unexpected end
    p/7.jpg: unexpected end
    p/8.jpg: unexpected end
    p/9.jpg: unexpected end
    … and 5 more
warning: unseen keys (2 times)
    key x in a.jsonl
    … and 1 more
warning: NaN as null
`},
		{"complete", dataset.Report{Complete: true, Targets: []dataset.TargetReport{{Locator: "out.parquet"}}}, false,
			"out.parquet is already complete: nothing to do\n"},
		{"one file", dataset.Report{Targets: []dataset.TargetReport{{Locator: "x/out.parquet", Rows: 1, Bytes: 5, Files: []string{"out.parquet"}, Parts: 1}}},
			false, "read 0 rows, wrote 0 rows in 0 ms\n  x/out.parquet: 1 row, 5 B\n"},
		{"table", dataset.Report{RowsRead: 3, RowsWritten: 2}, true, "read 3 rows, showed 2 rows in 0 ms\n"},
		{"one failure", dataset.Report{RowsFailed: 1, Failures: []dataset.Failure{{Op: "where", Class: "overflow", Count: 1}}}, false,
			"read 0 rows, wrote 0 rows in 0 ms\n1 row failed and was left out:\n  where: overflow: 1 row\n"},
	}
	for _, tt := range tests {
		if got := summaryText(&tt.report, tt.printed); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

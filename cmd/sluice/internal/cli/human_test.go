package cli

import (
	"testing"
	"time"
)

func TestNumbersForPeople(t *testing.T) {
	tests := []struct{ got, want string }{
		{count(0), "0"}, {count(999), "999"}, {count(1000), "1,000"}, {count(-1234567), "-1,234,567"},
		{rows(1), "1 row"}, {rows(0), "0 rows"}, {rows(2000), "2,000 rows"},
		{size(0), "0 B"}, {size(999), "999 B"}, {size(1000), "1.0 kB"}, {size(12345), "12 kB"}, {size(9_949_999), "9.9 MB"}, {size(9_960_000), "10 MB"},
		{size(999_999), "1.0 MB"}, {size(5e18), "5000 PB"},
		{memorySize(1536), "1.5 KiB"}, {memorySize(64 << 20), "64 MiB"}, {memorySize(3 << 30), "3.0 GiB"},
		{elapsed(0), "0 ms"}, {elapsed(340 * time.Millisecond), "340 ms"}, {elapsed(4230 * time.Millisecond), "4.2 s"}, {elapsed(200 * time.Second), "3m20s"},
		{aligned([][]string{{"a", "b"}, {"long", "x"}, {"ü", ""}}, "  "), "  a     b\n  long  x\n  ü\n"},
		{wrap("aa bb cc\n\n  kept as it is\nwordlongerthanthat x", 5), "aa bb\ncc\n\n  kept as it is\nwordlongerthanthat\nx"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

package csv

import (
	"os"
	"path/filepath"
	"testing"
)

func TestDecide(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.csv")
	const text = "id,price,code,when,mixed,empty,flag\n1,2,007,2024-01-01,1,,true\n2,3.5,12,2024-01-01T10:00:00Z,x,,false\n3,4,13,2024-01-02,2.5,,true\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Decide(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []struct {
		column, typ string
		line        int64
		text        string
	}{
		{"id", "int64", 2, "1"}, {"price", "float64", 3, "3.5"}, {"code", "utf8", 2, "007"}, {"when", "timestamp[us, tz=UTC]", 3, "2024-01-01T10:00:00Z"},
		{"mixed", "utf8", 3, "x"}, {"empty", "utf8", 0, ""}, {"flag", "bool", 2, "true"},
	}
	if len(got) != len(want) {
		t.Fatalf("%d columns: %v", len(got), got)
	}
	for i, w := range want {
		if d := got[i]; d.Column != w.column || d.Type.String() != w.typ || d.Line != w.line || d.Text != w.text {
			t.Errorf("%s: %s by line %d: %q, want %s by line %d: %q", d.Column, d.Type, d.Line, d.Text, w.typ, w.line, w.text)
		}
	}
}

package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestFoldersAreColumns: what by= wrote is read back with its columns, typed, and files that cannot match are not opened.
func TestFoldersAreColumns(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "in.jsonl"), `{"id":1,"year":2025,"lang":"de","day":"2025-01-02"}
{"id":2,"year":2026,"lang":"en","day":"2026-03-04"}
{"id":3,"year":2026,"lang":null,"day":"2026-03-04"}
{"id":4,"year":2026,"lang":"a/b = c%","day":"2026-03-05"}
`)
	for _, format := range []string{"parquet", "jsonl", "csv", "arrow", "avro"} {
		out := "out-" + format
		if _, errs, code := run(t, dir, "", "in.jsonl | "+out+"/ by=year,lang,day", "--to", format); code != 0 {
			t.Fatalf("%s: code %d: %s", format, code, errs)
		}
		if _, err := filepath.Glob(filepath.Join(dir, out, "year=2026", "*")); err != nil {
			t.Fatal(err)
		}
		got, errs, code := run(t, dir, "", out+"/ | sort id | -")
		want := `{"id":1,"year":2025,"lang":"de","day":"2025-01-02"}
{"id":2,"year":2026,"lang":"en","day":"2026-03-04"}
{"id":3,"year":2026,"lang":null,"day":"2026-03-04"}
{"id":4,"year":2026,"lang":"a/b = c%","day":"2026-03-05"}
`
		if code != 0 || got != want {
			t.Errorf("%s: code %d, %s\n%s", format, code, errs, got)
		}
		if types, _, _ := run(t, dir, "", "schema", out+"/"); !strings.Contains(types, "int64") || !strings.Contains(types, "date") {
			t.Errorf("%s: types\n%s", format, types)
		}
		got, errs, code = run(t, dir, "", "--stats", out+`/ | where year == 2026 and lang == "en" | select lang, id | -`)
		if code != 0 || got != `{"lang":"en","id":2}`+"\n" || !strings.Contains(errs, "read 1 row") {
			t.Errorf("%s: a filter on folders: code %d, %q, %s", format, code, got, errs)
		}
		got, _, code = run(t, dir, "", out+`/ | select year | sort year | -`)
		if code != 0 || strings.Count(got, "2026") != 3 || strings.Count(got, "\n") != 4 {
			t.Errorf("%s: only a column of folders: code %d, %q", format, code, got)
		}
		got, _, code = run(t, dir, "", out+`/ hive=off | sort id | limit 1 | -`)
		if code != 0 || got != `{"id":1}`+"\n" {
			t.Errorf("%s: hive=off: code %d, %q", format, code, got)
		}
		got, _, code = run(t, dir, "", out+`/ hive="year string" | sort id | limit 1 | -`)
		if code != 0 || got != `{"id":1,"year":"2025"}`+"\n" {
			t.Errorf("%s: given types: code %d, %q", format, code, got)
		}
		if n, _, code := run(t, dir, "", "count", out+"/"); code != 0 || n != "4\n" {
			t.Errorf("%s: count %q, code %d", format, n, code)
		}
	}
}

// TestFoldersThatDisagree: keys that only some files have are none; values of another type, and columns that the files have too, are errors with
// the remedy.
func TestFoldersThatDisagree(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "some/a=1/x.jsonl"), "{\"id\":1}\n")
	write(t, filepath.Join(dir, "some/y.jsonl"), "{\"id\":2}\n")
	if got, errs, code := run(t, dir, "", "some/ | sort id | -"); code != 0 || got != "{\"id\":1}\n{\"id\":2}\n" {
		t.Errorf("code %d, %q, %s", code, got, errs)
	}
	write(t, filepath.Join(dir, "both/id=1/x.jsonl"), "{\"id\":1}\n")
	if _, errs, code := run(t, dir, "", "both/ | -"); code != 2 || !strings.Contains(errs, `column "id" is in the files and in the names of their folders; pass hive=off`) {
		t.Errorf("code %d, %s", code, errs)
	}
	write(t, filepath.Join(dir, "typed/n=7/x.jsonl"), "{\"id\":1}\n")
	write(t, filepath.Join(dir, "typed/n=old/x.jsonl"), "{\"id\":2}\n")
	if got, errs, code := run(t, dir, "", "typed/ | sort id | -"); code != 0 || got != "{\"id\":1,\"n\":\"7\"}\n{\"id\":2,\"n\":\"old\"}\n" {
		t.Errorf("code %d, %q, %s", code, got, errs)
	}
	if _, errs, code := run(t, dir, "", `typed/ hive="n int64" | o.parquet`); code != 1 || !strings.Contains(errs, "typed/n=old/x.jsonl: folder n=old is no int64") {
		t.Errorf("code %d, %s", code, errs)
	}
	if _, errs, code := run(t, dir, "", `typed/ hive="m int64" | o.parquet`); code != 1 || !strings.Contains(errs, "lies in no folder m=") {
		t.Errorf("code %d, %s", code, errs)
	}
	if _, errs, code := run(t, dir, "", `typed/ hive="n list<int64>" | o.parquet`); code != 2 || !strings.Contains(errs, "folder names give string, int64, float64, bool and date") {
		t.Errorf("code %d, %s", code, errs)
	}
}

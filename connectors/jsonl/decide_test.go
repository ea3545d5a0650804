package jsonl

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDecide(t *testing.T) {
	text := `{"id":1,"n":null,"score":1,"who":{"name":"a","age":3}}
{"id":2,"score":2.5,"tags":["x"],"big":18446744073709551615,"deep":[{"x":1}]}
broken
{"id":"three","score":3.5,"who":null,"big":1}
`
	path := filepath.Join(t.TempDir(), "a [b].jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	all, lines, broken, err := Decide(t.Context(), path, Options{})
	if err != nil || lines != 3 || broken != 1 {
		t.Fatalf("%d lines, %d broken, %v", lines, broken, err)
	}
	var got []string
	for _, d := range all {
		s := fmt.Sprintf("%s %v line %d", d.Column, d.Type, d.Line)
		if d.Err != nil {
			s = fmt.Sprintf("%s conflict line %d", d.Column, d.Line)
			if !strings.Contains(d.Err.Error(), "line 1") || !strings.Contains(d.Err.Error(), "line 4") {
				t.Errorf("the conflict reads %v", d.Err)
			}
		}
		got = append(got, s)
	}
	want := []string{"id conflict line 4", "n utf8 line 0", "score float64 line 2",
		"who struct<name: utf8 nullable, age: int64 nullable> line 1", "who.name utf8 line 1", "who.age int64 line 1",
		"tags list<item: utf8, nullable> line 2", "big uint64 line 2", "deep list<item: struct<x: int64 nullable>, nullable> line 2", "deep[] struct<x: int64 nullable> line 2", "deep[].x int64 line 2"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if err := os.WriteFile(path, []byte("no\nobject\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := Decide(t.Context(), path, Options{}); err == nil || !strings.Contains(err.Error(), "no line of the sample is a JSON object") {
		t.Errorf("without objects: %v", err)
	}
	if _, _, _, err := Decide(t.Context(), path+"x", Options{}); err == nil {
		t.Error("a file that is not there has types")
	}
}

func TestValueText(t *testing.T) {
	for in, want := range map[string]string{`1, "a"`: "1", `true}`: "true", `"a\"b, c", "d"`: `"a\"b, c"`, `"cut…`: `"cut…`, `{"a":1}, 2`: `{"a":1}, 2`, "": ""} {
		if got := valueText(in); got != want {
			t.Errorf("%s is %s, want %s", in, got, want)
		}
	}
}

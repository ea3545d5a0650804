package coltype

import (
	"fmt"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	got, err := Parse(`id:int64, user.name : string,tags[]:string "odd, name":list<float32>, t:timestamp[ms], d:decimal(10, 2), s:struct<a: int8, b: list<bool>>, v list<float32, 4>, p image`)
	if err != nil {
		t.Fatal(err)
	}
	var s []string
	for _, c := range got {
		s = append(s, fmt.Sprintf("%s=%s", strings.Join(c.Path, "/"), c.Type))
	}
	want := []string{"id=int64", "user/name=utf8", "tags/[]=utf8", "odd, name=list<item: float32, nullable>", "t=timestamp[ms, tz=UTC]",
		"d=decimal(10, 2)", "s=struct<a: int8 nullable, b: list<item: bool, nullable> nullable>", "v=fixed_size_list<item: float32, nullable>[4]", "p=image"}
	if strings.Join(s, "\n") != strings.Join(want, "\n") {
		t.Fatalf("got %q", s)
	}
}

func TestParseSchemaErrors(t *testing.T) {
	for text, want := range map[string]string{
		"id": `want a colon and a type after "id"`, "id:": "want a type", "id:integer": "unknown type", "id:strng": `did you mean "string"?`,
		"d:decimal(40,2)": "precision is 1 to 38", "t:timestamp[h]": "want s, ms, us or ns", "l:list<int8": "want >", "l:list<int8, 0>": "want the size", "l:list<int8,x>": "want the size", "l:list<int8, 3": "want >", ":int8": "want a column name",
		`"a:int8`: "does not close", "x:" + strings.Repeat("list<", 100): "nest deeper than 32",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestParseType(t *testing.T) {
	if got, err := ParseType(" list<struct<a: int8>> "); err != nil || got.String() != "list<item: struct<a: int8 nullable>, nullable>" {
		t.Errorf("got %v, %v", got, err)
	}
	for text, want := range map[string]string{"": "want a type", "int8 int8": "more text", "list<": "want a type", "flot32": `did you mean "float32"?`} {
		if _, err := ParseType(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`a:int8, "b c".d[]:struct<x:list<string>,y:decimal(3,1)>`)
	f.Add(`t:timestamp[us`)
	f.Fuzz(func(t *testing.T, text string) {
		cols, err := Parse(text)
		if err == nil {
			for _, c := range cols {
				if len(c.Path) == 0 || c.Type == nil {
					t.Fatalf("%q: an item without path or type", text)
				}
			}
		}
	})
}

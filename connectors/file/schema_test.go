package file

import (
	"fmt"
	"strings"
	"testing"
)

func TestParseSchema(t *testing.T) {
	got, err := ParseSchema(`id:int64, user.name : string,tags[]:string "odd, name":list<float32>, t:timestamp[ms], d:decimal(10, 2), s:struct<a: int8, b: list<bool>>`)
	if err != nil {
		t.Fatal(err)
	}
	var s []string
	for _, c := range got {
		s = append(s, fmt.Sprintf("%s=%s", strings.Join(c.Path, "/"), c.Type))
	}
	want := []string{"id=int64", "user/name=utf8", "tags/[]=utf8", "odd, name=list<item: float32, nullable>", "t=timestamp[ms, tz=UTC]",
		"d=decimal(10, 2)", "s=struct<a: int8 nullable, b: list<item: bool, nullable> nullable>"}
	if strings.Join(s, "\n") != strings.Join(want, "\n") {
		t.Fatalf("got %q", s)
	}
}

func TestParseSchemaErrors(t *testing.T) {
	for text, want := range map[string]string{
		"id": `want a colon and a type after "id"`, "id:": "want a type", "id:integer": "unknown type", "id:strng": `did you mean "string"?`,
		"d:decimal(40,2)": "precision is 1 to 38", "t:timestamp[h]": "want s, ms, us or ns", "l:list<int8": "want >", ":int8": "want a column name",
		`"a:int8`: "does not close", "x:" + strings.Repeat("list<", 100): "nest deeper than 32",
	} {
		if _, err := ParseSchema(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func FuzzParseSchema(f *testing.F) {
	f.Add(`a:int8, "b c".d[]:struct<x:list<string>,y:decimal(3,1)>`)
	f.Add(`t:timestamp[us`)
	f.Fuzz(func(t *testing.T, text string) {
		cols, err := ParseSchema(text)
		if err == nil {
			for _, c := range cols {
				if len(c.Path) == 0 || c.Type == nil {
					t.Fatalf("%q: an item without path or type", text)
				}
			}
		}
	})
}

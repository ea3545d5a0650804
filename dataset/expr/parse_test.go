package expr

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestHints: forms of SQL and Python are refused with the form to use.
func TestHints(t *testing.T) {
	for _, c := range []struct {
		src, want string
		offset    int
	}{
		{`x is null`, "x == nil", 2},
		{`x IS NOT NULL`, "x != nil", 2},
		{`x between 1 and 2`, "low <= x <= high", 2},
		{`x = 1`, "write ==", 2},
		{`x <> 1`, "write !=", 2},
		{`name like "a%"`, "starts_with", 5},
		{`case when x > 1 then 2 end`, "condition ? a : b", 0},
		{`x > 1 & y > 2`, "write and", 6},
		{`x > 1 AND y > 2`, "lower case", 6},
		{`x > 1 OR y > 2`, "lower case", 6},
		{`NOT x`, "lower case", 0},
		{`NOT (x)`, "lower case", 0},
		{`x in (1, 2)`, "square brackets", 2},
		{`x IN (1, 2)`, "lower case", 2},
		{`name | lower`, "call a function", 5},
		{`name | lower()`, "call a function", 5},
		{`a // 2 > 3`, "floor(a / b)", 2},
		{`a /* c */ + 1`, "comments", 2},
		{`a + 1 // c`, "comments", 6},
		{`cast(x as int)`, "cast(x, \"type\")", 7},
		{`x::int`, "cast(x, \"type\")", 1},
		{`a ?: b`, "a ?? b", 2},
		{`a ?? b == c`, "parentheses", 7},
		{`a === b`, "not an operator", 2},
		{`now() > x`, "not deterministic", 0},
		{`coalesce(a, b)`, "a ?? b", 0},
		{`lenght(a)`, "did you mean length(x)", 0},
		{`lower(a, b)`, "takes 1 argument, not 2", 0},
		{`a.lower()`, "name(x)", 2},
		{`x[1:2]`, "substr", 1},
		{`{a: 1}`, "maps", 0},
		{`let y = 1; y`, "with name", 0},
		{`a; b`, "only one expression", 1},
		{`1..3`, "ranges", 1},
		{`filter(xs, # > 1)`, "not supported", 11},
		{`col(a)`, "takes one string", 0},
		{`18446744073709551616`, "does not fit in 64 bits", 0},
		{`-18446744073709551615`, "does not fit in 64 bits", 0},
		{`(a`, "unexpected end", 1},
		{`a +`, "unexpected end", 2},
		{``, "empty", 0},
		{`  `, "empty", 0},
		{"a\xff", "UTF-8", 1},
		{`"ä" + )`, `unexpected ")"`, 7},
		{`interval 5`, "duration", 0},
		{`"abc`, "not terminated", 4},
	} {
		_, err := Parse(c.src)
		se, ok := errors.AsType[*SyntaxError](err)
		if !ok || !strings.Contains(se.Msg, c.want) {
			t.Errorf("%s: got %v, want a SyntaxError with %q", c.src, err, c.want)
			continue
		}
		if se.Offset != c.offset {
			t.Errorf("%s: offset %d, want %d (%s)", c.src, se.Offset, c.offset, se.Msg)
		}
	}
}

// TestTypeErrors: each names what is wrong, where, and what to write.
func TestTypeErrors(t *testing.T) {
	for _, c := range []struct{ src, want, column string }{
		{`scroe > 1`, `did you mean "score"?`, "scroe"},
		{`Score > 1`, `did you mean "score"?`, "Score"},
		{`zzzzzz > 1`, "the columns are id, small", "zzzzzz"},
		{`score == null`, "written nil", "null"},
		{`score == NaN`, `float("NaN")`, "NaN"},
		{`score > "a"`, "convert one side", ""},
		{`at > "2024-01-01"`, "timestamp(", ""},
		{`lang and ok`, "wants true or false", "lang"},
		{`lang || lang`, "joined with +", "lang"},
		{`not id == 1`, "not (a == b)", ""},
		{`id > nil`, "x == nil", ""},
		{`lang + 1`, "string(", "lang"},
		{`ok + 1`, "int(", "ok"},
		{`meta.z`, "the fields are w, odd name", ""},
		{`meta.W`, `did you mean "w"?`, ""},
		{`lang.x`, `col("lang.x")`, ""},
		{`lang[0]`, "substr", ""},
		{`tags["x"]`, "not a struct", ""},
		{`id in lang`, "not a list", ""},
		{`id in []`, "empty", ""},
		{`[1, 2]`, "after `in`", ""},
		{`lang in [1]`, "cannot compare", ""},
		{`lang matches lang`, "string literal", "lang"},
		{`lang matches "("`, "RE2", ""},
		{`int("x")`, "always fails", ""},
		{`int(at)`, "epoch_ms", ""},
		{`cast(id, "in64")`, `did you mean "int64"`, ""},
		{`timestamp("yesterday")`, "2024-01-31T12:00:00Z", ""},
		{`timestamp(id)`, `cast(x, "timestamp[s]")`, "id"},
		{`duration("x")`, "1h30m", ""},
		{`date_trunc("fortnight", at)`, "week", ""},
		{`ok ? id : lang`, "cannot choose", ""},
		{`at + at`, "duration", ""},
		{`hash(tags)`, "hash wants", "tags"},
		{`ok < ok`, "no order", ""},
		{`tags == tags`, "cannot compare", ""},
	} {
		e, err := Parse(c.src)
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		_, err = Compile(e, sampleSchema)
		te, ok := errors.AsType[*TypeError](err)
		if !ok || !strings.Contains(te.Msg, c.want) {
			t.Errorf("%s: got %v, want a TypeError with %q", c.src, err, c.want)
			continue
		}
		if te.Column != c.column {
			t.Errorf("%s: column %q, want %q", c.src, te.Column, c.column)
		}
	}
}

func TestCanonical(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{` score>0.9&&lang=='de' `, `score > 0.9 and lang == "de"`},
		{`a and (b and c)`, `a and b and c`},
		{`a and (b or c)`, `a and (b or c)`},
		{`!(a || b)`, `not (a or b)`},
		{`a not in [1, 2]`, `not (a in [1, 2])`},
		{`s contains "x"`, `contains(s, "x")`},
		{`contains(s, "x")`, `contains(s, "x")`},
		{`s matches "x"`, `matches(s, "x")`},
		{`len(s) startsWith "x"`, `starts_with(length(s), "x")`},
		{`1 - (2 - 3) - 4`, `1 - (2 - 3) - 4`},
		{`2 ** 3 ** 2`, `2 ** (3 ** 2)`},
		{`(a ?? 1) + 2`, `(a ?? 1) + 2`},
		{`c ? a : d ? e : f`, `c ? a : d ? e : f`},
		{`a?.b.c["x y"]`, `a.b.c["x y"]`},
		{`col("a b") + col("and") + col("ok")`, `col("a b") + col("and") + ok`},
		{`-5 + -x`, `-5 + -x`},
		{`- -9223372036854775808`, `-(-9223372036854775808)`},
		{`0xff + 1_000`, `255 + 1000`},
		{`1.0`, `1.0`},
		{`1e30`, `1e+30`},
		{`b"\x00a"`, `b"\x00a"`},
		{`'it''s'`, ``},
		{`a < b < c`, `a < b and b < c`},
		{`not a and b`, `not a and b`},
		{`a[i + 1][-1]`, `a[i + 1][-1]`},
	} {
		e, err := Parse(c.src)
		if c.want == "" {
			if err == nil {
				t.Errorf("%s: parses as %s", c.src, e)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		if got := e.String(); got != c.want {
			t.Errorf("%s: got %s, want %s", c.src, got, c.want)
		}
		if again, err := Parse(c.want); err != nil || again.String() != c.want {
			t.Errorf("%s does not parse to itself: %v, %v", c.want, again, err)
		}
	}
}

func TestColumnsConjunctsRename(t *testing.T) {
	e := mustParse(t, `b.x > a and (c or a == nil) and col("d e") in [1]`)
	if got := fmt.Sprint(e.Columns()); got != "[a b c d e]" {
		t.Errorf("columns %s", got)
	}
	parts := e.Conjuncts()
	if len(parts) != 3 || parts[1].String() != "c or a == nil" {
		t.Errorf("conjuncts %v", parts)
	}
	if And(parts...).String() != e.String() || And().String() != "true" || And(e) != e {
		t.Error("And does not restore the conjuncts")
	}
	r := e.Rename(map[string]string{"a": "c", "c": "a", "d e": "f"})
	if got := r.String(); got != `b.x > c and (a or c == nil) and f in [1]` {
		t.Errorf("renamed to %s", got)
	}
	if name, ok := mustParse(t, "a").Column(); !ok || name != "a" {
		t.Error("a is a bare column")
	}
	if _, ok := e.Column(); ok {
		t.Error("e is not a bare column")
	}
}

func mustParse(t testing.TB, src string) *Expr {
	t.Helper()
	e, err := Parse(src)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestFallible(t *testing.T) {
	for src, want := range map[string]bool{
		`score > 0.9 and lang == "de"`: false,
		`int(x) > 1`:                   true,
		`try_cast(x, "int") > 1`:       false,
		`a + b > 1`:                    true,
		`a + 0.5 > b`:                  false,
		`a + "x" == b`:                 false,
		`a / b > 1`:                    false,
		`(a ?? 0) > 1`:                 false,
		`(a ?? b) > 1`:                 true,
		`length(a) > 200`:              false,
		`t > timestamp("2024-01-01")`:  false,
		`abs(x) < 1`:                   true,
	} {
		if got := mustParse(t, src).Fallible(); got != want {
			t.Errorf("%s: fallible %v, want %v", src, got, want)
		}
	}
}

// TestLimits: hostile sources are refused before they cost anything.
func TestLimits(t *testing.T) {
	deep := func(open, close string, n int) string {
		return strings.Repeat(open, n) + "x" + strings.Repeat(close, n)
	}
	chain := "x"
	for range 40 { // every level doubles the operand of a chained comparison
		chain = "0 < (" + chain + ") < 9"
	}
	for name, src := range map[string]string{
		"size":       strings.Repeat("a", 64<<10+1),
		"brackets":   deep("(", ")", 30000),
		"lists":      deep("[", "]", 30000),
		"signs":      strings.Repeat("-", 60000) + "x",
		"nots":       strings.Repeat("!", 60000) + "x",
		"ternaries":  strings.Repeat("a?b:", 15000) + "x",
		"powers":     strings.Repeat("x**", 20000) + "x",
		"sums":       strings.Repeat("x+", 30000) + "x",
		"members":    "x" + strings.Repeat(".x", 30000),
		"calls":      deep("abs(", ")", 12000),
		"chains":     chain,
		"comparison": strings.Repeat("x<", 30000) + "x",
	} {
		e, err := Parse(src)
		if name == "comparison" {
			continue // a long chain is a long `and`, which is allowed
		}
		if _, ok := errors.AsType[*SyntaxError](err); !ok {
			t.Errorf("%s: got %v, %v", name, e != nil, err)
		}
	}
	many := strings.Repeat("x == 1 or ", 5000) + "x == 2"
	if e := mustParse(t, many); len(e.root.args) != 5001 {
		t.Errorf("a long or has %d parts", len(e.root.args))
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`score > 0.9 and lang == "de"`, `a ? b : c ?? d`, `not (x in [1, 2.5, nil, "a"])`, `contains(s, b"\xff")`, `col("a b").c["d"][0]`,
		`- -9223372036854775808 ** 18446744073709551615`, `timestamp("2024-01-01") - duration("1h")`, `x <> 1`, "a//b", `"\u{1F600}\ud800"`, "`raw`", `0 < x <= 9`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		e, err := Parse(src)
		if err != nil {
			se, ok := errors.AsType[*SyntaxError](err)
			if !ok || se.Offset < 0 || se.Offset > len(src) || se.Msg == "" {
				t.Fatalf("%q: %#v is not a proper SyntaxError", src, err)
			}
			return
		}
		text := e.String()
		again, err := Parse(text)
		if err != nil {
			if se, ok := errors.AsType[*SyntaxError](err); ok && (strings.Contains(se.Msg, "bytes, the limit") || strings.Contains(se.Msg, "nests deeper")) {
				return // spelled out, the tree may pass the limits of a source
			}
			t.Fatalf("%q: canonical %q: %v", src, text, err)
		}
		if again.String() != text {
			t.Fatalf("%q: canonical %q parses to %q", src, text, again)
		}
		e.Columns()
		e.Conjuncts()
		e.Fallible()
		e.MayMatch(func(string) (ColumnStats, bool) {
			return ColumnStats{Min: int64(0), Max: 5.5, NullCount: 1, Rows: 2}, true
		})
		if _, err := Compile(e, fuzzSchema); err != nil {
			if _, ok := errors.AsType[*TypeError](err); !ok {
				t.Fatalf("%q: %v is not a TypeError", src, err)
			}
		}
	})
}

// TestFunctionDocs: every function is documented and its example compiles.
func TestFunctionDocs(t *testing.T) {
	docs := Functions()
	if len(docs) < 30 {
		t.Fatalf("%d functions", len(docs))
	}
	for _, d := range docs {
		if d.Doc == "" || !strings.HasPrefix(d.Signature, d.Name+"(") || !strings.Contains(d.Example, d.Name) && d.Name != "matches" {
			t.Errorf("%s: %+v is incomplete", d.Name, d)
		}
		e, err := Parse(d.Example)
		if err != nil {
			t.Errorf("%s: %v", d.Example, err)
			continue
		}
		if _, err := Compile(e, docSchema); err != nil {
			t.Errorf("%s: %v", d.Example, err)
		}
	}
}

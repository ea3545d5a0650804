package file

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/sluice-data/sluice/dataset"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern string
		yes, no []string
		root    string
	}{
		{"*.jpg", []string{"a.jpg", "_dsc1.jpg"}, []string{"a.png", "d/a.jpg", ".a.jpg"}, ""},
		{"photos/**/*.jpg", []string{"photos/a.jpg", "photos/x/y/a.jpg"}, []string{"a.jpg", "photos/.git/a.jpg", "photos/_sluice/a.jpg"}, "photos"},
		{"photos/**.jpg", []string{"photos/a.jpg"}, []string{"photos/x/a.jpg"}, "photos"},
		{"photos/**", []string{"photos/a", "photos/b/c"}, []string{"other/a"}, "photos"},
		{"a/{b,c}/*.{x,y}", []string{"a/b/1.x", "a/c/1.y"}, []string{"a/d/1.x", "a/b/1.z"}, "a"},
		{"{in/deep,out}/*.x", []string{"in/deep/1.x", "out/1.x"}, []string{"in/1.x", "deep/1.x"}, ""},
		{"{a,b/{c,d/e}}/f", []string{"a/f", "b/c/f", "b/d/e/f"}, []string{"b/f", "b/d/f"}, ""},
		{"/abs/*.x", []string{"/abs/1.x"}, []string{"abs/1.x", "/abs/d/1.x"}, "/abs"},
		{"./a/./*.x", []string{"a/1.x"}, nil, "a"},
		{"a[12].x", []string{"a1.x"}, []string{"a3.x", "a[12].x"}, ""},
		{`a\[1\].x`, []string{"a[1].x"}, []string{"a1.x"}, ""},
		{".hid*/*", []string{".hidden/a"}, []string{".hidden/.a"}, ""},
		{"?.x", []string{"ü.x"}, []string{"ab.x"}, ""},
		{"data/", []string{"data/a", "data/b/c"}, []string{"data/_a", "data/.b/c", "data2/a"}, "data"},
		{"year=*/", []string{"year=1/a", "year=2/m/b"}, []string{"year=1/_tmp/a", "x/a"}, ""},
	} {
		m, err := compile(dataset.Pattern{Text: c.pattern}, false)
		if err != nil {
			t.Fatalf("%s: %v", c.pattern, err)
		}
		if m.Root() != c.root {
			t.Errorf("%s: root %q, want %q", c.pattern, m.Root(), c.root)
		}
		for _, p := range c.yes {
			if !m.Match(p) {
				t.Errorf("%s should match %s", c.pattern, p)
			}
		}
		for _, p := range c.no {
			if m.Match(p) {
				t.Errorf("%s should not match %s", c.pattern, p)
			}
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	for pattern, want := range map[string]string{
		"a[": "do not close", "{a,b": "do not close",
		strings.Repeat("{a/b,c/d}", 11): "more than 1024 patterns",
	} {
		if _, err := compile(dataset.Pattern{Text: pattern}, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", pattern, err, want)
		}
	}
}

func TestPatternWarning(t *testing.T) {
	if w := PatternWarning(dataset.Pattern{Text: "p/**.jpg"}); !strings.Contains(w, `"p/**/*.jpg"`) {
		t.Error(w)
	}
	for _, p := range []dataset.Pattern{{Text: "p/**/*.jpg"}, {Text: "p/**"}, {Text: "p/**.jpg", Literal: true}} {
		if w := PatternWarning(p); w != "" {
			t.Errorf("%v: %s", p, w)
		}
	}
}

func TestExtension(t *testing.T) {
	for p, want := range map[string]string{"a/b.JPG": "jpg", "x.jsonl.gz": "jsonl", "x.csv.zst": "csv", "x": "", ".hidden": "", "a.b/c": "", "x.gz": ""} {
		if got := Extension(p); got != want {
			t.Errorf("%s: %q, want %q", p, got, want)
		}
	}
}

// FuzzMatch compares with doublestar. Divergences, all deliberate: names that begin with a dot and the folder _sluice are left out of
// wildcards, a trailing slash means a whole folder, a trailing ** does not mean the folder above it, and blank or dot segments are tidied away. Names that are not UTF-8 are compared byte for byte here, rune for rune there.
func FuzzMatch(f *testing.F) {
	for _, s := range [][2]string{{"a/**/b", "a/b"}, {"**/*.x", "q/w.x"}, {"{a,b/c}/d*", "b/c/de"}, {"a/**", "a"}, {"[a-c]?/*", "bz/1"},
		{`\*`, "*"}, {"{a,{b/c,d}}/e", "b/c/e"}, {"**/a/**/b", "x/a/b"}, {"[!a]/b", "c/b"}, {"a{1..3}", "a2"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, pattern, path string) {
		if len(pattern) > 40 || len(path) > 40 || !utf8.ValidString(pattern) || !utf8.ValidString(path) {
			return
		}
		for name := range strings.SplitSeq(path, "/") {
			if name == "" || name[0] == '.' || name == stateFolder {
				return
			}
		}
		if strings.Contains(pattern, ".") || strings.HasSuffix(pattern, "/") || strings.HasPrefix(pattern, "/") || strings.Contains(pattern, "//") {
			return
		}
		// An escape or a class that spans a slash, and alternatives that are empty or end at a slash, mean nothing sensible in a path.
		if strings.ContainsAny(pattern, `\`) || strings.Contains(pattern, "{/") || strings.Contains(pattern, "/}") || strings.Contains(pattern, ",/") ||
			strings.Contains(pattern, "/,") || strings.Contains(pattern, "{}") || strings.Contains(pattern, ",}") || strings.Contains(pattern, "{,") || strings.Contains(pattern, ",,") || classWithSlash(pattern) {
			return
		}
		m, err := compile(dataset.Pattern{Text: pattern}, false)
		if err != nil {
			return
		}
		if strings.Contains(pattern, "**}") || strings.Contains(pattern, "**,") {
			return
		}
		same := pattern
		if pattern == "**" || strings.HasSuffix(pattern, "/**") {
			same += "/*"
		}
		want, err := doublestar.Match(same, path)
		if err != nil {
			return
		}
		if got := m.Match(path); got != want {
			t.Fatalf("pattern %q, path %q: %v, doublestar says %v", pattern, path, got, want)
		}
	})
}

func classWithSlash(p string) bool {
	open := strings.IndexByte(p, '[')
	return open >= 0 && strings.Contains(p[open:], "/")
}

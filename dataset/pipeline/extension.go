package pipeline

import (
	"path"
	"slices"
	"strings"

	"github.com/sluice-data/sluice/dataset"
)

// compressions are the suffixes that are stripped before the extension is looked at.
var compressions = []string{"gz", "zst", "zstd", "bz2", "xz", "lz4", "sz", "br"}

// extension is the lower-case extension of a path without its compression suffix, or "". The query of a web address is no part of it.
func extension(p string) string {
	if strings.HasPrefix(p, "http://") || strings.HasPrefix(p, "https://") {
		p, _, _ = strings.Cut(p, "?")
	}
	base := path.Base(p)
	if strings.HasSuffix(p, "/") || strings.HasPrefix(base, "..") {
		return ""
	}
	ext := lastExt(base)
	if slices.Contains(compressions, ext) {
		ext = lastExt(base[:len(base)-len(ext)-1])
	}
	return ext
}

// Extension is the lower-case extension of a path by which its reader or writer is chosen: without that of a compression, "" if there is none.
func Extension(path string) string { return extension(path) }

func lastExt(base string) string {
	i := strings.LastIndexByte(base, '.')
	if i < 0 {
		return ""
	}
	return strings.ToLower(base[i+1:])
}

// maxAlternatives bounds the expansion of braces.
const maxAlternatives = 1000

// expandBraces gives the alternatives of a pattern: a.{b,c} gives a.b and a.c. Patterns with more than maxAlternatives, and unbalanced
// ones, stay as they are.
func expandBraces(p string) []string {
	todo, done := []string{p}, []string(nil)
	for len(todo) > 0 {
		s := todo[0]
		todo = todo[1:]
		open, end, commas := braces(s)
		if open < 0 {
			done = append(done, s)
			continue
		}
		from := open + 1
		for _, c := range append(commas, end) {
			todo = append(todo, s[:open]+s[from:c]+s[end+1:])
			from = c + 1
		}
		if len(todo)+len(done) > maxAlternatives {
			return []string{p}
		}
	}
	return done
}

// braces finds the first balanced group of braces and the commas at its level.
func braces(s string) (open, end int, commas []int) {
	open = strings.IndexByte(s, '{')
	if open < 0 {
		return -1, 0, nil
	}
	depth := 0
	for i := open; i < len(s); i++ {
		switch s[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return open, i, commas
			}
		case ',':
			if depth == 1 {
				commas = append(commas, i)
			}
		}
	}
	return -1, 0, nil
}

// hasMeta says whether a piece of a path is a pattern.
func hasMeta(s string) bool { return strings.ContainsAny(s, "*?[{") }

// registryNames answers the questions of the grammar from a registry.
type registryNames struct{ reg *dataset.Registry }

// NamesOf makes Names of a registry.
func NamesOf(reg *dataset.Registry) Names { return registryNames{reg} }

// IsOperator implements Names.
func (n registryNames) IsOperator(name string) bool {
	_, err := n.reg.Operator(name)
	return err == nil
}

// IsExtension implements Names.
func (n registryNames) IsExtension(ext string) bool {
	if ext == "" {
		return false
	}
	for _, d := range n.reg.Sinks() {
		if slices.Contains(d.Extensions, ext) {
			return true
		}
	}
	for _, d := range n.reg.Sources() {
		if slices.Contains(d.Extensions, ext) {
			return true
		}
	}
	return false
}

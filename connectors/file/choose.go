package file

import (
	"context"
	"slices"
	"strings"

	"github.com/sluice-data/sluice/dataset"
)

// chooseFiles is how many files Choose looks at.
const chooseFiles = 256

// Table says which source reads which extension.
type Table map[string]dataset.SourceDef

// NewTable makes the table of the sources of a registry. Of two sources that claim an extension the first by name has it.
func NewTable(reg *dataset.Registry) Table {
	t := Table{}
	for _, d := range reg.Sources() {
		for _, ext := range d.Extensions {
			if _, taken := t[ext]; !taken {
				t[ext] = d
			}
		}
	}
	return t
}

// Lookup finds the source that reads a path, by its extension without a compression suffix.
func (t Table) Lookup(path string) (dataset.SourceDef, bool) {
	d, ok := t[Extension(path)]
	return d, ok
}

// Choose finds the source that reads what the patterns mean: the one named from, else the one that the extensions of the first files
// ask for, else for standard input the one that its first bytes ask for. Files that need different sources are refused.
func Choose(ctx context.Context, reg *dataset.Registry, fs FS, in []dataset.Pattern, from string) (dataset.SourceDef, error) {
	if from != "" {
		return reg.Source(from)
	}
	t := NewTable(reg)
	var found dataset.SourceDef
	var first string
	n := 0
	for f, err := range NewSet(fs, in).Files(ctx, "") {
		if err != nil {
			return found, err
		}
		d, err := t.choose(ctx, f.Path)
		if err != nil {
			return found, err
		}
		if first != "" && d.Name != found.Name {
			return found, dataset.Usagef("%s is read by %s and %s by %s; read them as two sources, or name one reader with --from", first, found.Name, f.Path, d.Name)
		}
		if first == "" {
			found, first = d, f.Path
		}
		if n++; n == chooseFiles {
			break
		}
	}
	return found, nil
}

// choose finds the source for one file.
func (t Table) choose(ctx context.Context, path string) (dataset.SourceDef, error) {
	ext := Extension(path)
	if path == StdinPath {
		head, _, err := sampleStdin(ctx, sniffBytes)
		if err != nil {
			return dataset.SourceDef{}, err
		}
		ext = Sniff(head)
	}
	if d, ok := t[ext]; ok {
		return d, nil
	}
	names := make([]string, 0, len(t))
	for _, d := range t {
		names = append(names, d.Name)
	}
	slices.Sort(names)
	why := "its extension is not known"
	switch {
	case path == StdinPath:
		why = "it looks like " + ext + ", which has no reader"
	case ext == "":
		why = "it has no extension"
	}
	return dataset.SourceDef{}, dataset.Usagef("cannot tell how to read %s: %s; name the reader with --from (%s)", path, why,
		strings.Join(slices.Compact(names), ", "))
}

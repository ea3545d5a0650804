package hf

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

const (
	defaultSplit = "train"
	allSplits    = "all"
	wholeFile    = "x.bin" // a name whose reader reads whole files
	// maxFiles bounds the listing, which is held.
	maxFiles = 1_000_000
)

// splitWords are the words of paths that name a split, the split first.
var splitWords = [][]string{
	{"train", "training"},
	{"validation", "valid", "dev", "val"},
	{"test", "testing", "eval", "evaluation"},
}

// folder is a folder of data files.
type folder struct {
	root    string
	place   *file.Set
	readers file.Table
	configs []config
	files   []string // relative to root, those that a connector reads
}

// chosen is the files of a split.
type chosen struct {
	folder *folder
	paths  []string
	media  bool   // they are tables of metadata beside media
	kind   string // they are media of this kind, without a table
	labels bool   // their folders name classes
}

// isMetadata tells whether a file is a table of metadata beside media.
func isMetadata(p string) bool {
	switch path.Base(p) {
	case "metadata.csv", "metadata.jsonl", "metadata.parquet":
		return true
	}
	return false
}

// look lists the folder and reads its card.
func (f *folder) look(ctx context.Context) (err error) {
	if f.configs, err = readCard(ctx, f.place.FS(), f.root+"/README.md"); err != nil {
		return err
	}
	prefix := f.root + "/"
	for ref, err := range f.place.Files(ctx, "") {
		if err != nil {
			return err
		}
		if rel := strings.TrimPrefix(ref.Path, prefix); f.known(rel) {
			f.files = append(f.files, rel)
		}
		if len(f.files) > maxFiles {
			return dataset.Usagef("read hf:%s: it has more than %d files; name the data files themselves", f.root, maxFiles)
		}
	}
	return nil
}

func (f *folder) known(rel string) bool {
	_, ok := f.readers.Lookup(rel)
	return ok || kindByExtension(rel) != ""
}

// split finds the files of the split that is asked for.
func (f *folder) split(ctx context.Context, opt Options) (*chosen, error) {
	splits, err := f.splits(ctx, opt.Config)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(splits))
	for i, s := range splits {
		names[i] = s.name
	}
	want := opt.Split
	switch {
	case len(splits) == 0:
		return nil, dataset.Usagef("read hf:%s: it has no data files that a reader is known for", f.root)
	case want == "" && slices.Contains(names, defaultSplit):
		want = defaultSplit
	case want == "" && len(splits) == 1:
		want = names[0]
	case want == "":
		return nil, dataset.Usagef("read hf:%s: pass split=, one of %s, or split=all", f.root, strings.Join(names, ", "))
	}
	out := &chosen{folder: f}
	for _, s := range splits {
		if want == allSplits || s.name == want {
			out.paths = append(out.paths, s.paths...)
		}
	}
	if len(out.paths) == 0 {
		return nil, dataset.Usagef("split=%s: hf:%s has the splits %s", want, f.root, strings.Join(names, ", "))
	}
	if tables := slices.DeleteFunc(slices.Clone(out.paths), func(p string) bool { return !isMetadata(p) }); len(tables) > 0 {
		out.paths, out.media = tables, true
		return out, nil
	}
	if out.kind = kindByExtension(out.paths[0]); out.kind != "" {
		out.labels = labelled(splits)
	}
	return out, nil
}

// fileSplit is the files of one split, in order.
type fileSplit struct {
	name  string
	paths []string
}

// splits divides the files, by the card or else by their names.
func (f *folder) splits(ctx context.Context, name string) ([]fileSplit, error) {
	if len(f.configs) == 0 && name != "" {
		return nil, dataset.Usagef("config=%s: hf:%s has no README.md with configs", name, f.root)
	}
	if len(f.configs) > 0 {
		c, err := choose(f.configs, name)
		if err != nil {
			return nil, err
		}
		if len(c.Files) > 0 {
			return f.byPatterns(ctx, c)
		}
		if dir := strings.Trim(path.Clean("/"+c.Dir), "/"); dir != "" {
			f.files = slices.DeleteFunc(f.files, func(p string) bool { return !strings.HasPrefix(p, dir+"/") })
		}
	}
	var out []fileSplit
	for _, p := range f.files {
		out = addTo(out, splitOf(p), p)
	}
	if len(out) > 1 { // files that name no split are no data where others do
		out = slices.DeleteFunc(out, func(s fileSplit) bool { return s.name == "" })
	}
	if len(out) == 1 && out[0].name == "" {
		out[0].name = defaultSplit
	}
	return out, nil
}

func addTo(out []fileSplit, name, p string) []fileSplit {
	i := slices.IndexFunc(out, func(s fileSplit) bool { return s.name == name })
	if i < 0 {
		return append(out, fileSplit{name, []string{p}})
	}
	out[i].paths = append(out[i].paths, p)
	return out
}

// byPatterns lists what the patterns of a config mean.
func (f *folder) byPatterns(ctx context.Context, c *config) (out []fileSplit, err error) {
	base := f.root + "/"
	if dir := strings.Trim(path.Clean("/"+c.Dir), "/"); dir != "" {
		base += dir + "/"
	}
	for _, s := range c.Files {
		for _, pattern := range s.Path {
			if strings.Contains(pattern, "://") || path.IsAbs(pattern) || slices.Contains(strings.Split(pattern, "/"), "..") {
				return nil, dataset.Usagef("read hf:%s: the config %q names %q, which is not below the folder; download it first", f.root, c.Name, pattern)
			}
			n := 0
			set := file.NewSet(f.place.FS(), []dataset.Pattern{{Text: escapeGlob(base) + pattern}})
			for ref, err := range set.Files(ctx, "") {
				if err != nil {
					return nil, fmt.Errorf("data_files of README.md, split %s: %w", s.Split, err)
				}
				if rel := strings.TrimPrefix(ref.Path, f.root+"/"); f.known(rel) {
					out = addTo(out, s.Split, rel)
					n++
				}
			}
			if n == 0 {
				return nil, dataset.Usagef("read hf:%s: data_files of README.md, split %s: no file that %q matches has a reader", f.root, s.Split, pattern)
			}
		}
	}
	return out, nil
}

// escapeGlob makes a path mean itself in a pattern.
func escapeGlob(p string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `{`, `\{`).Replace(p)
}

// splitOf finds the split that a path names: by its last folder or file name that has such a word, standing by itself.
func splitOf(p string) string {
	parts := strings.Split(p, "/")
	for i := len(parts) - 1; i >= 0; i-- {
		words := strings.FieldsFunc(strings.ToLower(parts[i]), func(r rune) bool { return (r < 'a' || r > 'z') && r < 0x80 })
		for _, split := range splitWords {
			if slices.ContainsFunc(split, func(w string) bool { return slices.Contains(words, w) }) {
				return split[0]
			}
		}
	}
	return ""
}

// source opens the files with the one reader that all of them need.
func (c *chosen) source(ctx context.Context, opt Options) (dataset.Source, error) {
	var def dataset.SourceDef
	in := make([]dataset.Pattern, len(c.paths))
	for i, p := range c.paths {
		d, ok := c.folder.readers.Lookup(p)
		if kind := kindByExtension(p); !ok && kind != "" && kind == c.kind {
			d, ok = c.folder.readers.Lookup(wholeFile)
		}
		if !ok {
			return nil, dataset.Usagef("read hf:%s: no reader is known for %s; put metadata.jsonl beside media, with a column file_name", c.folder.root, p)
		}
		if i > 0 && d.Name != def.Name {
			return nil, dataset.Usagef("read hf:%s: %s is read by %s and %s by %s; read them as two sources, or say in README.md which are data_files",
				c.folder.root, c.paths[0], def.Name, p, d.Name)
		}
		def = d
		in[i] = dataset.Pattern{Text: c.folder.root + "/" + p, Literal: true}
	}
	params := def.Zero()
	if c.kind != "" && opt.MaxFile > 0 {
		if err := dataset.ParseArgs("max_file="+opt.MaxFile.String(), params); err != nil {
			return nil, err
		}
	}
	return def.Open(ctx, in, params)
}

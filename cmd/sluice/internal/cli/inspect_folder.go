package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/pipeline"
)

// mostListed is how many files of a folder inspect counts.
const mostListed = 100_000

// kindOfFile is the files of one extension in a folder.
type kindOfFile struct {
	ext     string
	files   int64
	bytes   int64
	largest dataset.FileRef
	reader  string
}

// inspectFolder counts the files of a folder, a pattern or a URL of many by their format, and shows the columns and first rows if one reader
// reads them all.
func (a *app) inspectFolder(ctx context.Context, reg *dataset.Registry, path string) error {
	kinds, more, err := kindsIn(ctx, reg, path)
	if err != nil {
		return fmt.Errorf("inspect %s: %w", path, err)
	}
	var files, bytes int64
	lines := [][]string{{"format", "\tfiles", "\tbytes", "reader", "largest"}}
	readers := map[string]bool{}
	for _, k := range kinds {
		files, bytes = files+k.files, bytes+k.bytes
		reader := k.reader
		if readers[k.reader] = true; reader == "" {
			reader = "none; name one with --from"
		}
		lines = append(lines, []string{"." + printable(k.ext), "\t" + count(k.files), "\t" + size(k.bytes), reader,
			printable(k.largest.Path) + ", " + size(k.largest.Size)})
	}
	if files == 0 {
		return dataset.Usagef("inspect %s: it holds no files whose names do not begin with _ or a dot", path)
	}
	text := fmt.Sprintf("%s: %s, %s\n", printable(path), plural(files, "file"), size(bytes))
	if more {
		text = fmt.Sprintf("%s: more than %s\n", printable(path), plural(files, "file"))
	}
	if _, err := fmt.Fprint(a.Stdout, text+"\n"+strings.Join(grid(lines, 1<<20), "\n")+"\n"); err != nil {
		return err
	}
	if len(readers) != 1 || readers[""] {
		_, err := fmt.Fprintln(a.Stdout, "\nFiles of several formats are read one format at a time: give a pattern, such as '"+printable(strings.TrimRight(path, "/"))+"/**/*"+lines[1][0]+"'")
		return err
	}
	if a.flags.from == "" { // a folder in a store does not tell by itself, and the files were just looked at
		a.flags.from = kinds[0].reader
	}
	return a.folderRows(ctx, path)
}

// kindsIn counts the files below a path by extension, the most frequent first.
func kindsIn(ctx context.Context, reg *dataset.Registry, path string) (kinds []*kindOfFile, more bool, err error) {
	table := file.NewTable(reg)
	by := map[string]*kindOfFile{}
	n := 0
	for f, err := range file.NewSet(file.Local{}, []dataset.Pattern{{Text: path}}).Files(ctx, "") {
		if err != nil {
			return nil, false, err
		}
		if n++; n > mostListed {
			more = true
			break
		}
		ext := file.Extension(f.Path)
		k := by[ext]
		if k == nil {
			k = &kindOfFile{ext: ext}
			if d, ok := table.Lookup(f.Path); ok {
				k.reader = d.Name
			}
			by[ext] = k
			kinds = append(kinds, k)
		}
		k.files++
		k.bytes += f.Size
		if f.Size >= k.largest.Size {
			k.largest = f
		}
	}
	slices.SortFunc(kinds, func(x, y *kindOfFile) int { return cmp.Or(cmp.Compare(y.files, x.files), cmp.Compare(x.ext, y.ext)) })
	return kinds, more, nil
}

// folderRows shows the columns and first rows of a folder that one reader reads.
func (a *app) folderRows(ctx context.Context, path string) error {
	a.headFlags()
	parse := func(pipeline.Names) (*pipeline.Pipeline, error) {
		p := &pipeline.Pipeline{Source: pipeline.Source{Paths: []pipeline.Path{{Text: path}}}}
		limit(p, inspectRows)
		return p, nil
	}
	a.text = path
	return a.lookAt(ctx, "inspect "+path, parse, func(j *job, ctx context.Context) error {
		s, err := j.built.Dataset.Schema(ctx)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(a.Stdout, "\nColumns\n%s\nFirst rows\n", schemaText(s, "  ")); err != nil {
			return err
		}
		return j.run(ctx)
	})
}

// withRegistry opens a session, which makes URLs readable, for its names.
func (a *app) withRegistry(ctx context.Context, do func(*dataset.Registry) error) (err error) {
	s, err := a.Open(ctx, Settings{MemoryBytes: a.DefaultMemory()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return do(s.Registry())
}

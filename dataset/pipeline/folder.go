package pipeline

import (
	"context"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/sluice-data/sluice/dataset"
)

// maxNames bounds how many names are looked at to find the reader of a folder. Files beyond it meet the reader that was chosen.
const maxNames = 10_000

// isFolder says whether a path without pattern is a local folder.
func (e Env) isFolder(p Path) bool {
	if e.Names != nil {
		return strings.HasSuffix(p.Text, "/")
	}
	st, err := os.Stat(p.Text)
	return err == nil && st.IsDir()
}

// readersInside finds the readers of the files of a folder, or of those that a pattern without a plain extension matches.
func (e Env) readersInside(ctx context.Context, p Path) ([]choice, error) {
	if strings.Contains(p.Text, "://") && e.Names == nil {
		return nil, usage(p.Pos, "the path %s does not tell the format of its files; name the reader with --from (%s)", p.Text, e.readerNames())
	}
	if (p.Literal || !hasMeta(p.Text)) && e.Names == nil {
		st, err := os.Stat(p.Text)
		if err != nil {
			return nil, &Error{p.Pos, fmt.Errorf("open source %s: %w", p.Text, cause(err))}
		}
		if !st.IsDir() {
			return nil, e.unknown(p.Text, extension(p.Text), p)
		}
	}
	list := e.Names
	if list == nil {
		list = localNames
	}
	byName, seen := map[string]choice{}, 0
	var out []choice
	for name, err := range list(ctx, p.pattern()) {
		if err != nil {
			return nil, &Error{p.Pos, fmt.Errorf("open source %s: %w", p.Text, err)}
		}
		if seen++; seen > maxNames {
			break
		}
		c, err := e.readerOf(name, extension(name), p)
		if err != nil {
			return nil, err
		}
		if _, ok := byName[c.def.Name]; !ok {
			byName[c.def.Name] = c
			out = append(out, c)
		}
	}
	if seen == 0 {
		return nil, usage(p.Pos, "%s has no files, so nothing tells their format; name the reader with --from (%s)", p.Text, e.readerNames())
	}
	return out, nil
}

// cause strips the path from an error of os, which the message has already.
func cause(err error) error {
	if pe, ok := err.(*fs.PathError); ok { //nolint // os returns it bare
		return pe.Err
	}
	return err
}

// localNames lists the files below a folder, or those that match a pattern, without names that start with _ or a dot.
func localNames(ctx context.Context, p dataset.Pattern) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		root, pattern := p.Text, ""
		if !p.Literal && hasMeta(p.Text) {
			root, _ = doublestar.SplitPattern(p.Text)
			pattern = path.Clean(p.Text)
		}
		walk(ctx, path.Clean(root), pattern, yield)
	}
}

// walk visits folders depth first; folders that cannot be read are left to the reader, which reports them.
func walk(ctx context.Context, dir, pattern string, yield func(string, error) bool) bool {
	if err := ctx.Err(); err != nil {
		return yield("", context.Cause(ctx)) && false
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return true
	}
	for _, d := range entries {
		name := path.Join(dir, d.Name())
		hidden := strings.HasPrefix(d.Name(), "_") || strings.HasPrefix(d.Name(), ".")
		switch {
		case hidden:
		case d.IsDir():
			if !walk(ctx, name, pattern, yield) {
				return false
			}
		case d.Type()&(fs.ModeNamedPipe|fs.ModeSocket|fs.ModeDevice) != 0:
		case pattern != "" && !doublestar.MatchUnvalidated(pattern, name):
		case !yield(name, nil):
			return false
		}
	}
	return true
}

package jsonl

import (
	"context"
	"strings"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

// form is how the values of a file follow each other.
type form uint8

const (
	formLines  form = iota // one a line
	formValues             // anyhow, with blanks between them: an object over several lines
	formArray              // as the elements of one array
)

// unit is what messages count in a file of the form.
func (f form) unit() string {
	if f == formLines {
		return "line"
	}
	return "element"
}

// formBytes is how much of a file tells its form: where the first line goes on behind that, it is one a line.
const formBytes = 64 << 10

// named reports whether the name of a file says that it has one value a line, so that nobody needs to look.
func named(p string) bool {
	ext := file.Extension(p)
	return ext == "jsonl" || ext == "ndjson" || ext == "jsonlines"
}

// formOf looks at the start of a file that is not named for lines.
func formOf(ctx context.Context, set *file.Set, ref dataset.FileRef) (form, error) {
	if named(ref.Path) {
		return formLines, nil
	}
	head, whole, err := set.Sample(ctx, ref, formBytes)
	if err != nil {
		return 0, err
	}
	return formShown(head, whole), nil
}

// formShown is the form that the start of a file shows.
func formShown(head []byte, whole bool) form {
	text := strings.TrimLeft(strings.TrimPrefix(string(head), mark), " \t\r\n")
	switch {
	case strings.HasPrefix(text, "["):
		return formArray
	case !strings.HasPrefix(text, "{"):
		return formLines
	}
	line, rest, _ := strings.Cut(text, "\n")
	line = strings.TrimRight(line, " \t\r")
	if whole && strings.TrimSpace(rest) == "" || !strings.ContainsAny(line[len(line)-1:], "{[,:") {
		return formLines
	}
	return formValues // the first line ends between two parts of the object; one of a broken file of lines ends elsewhere, mostly
}

// mark is the byte order mark of UTF-8.
const mark = "\xef\xbb\xbf"

// ranges is the Range of a file.Planner: files of one value a line are cut anywhere, others are read in order.
func (s *Source) ranges(ctx context.Context, target int64) func(f dataset.FileRef) (start, end uint64, cut bool) {
	return func(f dataset.FileRef) (start, end uint64, cut bool) {
		start, end, cut = file.ByteRange(f)
		if !cut || named(f.Path) {
			return start, end, cut
		}
		if f.Size > target {
			if x, err := formOf(ctx, s.set, f); err != nil || x == formLines { // a file that cannot be looked at: its reader says why
				return start, end, cut
			}
		}
		return 0, file.Unbounded, false
	}
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

// subject is the file that inspect looks at, on this machine or at a URL.
type subject struct {
	file.Handle
	ref dataset.FileRef
}

// openSubject opens a file by its path or URL.
func openSubject(ctx context.Context, name string) (*subject, error) {
	set := file.NewSet(file.Local{}, []dataset.Pattern{{Text: name, Literal: true}})
	for ref, err := range set.Files(ctx, "") {
		if err != nil {
			return nil, err
		}
		h, err := set.FS().Open(ctx, ref)
		if err != nil {
			return nil, err
		}
		return &subject{h, ref}, nil
	}
	return nil, dataset.Usagef("inspect %s: there is no such file", name)
}

// reader reads the file from its start.
func (s *subject) reader() *io.SectionReader { return io.NewSectionReader(s.Handle, 0, s.ref.Size) }

// format is the extension of the file without that of its compression, or, if it has none of note, what its first bytes show.
func (s *subject) format() (string, error) {
	head := make([]byte, min(512, s.ref.Size))
	n, err := s.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read %s: %w", s.ref.Path, err)
	}
	seen := file.Sniff(head[:n])
	name := s.ref.Path
	if file.IsURL(name) {
		name, _, _ = strings.Cut(name, "?")
	}
	name = strings.ToLower(path.Base(name))
	if file.Compression(name) != "" {
		name = strings.TrimSuffix(name, path.Ext(name))
	}
	switch ext := strings.TrimPrefix(path.Ext(name), "."); ext {
	case "ndjson", "jsonlines", "jsonl":
		return "jsonl", nil
	case "":
		return seen, nil
	default:
		if seen != "jsonl" && !file.IsCompression(seen) { // what the bytes say counts more than a wrong name
			return seen, nil
		}
		return ext, nil
	}
}

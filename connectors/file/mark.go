package file

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/zeebo/xxh3"

	"github.com/sluice-data/sluice/dataset"
)

// markBytes is how much of the head and of the tail a mark sums up: reading all of it again would cost what --grown saves.
const markBytes = 64 << 10

// Mark does what dataset.Growing asks of sources of lines, by xxh3 over n, the first 64 KiB and the last 64 KiB of the first n bytes. A
// change in the middle of a longer file that leaves both as they are is not seen.
func (s *Set) Mark(ctx context.Context, f dataset.FileRef, n int64) (mark uint64, ended, ok bool, err error) {
	if Compression(f.Path) != "" || f.Path == StdinPath || n < 0 || n > f.Size {
		return 0, false, false, nil
	}
	h, err := s.fs.Open(ctx, f)
	if err != nil {
		return 0, false, false, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	sum := xxh3.New()
	_, _ = sum.Write(binary.LittleEndian.AppendUint64(nil, uint64(n)))
	head := min(n, markBytes)
	tail := max(head, n-markBytes)
	for _, part := range [][2]int64{{0, head}, {tail, n}} {
		if _, err := io.Copy(sum, io.NewSectionReader(h, part[0], part[1]-part[0])); err != nil {
			return 0, false, false, fmt.Errorf("sum up %s: %w", f.Path, err)
		}
	}
	ended = n == 0 || n == f.Size
	for _, at := range []int64{n - 1, n} {
		var b [1]byte
		if ended || at < 0 || at >= f.Size {
			continue
		}
		if _, err := h.ReadAt(b[:], at); err != nil && err != io.EOF {
			return 0, false, false, fmt.Errorf("sum up %s: %w", f.Path, err)
		}
		ended = b[0] == '\n'
	}
	return max(sum.Sum64(), 1), ended, true, h.Check()
}

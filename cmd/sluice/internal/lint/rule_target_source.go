package lint

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/sluice-data/sluice/dataset"
)

func init() {
	register(Rule{"target-in-source", "the result is written where the source reads", targetInSource})
}

// targetInSource finds results that the next run of the same job would read.
func targetInSource(_ context.Context, j *Job) (out []Finding, err error) {
	sink := j.Parsed.Sink
	if sink == nil || sink.Path == "-" && !sink.Literal || strings.Contains(sink.Path, "://") {
		return nil, nil
	}
	if t, ok := j.Built.Sink.(dataset.Target); !ok || strings.Contains(t.Locator(), "?") { // of a database it is one table
		return nil, nil
	}
	target, err := filepath.Abs(sink.Path)
	if err != nil {
		return nil, nil //nolint:nilerr // without a working folder nothing can be compared
	}
	written := target
	if strings.HasSuffix(sink.Path, "/") {
		written = filepath.Join(target, "part-0."+j.Built.Writer)
	}
	for _, p := range j.Parsed.Source.Paths {
		if p.Text == "-" && !p.Literal || strings.Contains(p.Text, "://") {
			continue
		}
		pattern, err := filepath.Abs(p.Text)
		if err != nil {
			continue
		}
		matched := pattern == target || strings.HasPrefix(written, pattern+string(filepath.Separator))
		if !matched && !p.Literal {
			matched, _ = doublestar.Match(pattern, written)
		}
		if matched {
			out = append(out, Finding{Pos: sink.Pos,
				Message: fmt.Sprintf("%s is within what the source %s reads: the next run would read its own result", sink.Path, p.Text),
				Remedy:  "write beside the source, not into it, or read a pattern that the result does not match"})
		}
	}
	return out, nil
}

package csv

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// header is the names of one file's columns.
type header struct {
	names []string
	notes []string // what was odd about them
}

// recordText takes the fields of the record at i as text. n is the position of the next one, incomplete or failed.
func (p *parser) recordText(i, maxColumns int) (fields []string, n int) {
	for {
		text, _, end := p.field(i)
		if end >= 0 {
			var bad int
			if text, bad = p.text(text, i, arrow.BinaryTypes.String); bad < 0 {
				end = bad
			}
		}
		if end < 0 {
			p.fail.column = len(fields)
			return nil, end
		}
		if len(fields) == maxColumns {
			p.fail = failure{pos: i, column: -1, why: fmt.Sprintf("has more than max_columns=%d fields", maxColumns), class: "too many columns",
				remedy: "raise max_columns, or pass the delim= of the file"}
			return nil, failed
		}
		fields = append(fields, string(text))
		i = end + 1
		if p.buf[end] == '\n' {
			return fields, i
		}
	}
}

// uniqueNames gives every column a name of its own: empty ones are named by place, repeated ones numbered.
func uniqueNames(fields []string) header {
	h := header{names: make([]string, len(fields))}
	used := make(map[string]bool, len(fields))
	for _, f := range fields {
		used[strings.TrimSpace(f)] = false
	}
	for i, f := range fields {
		name := strings.TrimSpace(f)
		if name == "" {
			name = free(used, fmt.Sprintf("column%d", i+1), "column%d", i+1)
			h.notes = append(h.notes, fmt.Sprintf("column %d has no name and is called %q", i+1, name))
		} else if used[name] {
			given := name
			name = free(used, "", strings.ReplaceAll(given, "%", "%%")+"_%d", 2)
			h.notes = append(h.notes, fmt.Sprintf("column %d is named %q like another one and is called %q", i+1, given, name))
		}
		used[name] = true
		h.names[i] = name
	}
	return h
}

// free finds a name that no column has or will have.
func free(used map[string]bool, first, format string, n int) string {
	if _, taken := used[first]; first != "" && !taken {
		return first
	}
	for ; ; n++ {
		name := fmt.Sprintf(format, n)
		if _, taken := used[name]; !taken {
			return name
		}
	}
}

// placeNames are the names of n columns without a header.
func placeNames(n int, given []string) header {
	h := header{names: make([]string, n)}
	for i := range h.names {
		if i < len(given) {
			h.names[i] = given[i]
		} else {
			h.names[i] = fmt.Sprintf("column%d", i+1)
		}
	}
	return h
}

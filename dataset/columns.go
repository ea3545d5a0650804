package dataset

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
)

// FieldIndex finds a column by name. The error lists the nearest name and what there is.
func FieldIndex(s *arrow.Schema, name string) (int, error) {
	if ix := s.FieldIndices(name); len(ix) > 0 {
		return ix[0], nil
	}
	names := make([]string, s.NumFields())
	for i, f := range s.Fields() {
		names[i] = f.Name
	}
	near := DidYouMean(name, append([]string(nil), names...))
	if near == "" {
		near = fmt.Sprintf("; there are %s", nameList(names))
	}
	return -1, fmt.Errorf("no column %q%s", name, near)
}

func nameList(names []string) string {
	const most = 12
	out := ""
	for i, n := range names {
		if i == most {
			return out + fmt.Sprintf(" and %d more", len(names)-most)
		}
		if i > 0 {
			out += ", "
		}
		out += n
	}
	if out == "" {
		return "none"
	}
	return out
}

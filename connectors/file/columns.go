package file

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
)

// CheckColumns is what every Check of a dataset.Format does: columns must have names of their own, and each must pass check, whose error gets the
// column's name. format is the name of the format, for messages.
func CheckColumns(format string, in *arrow.Schema, check func(f arrow.Field) error) error {
	seen := make(map[string]bool, in.NumFields())
	for _, f := range in.Fields() {
		if seen[f.Name] {
			return fmt.Errorf("write %s: two columns are named %q; rename one", format, f.Name)
		}
		seen[f.Name] = true
		if err := check(f); err != nil {
			return fmt.Errorf("write %s: column %q: %w", format, f.Name, err)
		}
	}
	return nil
}

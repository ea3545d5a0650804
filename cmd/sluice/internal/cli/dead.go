package cli

import (
	"fmt"
	"strings"

	"github.com/sluice-data/sluice/dataset"
)

// deadLetters is how many rows the targets of a run have set aside.
func deadLetters(r *dataset.Report) (n int64) {
	for _, t := range r.Targets {
		n += t.DeadLetters
	}
	return n
}

// deadText says where the rows that a run set aside are, and what to do about them.
func deadText(t dataset.TargetReport) string {
	if t.DeadLetters == 0 {
		return ""
	}
	at := ""
	if t.DeadAt != "" {
		at = " in " + printable(t.DeadAt)
	}
	name := shellWord(t.Locator)
	return fmt.Sprintf("%s set aside%s; look at them with: sluice errors %s; try them again with: sluice retry %s\n", rows(t.DeadLetters), at, name, name)
}

// shellWord writes an argument so that a shell reads it back.
func shellWord(s string) string {
	s = printable(s)
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+=:@%,", r))
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

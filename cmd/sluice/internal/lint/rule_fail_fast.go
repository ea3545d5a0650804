package lint

import (
	"context"
	"fmt"

	"github.com/sluice-data/sluice/dataset"
)

func init() {
	register(Rule{"fail-fast", "one bad file of very many ends the run", failFast})
}

// veryMany is how many files make it likely that one is damaged.
const veryMany = 10_000

// failFast finds runs over very many files, each a row, that end at the first one that fails.
func failFast(ctx context.Context, j *Job) ([]Finding, error) {
	if j.Options.OnError != dataset.OnErrorFail && j.Options.OnError != "" {
		return nil, nil
	}
	f, err := j.listed(ctx)
	if err != nil || !f.whole || f.count < veryMany {
		return nil, err
	}
	number := fmt.Sprint(f.count)
	if f.more {
		number = "more than " + number
	}
	return []Finding{{Pos: j.Parsed.Source.Pos,
		Message: fmt.Sprintf("the source has %s files, and --on-error fail, which is the default, ends the run at the first one that is damaged", number),
		Remedy:  "run with --on-error skip to leave failing rows out and count them, or --on-error dead-letter to keep them; --max-error-rate 1% is a ceiling"}}, nil
}

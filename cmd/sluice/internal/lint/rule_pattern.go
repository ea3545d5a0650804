package lint

import "context"

func init() {
	register(Rule{"pattern", "a pattern means something else than it looks like", pattern})
}

// pattern passes on what the parser found odd.
func pattern(_ context.Context, j *Job) (out []Finding, err error) {
	for _, w := range j.Built.Warnings {
		out = append(out, Finding{Pos: j.Parsed.Source.Pos, Message: w, Remedy: "write **/ for any number of folders, or one * within a folder"})
	}
	return out, nil
}

package python

import (
	"context"
	"errors"
	"fmt"
)

// Probe starts the interpreter that steps without venv= run in, as they do, and says which it is: "/usr/bin/python3, Python 3.12.3, pyarrow 19.0.1". The error
// says what is missing and how it is had.
func Probe(ctx context.Context) (string, error) {
	path, err := interpreter("")
	if err != nil {
		return "", err
	}
	p, err := startProc(launch{python: path, target: "doctor"})
	if err != nil {
		return "", fmt.Errorf("start %s: %w", path, err)
	}
	defer p.end()
	var r reply
	if err := p.startedAs(ctx, &r); err != nil {
		if _, told := errors.AsType[*mistake](err); told {
			return "", err
		}
		return "", fmt.Errorf("start %s: %w", path, err)
	}
	return fmt.Sprintf("%s, Python %s, pyarrow %s", path, r.Python, r.Pyarrow), nil
}

package python

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/sluice-data/sluice/dataset"
)

// interpreter finds the Python of a stage: a virtual environment or an interpreter by name, else SLUICE_PYTHON, else python3 of the PATH.
func interpreter(venv string) (string, error) {
	if venv == "" {
		venv = os.Getenv("SLUICE_PYTHON")
	}
	if venv == "" {
		for _, name := range []string{"python3", "python"} {
			if p, err := exec.LookPath(name); err == nil {
				return p, nil
			}
		}
		return "", dataset.Usagef("there is no python3 on the PATH: install Python 3.9 or newer, or name a virtual environment with venv=FOLDER")
	}
	st, err := os.Stat(venv)
	switch {
	case err != nil && filepath.Base(venv) == venv: // a name to look up
		p, lerr := exec.LookPath(venv)
		if lerr == nil {
			return p, nil
		}
		return "", noVenv(venv)
	case err != nil:
		return "", noVenv(venv)
	case !st.IsDir():
		return filepath.Abs(venv)
	}
	for _, name := range []string{"bin/python", "bin/python3", "Scripts/python.exe"} {
		p := filepath.Join(venv, name)
		if _, err := os.Stat(p); err == nil {
			return filepath.Abs(p)
		}
	}
	return "", noVenv(venv)
}

func noVenv(venv string) error {
	return dataset.Usagef("%s is no virtual environment: make it with python3 -m venv %s && %s/bin/python -m pip install pyarrow", venv, venv, venv)
}

// noPyarrow says what to do about an interpreter without pyarrow.
func noPyarrow(python, cause string) error {
	return fmt.Errorf("%s cannot import pyarrow (%s): %s -m pip install pyarrow, or name an environment that has it with venv=FOLDER", python, cause, python)
}

package python

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/sluice-data/sluice/dataset"
)

// Params are the parameters of the step.
type Params struct {
	Target           string           `json:"target" arg:"word" doc:"module:Name or path/file.py:Name, a class or a function"`
	Schema           string           `json:"schema,omitempty" doc:"the columns that it returns: \"score float64, tags list<string>\"; default its attribute schema"`
	Columns          []string         `json:"columns,omitempty" doc:"the columns that it gets; default its attribute columns, else all"`
	Keep             bool             `json:"keep" doc:"keep the other columns of a row beside those that it returns; default true"`
	Takes            string           `json:"takes,omitempty" doc:"in what form it gets a batch: batch, table, arrays, numpy, lists, pandas or row; default by its signature"`
	Args             Args             `json:"args,omitempty" doc:"keyword arguments: args=\"model:small, k:3\", or JSON"`
	Batch            int              `json:"batch,omitempty" doc:"most rows a call; default its attribute batch_size, else a whole block"`
	Processes        int              `json:"processes,omitempty" doc:"most host processes; default as many as there are CPUs"`
	Concurrency      int              `json:"concurrency,omitempty" doc:"rows at once of an asynchronous function that takes rows; default 32"`
	Timeout          time.Duration    `json:"timeout,omitempty" doc:"longest call before its process is killed; default 10m"`
	StartTimeout     time.Duration    `json:"start_timeout,omitempty" doc:"longest import and construction; default 10m"`
	Memory           dataset.ByteSize `json:"memory,omitempty" doc:"most memory of one process before it is killed; default the memory budget"`
	Venv             string           `json:"venv,omitempty" doc:"a virtual environment, or an interpreter; default SLUICE_PYTHON, else python3"`
	Path             []string         `json:"path,omitempty" doc:"folders to import from, before the current one"`
	Nondeterministic bool             `json:"nondeterministic,omitempty" doc:"it may give other results for the same batch: a batch that fails is not divided"`
}

var defaults = Params{Keep: true, Concurrency: 32, Timeout: 10 * time.Minute, StartTimeout: 10 * time.Minute}

const (
	maxProcesses   = 1024
	maxConcurrency = 1 << 16
)

// takes are the forms that a function may want a batch in, as the host knows them.
var takes = []string{"batch", "table", "arrays", "numpy", "lists", "pandas", "row"}

// validate reports the first parameter that is out of range.
func (p Params) validate() error {
	module, name, _ := strings.Cut(p.Target, ":")
	switch {
	case p.Target == "":
		return errors.New("it needs a class or function: python module:Name")
	case module == "" || name == "":
		return fmt.Errorf("%q names no class or function: write module:Name or path/file.py:Name", p.Target)
	case p.Takes != "" && !contains(takes, p.Takes):
		return fmt.Errorf("takes=%s: there are %s%s", p.Takes, strings.Join(takes, ", "), dataset.DidYouMean(p.Takes, append([]string(nil), takes...)))
	case p.Batch < 0:
		return fmt.Errorf("batch=%d: it must be 1 or more", p.Batch)
	case p.Processes < 0 || p.Processes > maxProcesses:
		return fmt.Errorf("processes=%d: it must be 1 to %d", p.Processes, maxProcesses)
	case p.Concurrency < 1 || p.Concurrency > maxConcurrency:
		return fmt.Errorf("concurrency=%d: it must be 1 to %d", p.Concurrency, maxConcurrency)
	case p.Timeout <= 0:
		return fmt.Errorf("timeout=%v: it must be above 0", p.Timeout)
	case p.StartTimeout <= 0:
		return fmt.Errorf("start_timeout=%v: it must be above 0", p.StartTimeout)
	case p.Memory < 0:
		return fmt.Errorf("memory=%s: it must be above 0", p.Memory)
	}
	if _, err := json.Marshal(p.Args); err != nil {
		return fmt.Errorf("args: only what JSON can say can be given to Python: %w", err)
	}
	return nil
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// Args are keyword arguments for a class (its __init__) or a function. They cross as JSON.
type Args map[string]any

// UnmarshalText reads "model:small, k:3", values as in YAML, or a JSON object.
func (a *Args) UnmarshalText(text []byte) error {
	t := strings.TrimSpace(string(text))
	if strings.HasPrefix(t, "{") {
		return a.UnmarshalJSON([]byte(t))
	}
	items, err := dataset.Items(t)
	if err != nil {
		return err
	}
	out := Args{}
	for _, it := range items {
		k, v, ok := strings.Cut(it.Text, ":")
		if k = strings.TrimSpace(k); !ok || k == "" {
			return fmt.Errorf("%q is not of the form name:value", it.Text)
		}
		var value any
		if err := yaml.Unmarshal([]byte(v), &value); err != nil {
			return fmt.Errorf("the value of %s: %w", k, err)
		}
		out[k] = value
	}
	*a = out
	return nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (a *Args) UnmarshalJSON(p []byte) error {
	var m map[string]any
	if err := json.Unmarshal(p, &m); err != nil {
		return fmt.Errorf("want an object of names and values: %w", err)
	}
	*a = m
	return nil
}

// String writes the arguments as JSON, which UnmarshalText reads.
func (a Args) String() string {
	p, err := json.Marshal(map[string]any(a))
	if err != nil {
		return ""
	}
	return string(p)
}

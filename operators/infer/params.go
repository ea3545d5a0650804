package infer

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-data/sluice/dataset"
)

// Params are the parameters of infer.
type Params struct {
	Model   string   `json:"model" arg:"word" doc:"address of the model: onnx:FILE or onnx:NAME, triton://HOST:PORT/MODEL, with several replicas triton://HOST:PORT,HOST:PORT/MODEL"`
	Columns []string `json:"columns,omitempty" arg:"word" doc:"input columns -> output columns; tensor:column where the names differ"`
	Card    string   `json:"card,omitempty" doc:"model card: a file, or the name of one that is built in; it says how inputs are made and answers read"`
	Version string   `json:"version,omitempty" doc:"version of the model; default the server's choice"`
	Running
}

// Running are the parameters that change how models are run, never what they answer.
type Running struct {
	Batch            int              `json:"batch,omitempty" doc:"rows a request, at most; default what the card says, else 16"`
	BatchBytes       dataset.ByteSize `json:"batch_bytes,omitempty" doc:"bytes of tensors a request, at most; default 16MiB"`
	Window           int              `json:"window,omitempty" doc:"requests in flight, at most; default 32"`
	Retries          int              `json:"retries" doc:"tries after the first of a request that is refused or lost; default 5"`
	Timeout          time.Duration    `json:"timeout,omitempty" doc:"of one request; default 60s"`
	Patience         time.Duration    `json:"patience,omitempty" doc:"how long no replica may be healthy before the run ends; default 2m"`
	MaxErrorRate     float64          `json:"max_error_rate,omitempty" doc:"share of rows that may fail, looked at from row 100 on; default 1: any"`
	Nondeterministic bool             `json:"nondeterministic,omitempty" doc:"the model may answer otherwise when asked again: nothing is asked once for equal rows, kept, or divided to find a bad row"`
	Cache            string           `json:"cache,omitempty" doc:"folder that keeps answers for later runs"`
	Threads          int              `json:"threads,omitempty" doc:"of one request to a model in this process; default 1"`
	Inline           bool             `json:"inline,omitempty" doc:"send tensors in the request even where the server shares memory"`
	TokenEnv         string           `json:"token_env,omitempty" doc:"environment variable that holds the server's bearer token"`
	TLS              bool             `json:"tls,omitempty" doc:"encrypt the connection to the server"`
}

var runningDefaults = Running{Retries: 5}

// withDefaults fills in what is not said, and refuses what cannot be.
func (r Running) withDefaults() (Running, error) {
	if r.BatchBytes == 0 {
		r.BatchBytes = 16 << 20
	}
	if r.Window == 0 {
		r.Window = 32
	}
	if r.Timeout == 0 {
		r.Timeout = 60 * time.Second
	}
	if r.Patience == 0 {
		r.Patience = 2 * time.Minute
	}
	if r.MaxErrorRate == 0 {
		r.MaxErrorRate = 1
	}
	switch {
	case r.Batch < 0 || r.Batch > 1<<16:
		return r, fmt.Errorf("batch=%d: it must be 1 to 65536", r.Batch)
	case r.BatchBytes < 0 || r.BatchBytes > 1<<31-1:
		return r, fmt.Errorf("batch_bytes=%s: it must be 1B to 2147483647B", r.BatchBytes)
	case r.Window < 1 || r.Window > 4096:
		return r, fmt.Errorf("window=%d: it must be 1 to 4096", r.Window)
	case r.Retries < 0 || r.Retries > 100:
		return r, fmt.Errorf("retries=%d: it must be 0 to 100", r.Retries)
	case r.Timeout < 0 || r.Patience < 0:
		return r, errors.New("timeout and patience must be above 0")
	case r.MaxErrorRate < 0 || r.MaxErrorRate > 1:
		return r, fmt.Errorf("max_error_rate=%v: it is a share, 0 to 1", r.MaxErrorRate)
	case r.Threads < 0 || r.Threads > 1024:
		return r, fmt.Errorf("threads=%d: it must be 1 to 1024", r.Threads)
	case r.Cache != "" && r.Nondeterministic:
		return r, errors.New("cache keeps answers that are asked again, and nondeterministic=true says that those differ; leave one out")
	}
	return r, nil
}

// mapping is a column and the tensor it belongs to; an empty tensor is the only one, or the one that the card says.
type mapping struct{ tensor, column string }

// parseColumns reads "image -> logits", "x:image, m:mask -> logits:scores, embedding".
func parseColumns(words []string) (in, out []mapping, err error) {
	text := strings.Join(words, " ")
	left, right, _ := strings.Cut(text, "->")
	if strings.Contains(right, "->") {
		return nil, nil, errors.New("write one -> between the input columns and the output columns")
	}
	if in, err = parseMappings(left); err != nil {
		return nil, nil, err
	}
	if out, err = parseMappings(right); err != nil {
		return nil, nil, err
	}
	if strings.Contains(text, "->") && len(out) == 0 {
		return nil, nil, errors.New("name the output columns after ->, or leave -> out for all that the model has")
	}
	for _, list := range [][]mapping{in, out} {
		for i, m := range list {
			if slices.ContainsFunc(list[:i], func(o mapping) bool { return o.column == m.column && o.tensor == m.tensor }) {
				return nil, nil, fmt.Errorf("column %q is named twice", m.column)
			}
		}
	}
	return in, out, nil
}

func parseMappings(text string) ([]mapping, error) {
	var out []mapping
	for _, f := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		tensor, column, named := strings.Cut(f, ":")
		if !named {
			tensor, column = "", f
		}
		if column == "" || named && tensor == "" {
			return nil, fmt.Errorf("%q is neither a column nor tensor:column", f)
		}
		out = append(out, mapping{tensor, column})
	}
	return out, nil
}

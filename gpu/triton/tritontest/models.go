package tritontest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// header is what every model of Triton's Python backend begins with.
const header = `import os, time
import numpy as np
import triton_python_backend_utils as pb_utils


def answer(x):
    return pb_utils.InferenceResponse([pb_utils.Tensor("y", x)])


class TritonPythonModel:
`

// Model is one model of a repository for Triton's Python backend.
type Model struct {
	Name   string
	Type   string // of x and y, as the configuration names it: "TYPE_FP32"
	Dims   string // of both, without the batch dimension; "[-1]" if empty
	Batch  int    // max_batch_size
	Extra  string // more of the configuration
	Source string // the methods of the model's class, four spaces in; Each is the usual one if empty
}

// Each is the source of a model that computes y from x, request by request, by an expression of x.
func Each(expression string) string {
	return `    def execute(self, requests):
        out = []
        for r in requests:
            x = pb_utils.get_input_tensor_by_name(r, "x").as_numpy()
            out.append(answer(` + expression + `))
        return out
`
}

// Models for tests.
var (
	// Identity gives back what it gets, and batches.
	Identity = Model{Name: "identity", Type: "TYPE_FP32", Batch: 64, Source: Each("x"), Extra: "dynamic_batching{max_queue_delay_microseconds:100}"}
	// Upper makes capitals of byte strings.
	Upper = Model{Name: "upper", Type: "TYPE_STRING", Batch: 64, Source: Each("np.array([v.upper() for v in x.flat], dtype=object).reshape(x.shape)")}
	// Grow gives three times as many numbers as it gets.
	Grow = Model{Name: "grow", Type: "TYPE_FP32", Source: Each("np.tile(x, 3)")}
	// Fail refuses its row at 1, raises at 2, dies at 3.
	Fail = Model{Name: "fail", Type: "TYPE_FP32", Batch: 8, Source: `    def execute(self, requests):
        out = []
        for r in requests:
            x = pb_utils.get_input_tensor_by_name(r, "x").as_numpy()
            v = float(x.flat[0])
            if v == 1:
                out.append(pb_utils.InferenceResponse(error=pb_utils.TritonError("row refused", pb_utils.TritonError.INVALID_ARG)))
                continue
            if v == 2:
                raise ValueError("boom")
            if v == 3:
                os._exit(9)
            out.append(answer(x))
        return out
`}
	// Slow takes 300 ms for each request, and queues four at most.
	Slow = Model{Name: "slow", Type: "TYPE_FP32", Batch: 1, Source: `    def execute(self, requests):
        time.sleep(0.3)
        return [answer(pb_utils.get_input_tensor_by_name(r, "x").as_numpy()) for r in requests]
`, Extra: "dynamic_batching{default_queue_policy{max_queue_size:4 timeout_action:REJECT default_timeout_microseconds:30000000 allow_timeout_override:true}}"}
	// Logged gives back what it gets after 4 ms, and adds each first number of a row to the file that Rows reads, before it answers.
	Logged = Model{Name: "logged", Type: "TYPE_FP32", Batch: 64, Source: `    def initialize(self, args):
        self.log = open(os.path.join(args["model_repository"], "rows"), "ab", buffering=0)

    def execute(self, requests):
        out = []
        for r in requests:
            x = pb_utils.get_input_tensor_by_name(r, "x").as_numpy()
            time.sleep(0.004)
            self.log.write(b"".join(b"%d\n" % v for v in x[:, 0]))
            out.append(answer(x))
        return out
`}
	// Countdown is decoupled: it answers n with n responses.
	Countdown = Model{Name: "countdown", Type: "TYPE_INT32", Extra: "model_transaction_policy{decoupled:true}", Source: `    def execute(self, requests):
        for r in requests:
            s = r.get_response_sender()
            for i in range(int(pb_utils.get_input_tensor_by_name(r, "x").as_numpy()[0]), 0, -1):
                s.send(answer(np.array([i], np.int32)))
            s.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
`}
)

// Repository writes models into a new folder and returns it.
func Repository(tb testing.TB, models ...Model) string {
	tb.Helper()
	root := tb.TempDir()
	for _, m := range models {
		dir := filepath.Join(root, m.Name, "1")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			tb.Fatal(err)
		}
		dims := m.Dims
		if dims == "" {
			dims = "[-1]"
		}
		config := fmt.Sprintf("name:%q\nbackend:\"python\"\nmax_batch_size:%d\ninput [{name:\"x\" data_type:%s dims:%s}]\noutput [{name:\"y\" data_type:%s dims:%s}]\n"+
			"instance_group[{kind:KIND_CPU count:1}]\n%s\n", m.Name, m.Batch, m.Type, dims, m.Type, dims, m.Extra)
		source := m.Source
		if source == "" {
			source = Each("x")
		}
		write(tb, filepath.Join(root, m.Name, "config.pbtxt"), config)
		write(tb, filepath.Join(dir, "model.py"), header+source)
	}
	return root
}

// Rows returns the rows that a server on the repository has worked on in its model Logged, by their first numbers, those of its former lives included.
func Rows(tb testing.TB, repository string) []int {
	tb.Helper()
	raw, err := os.ReadFile(filepath.Join(repository, Logged.Name, "rows"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		tb.Fatal(err)
	}
	var rows []int
	for line := range bytes.Lines(raw) {
		n, err := strconv.Atoi(strings.TrimSpace(string(line)))
		if err != nil {
			tb.Fatalf("read rows of %s: %v", repository, err)
		}
		rows = append(rows, n)
	}
	return rows
}

// MLServerModels writes an identity model "ident" and one that makes capitals, "upper", for MLServer.
func MLServerModels(tb testing.TB) string {
	tb.Helper()
	root := tb.TempDir()
	write(tb, filepath.Join(root, "runtimes.py"), mlserverRuntimes)
	for name, class := range map[string]string{"ident": "Ident", "upper": "Upper"} {
		if err := os.Mkdir(filepath.Join(root, name), 0o755); err != nil {
			tb.Fatal(err)
		}
		write(tb, filepath.Join(root, name, "model-settings.json"), fmt.Sprintf(`{"name": %q, "implementation": "runtimes.%s"}`, name, class))
	}
	return root
}

// KServeProgram writes a program that serves "ident" and "upper" with KServe's library.
func KServeProgram(tb testing.TB) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "serve.py")
	write(tb, path, kserveProgram)
	return path
}

func write(tb testing.TB, path, text string) {
	tb.Helper()
	if err := os.WriteFile(path, []byte(strings.TrimPrefix(text, "\n")), 0o644); err != nil {
		tb.Fatal(err)
	}
}

const mlserverRuntimes = `
from mlserver import MLModel
from mlserver.codecs import NumpyCodec, StringCodec
from mlserver.types import InferenceResponse


class Ident(MLModel):
    async def load(self):
        return True

    async def predict(self, p):
        x = self.decode(p.inputs[0], default_codec=NumpyCodec)
        return InferenceResponse(model_name=self.name, id=p.id, outputs=[NumpyCodec.encode_output("y", x)])


class Upper(MLModel):
    async def load(self):
        return True

    async def predict(self, p):
        s = self.decode(p.inputs[0], default_codec=StringCodec)
        return InferenceResponse(model_name=self.name, outputs=[StringCodec.encode_output("y", [v.upper() for v in s])])

    async def predict_stream(self, payloads):
        async for p in payloads:
            s = self.decode(p.inputs[0], default_codec=StringCodec)
            for w in s[0].split():
                yield InferenceResponse(model_name=self.name, outputs=[StringCodec.encode_output("y", [w])])
`

const kserveProgram = `
import sys

import numpy as np
from kserve import InferOutput, InferResponse, Model, ModelServer


class Ident(Model):
    def load(self):
        self.ready = True
        return True

    def compute(self, x):
        return x

    async def predict(self, payload, headers=None, response_headers=None):
        i = payload.inputs[0]
        y = self.compute(i.as_numpy())
        o = InferOutput("y", list(y.shape), i.datatype)
        o.set_data_from_numpy(y, binary_data=True)
        return InferResponse(payload.id or "", self.name, [o])


class Upper(Ident):
    def compute(self, x):
        return np.array([bytes(v).upper() if isinstance(v, bytes) else str(v).upper().encode() for v in x.flat], dtype=object).reshape(x.shape)


models = [Ident("ident"), Upper("upper")]
for m in models:
    m.load()
ModelServer(http_port=int(sys.argv[1]), grpc_port=int(sys.argv[2]), workers=1, enable_docs_url=False).start(models)
`

"""all-MiniLM-L6-v2 as ONNX, of the safetensors in a package: BERT with six layers, the mean of the last one's vectors, scaled to length 1.

Inputs: ids and mask, int64 [n, t]. Output: embedding, float32 [n, 384]. Token types are all 0.
"""

import json
import struct

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TYPES = {"F32": np.float32, "I64": np.int64}


def safetensors(data):
    """The format: length of the header, the header in JSON, the bytes of all tensors."""
    (n,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + n])
    out = {}
    for name, about in header.items():
        if name == "__metadata__":
            continue
        start, _ = about["data_offsets"]
        count = int(np.prod(about["shape"]))
        out[name.removeprefix("bert.")] = np.frombuffer(data, TYPES[about["dtype"]], count, 8 + n + start).reshape(about["shape"])
    return out


class Bert:
    def __init__(self, config, weights):
        self.config, self.weights, self.nodes, self.constants = config, weights, [], []

    def constant(self, name, value):
        self.constants.append(numpy_helper.from_array(np.array(value, order="C"), name))
        return name

    def node(self, kind, inputs, output, **attributes):
        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def linear(self, x, name):
        y = self.node("MatMul", [x, self.constant(name + ".w", self.weights[name + ".weight"].T.copy())], name + ".product")
        return self.node("Add", [y, self.constant(name + ".b", self.weights[name + ".bias"])], name + ".out")

    def normalized(self, x, name):
        return self.node("LayerNormalization", [x, self.constant(name + ".w", self.weights[name + ".weight"]), self.constant(name + ".b", self.weights[name + ".bias"])],
                         name + ".out", axis=-1, epsilon=self.config["layer_norm_eps"])

    def embeddings(self):
        w, e = self.weights, "embeddings."
        self.node("Shape", ["ids"], "shape")
        self.node("Gather", ["shape", "one"], "t")
        self.node("Range", ["zero", "t", "one"], "positions")
        x = self.node("Gather", [self.constant("words", w[e + "word_embeddings.weight"]), "ids"], "word")
        p = self.node("Gather", [self.constant("places", w[e + "position_embeddings.weight"]), "positions"], "place")
        x = self.node("Add", [x, p], "word+place")
        x = self.node("Add", [x, self.constant("type", w[e + "token_type_embeddings.weight"][0])], "word+place+type")
        return self.normalized(x, e + "LayerNorm")

    def attention(self, x, name):
        def heads(part):
            y = self.node("Reshape", [self.linear(x, name + "self." + part), "heads"], name + part + ".split")
            return self.node("Transpose", [y], name + part + ".turned", perm=[0, 2, 3, 1] if part == "key" else [0, 2, 1, 3])

        q, k, v = heads("query"), heads("key"), heads("value")
        s = self.node("Mul", [self.node("MatMul", [q, k], name + "qk"), "scale"], name + "scaled")
        s = self.node("Softmax", [self.node("Add", [s, "bias"], name + "masked")], name + "weights", axis=-1)
        y = self.node("Transpose", [self.node("MatMul", [s, v], name + "mixed")], name + "back", perm=[0, 2, 1, 3])
        return self.node("Reshape", [y, "joined"], name + "context")

    def layer(self, x, i):
        name = f"encoder.layer.{i}."
        a = name + "attention."
        y = self.linear(self.attention(x, a), a + "output.dense")
        x = self.normalized(self.node("Add", [y, x], a + "sum"), a + "output.LayerNorm")
        y = self.linear(x, name + "intermediate.dense")
        e = self.node("Erf", [self.node("Mul", [y, "root"], name + "g0")], name + "g1")
        e = self.node("Mul", [y, self.node("Add", [e, "1.0"], name + "g2")], name + "g3")
        y = self.linear(self.node("Mul", [e, "0.5"], name + "gelu"), name + "output.dense")
        return self.normalized(self.node("Add", [y, x], name + "sum"), name + "output.LayerNorm")

    def build(self):
        c = self.config
        hidden, heads = c["hidden_size"], c["num_attention_heads"]
        for name, value in (("one", np.int64(1)), ("zero", np.int64(0)), ("1.0", np.float32(1)), ("0.5", np.float32(.5)), ("root", np.float32(2 ** -.5)),
                            ("scale", np.float32((hidden // heads) ** -.5)), ("low", np.float32(-1e9)), ("axis1", np.array([1])), ("axis2", np.array([2])),
                            ("axes12", np.array([1, 2])), ("heads", np.array([0, 0, heads, hidden // heads])), ("joined", np.array([0, 0, hidden]))):
            self.constant(name, value)
        x = self.embeddings()
        self.node("Cast", ["mask"], "present", to=TensorProto.FLOAT)
        absent = self.node("Mul", [self.node("Sub", ["1.0", "present"], "absent"), "low"], "absent low")
        self.node("Unsqueeze", [absent, "axes12"], "bias")
        for i in range(c["num_hidden_layers"]):
            x = self.layer(x, i)
        self.node("Unsqueeze", ["present", "axis2"], "present3")
        total = self.node("ReduceSum", [self.node("Mul", [x, "present3"], "kept"), "axis1"], "total", keepdims=0)
        mean = self.node("Div", [total, self.node("ReduceSum", ["present", "axis1"], "count", keepdims=1)], "mean")
        self.node("LpNormalization", [mean], "embedding", axis=1, p=2)
        value = helper.make_tensor_value_info
        return helper.make_graph(self.nodes, "minilm", [value("ids", TensorProto.INT64, ["n", "t"]), value("mask", TensorProto.INT64, ["n", "t"])],
                                 [value("embedding", TensorProto.FLOAT, ["n", hidden])], self.constants)


def convert(archive, target):
    def read(suffix):
        return archive.read(next(n for n in archive.namelist() if n.endswith(suffix)))

    bert = Bert(json.loads(read("model/config.json")), safetensors(read("model.safetensors")))
    model = helper.make_model(bert.build(), ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
    onnx.checker.check_model(model)
    onnx.save(model, target)

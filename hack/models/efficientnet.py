"""EfficientNet-Lite0 as ONNX, of the weights in a package, without torch.

The weights are a checkpoint of torch's old format: three pickles (magic, protocol, sizes), the pickled dictionary of tensors, the keys of their
storages, and the storages one after the other. Tensors are views of storages; the convolutions' have strides of their own, which count.
Batch normalisation is folded into the convolutions. The network has two outputs: logits of 1000 classes, and the 1280 numbers they are made of.
"""

import collections
import io
import pickle
import struct

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TYPES = {"FloatStorage": np.float32, "LongStorage": np.int64}

# repeats, kernel, stride, expansion, channels in, channels out
STAGES = [(1, 3, 1, 1, 32, 16), (2, 3, 2, 6, 16, 24), (2, 5, 2, 6, 24, 40), (3, 3, 2, 6, 40, 80), (3, 5, 1, 6, 80, 112), (4, 5, 2, 6, 112, 192), (1, 3, 1, 6, 192, 320)]


class Unpickler(pickle.Unpickler):
    """Reads dictionaries of tensors and nothing else."""

    def __init__(self, file):
        super().__init__(file)
        self.storages = {}

    def find_class(self, module, name):
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return lambda storage, offset, size, stride, *rest: (storage, offset, size, stride)
        if (module, name) == ("collections", "OrderedDict"):
            return collections.OrderedDict
        if module == "torch" and name in TYPES:
            return name
        raise pickle.UnpicklingError(f"the checkpoint wants {module}.{name}")

    def persistent_load(self, pid):
        _, kind, key, _, _ = pid[:5]
        self.storages[key] = TYPES[kind]
        return key


def load(data):
    f = io.BytesIO(data)
    for _ in range(3):
        Unpickler(f).load()
    main = Unpickler(f)
    tensors = main.load()
    raw = {}
    for key in pickle.load(f):
        (n,) = struct.unpack("<q", f.read(8))
        dtype = np.dtype(main.storages[key])
        raw[key] = np.frombuffer(f.read(n * dtype.itemsize), dtype)

    def tensor(view):
        key, offset, size, stride = view
        a = raw[key][offset:]
        return np.lib.stride_tricks.as_strided(a, size, [s * a.itemsize for s in stride]).copy()

    return {name: tensor(view) for name, view in tensors.items()}


class Graph:
    def __init__(self, weights):
        self.weights, self.nodes, self.constants = weights, [], []

    def constant(self, name, value):
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value, dtype=np.float32), name))
        return name

    def node(self, kind, inputs, output, **attributes):
        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def convolution(self, x, conv, bn, stride, groups, activate):
        w = self.weights
        kernel = w[conv + ".weight"]
        gain = w[bn + ".weight"] / np.sqrt(w[bn + ".running_var"] + 1e-3)
        bias = w[bn + ".bias"] - w[bn + ".running_mean"] * gain
        y = self.node("Conv", [x, self.constant(conv + ".w", kernel * gain[:, None, None, None]), self.constant(conv + ".b", bias)], conv + ".y",
                      auto_pad="SAME_UPPER", strides=[stride, stride], group=groups, kernel_shape=list(kernel.shape[-2:]))
        return self.node("Clip", [y, "zero", "six"], y + ".r") if activate else y

    def block(self, x, index, stride, channels, out, expansion):
        name = f"_blocks.{index}."
        middle, y = channels * expansion, x
        if expansion != 1:
            y = self.convolution(y, name + "_expand_conv", name + "_bn0", 1, 1, True)
        y = self.convolution(y, name + "_depthwise_conv", name + "_bn1", stride, middle, True)
        y = self.convolution(y, name + "_project_conv", name + "_bn2", 1, 1, False)
        return self.node("Add", [y, x], name + "sum") if stride == 1 and channels == out else y


def convert(archive, target):
    g = Graph(load(archive.read(next(n for n in archive.namelist() if n.endswith(".pth")))))
    g.constant("zero", np.array(0))
    g.constant("six", np.array(6))
    x = g.convolution("x", "_conv_stem", "_bn0", 2, 1, True)
    index = 0
    for repeats, _, stride, expansion, channels, out in STAGES:
        for k in range(repeats):
            x = g.block(x, index, stride if k == 0 else 1, channels if k == 0 else out, out, expansion)
            index += 1
    x = g.convolution(x, "_conv_head", "_bn1", 1, 1, True)
    g.node("GlobalAveragePool", [x], "pooled")
    g.node("Flatten", ["pooled"], "embedding", axis=1)
    g.node("Gemm", ["embedding", g.constant("fc.w", g.weights["_fc.weight"]), g.constant("fc.b", g.weights["_fc.bias"])], "logits", transB=1)

    def value(name, shape):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    graph = helper.make_graph(g.nodes, "efficientnet_lite0", [value("x", ["n", 3, 224, 224])],
                              [value("logits", ["n", 1000]), value("embedding", ["n", 1280])], g.constants)
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 15)])
    onnx.checker.check_model(model)
    onnx.save(model, target)

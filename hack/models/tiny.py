"""Makes the small models that gpu/onnx is tested with. argv: folder"""
import sys, onnx, numpy as np
from onnx import helper as h, TensorProto as T
out = sys.argv[1]
def save(name, nodes, ins, outs, init=(), meta=None):
    m = h.make_model(h.make_graph(nodes, name, ins, outs, list(init)), ir_version=8, opset_imports=[h.make_opsetid("", 17)])
    if meta: h.set_model_props(m, meta)
    onnx.checker.check_model(m); onnx.save(m, f"{out}/{name}.onnx")
V = h.make_tensor_value_info
save("identity", [h.make_node("Identity", [a], [b]) for a, b in (("f", "f2"), ("i", "i2"), ("b", "b2"), ("u", "u2"))],
     [V("f", T.FLOAT, ["n", 3]), V("i", T.INT64, ["n"]), V("b", T.BOOL, ["n", 2]), V("u", T.UINT8, ["n", "m"])],
     [V("f2", T.FLOAT, ["n", 3]), V("i2", T.INT64, ["n"]), V("b2", T.BOOL, ["n", 2]), V("u2", T.UINT8, ["n", "m"])], meta={"labels": "a\nb"})
save("fixed", [h.make_node("Mul", ["x", "k"], ["y"])], [V("x", T.FLOAT, [1, 2]), V("k", T.FLOAT, [])], [V("y", T.FLOAT, [1, 2])])
save("upper", [h.make_node("Identity", ["s"], ["t"])], [V("s", T.STRING, ["n"])], [V("t", T.STRING, ["n"])])
one = h.make_tensor("one", T.FLOAT, [1], [1.0])
save("slow", [h.make_node("Loop", ["times", "", "x"], ["y"], body=h.make_graph(
        [h.make_node("MatMul", ["v", "v"], ["w0"]), h.make_node("Clip", ["w0", "lo", "hi"], ["w"]), h.make_node("Identity", ["c"], ["c2"])], "body",
        [V("it", T.INT64, []), V("c", T.BOOL, []), V("v", T.FLOAT, [256, 256])], [V("c2", T.BOOL, []), V("w", T.FLOAT, [256, 256])],
        [h.make_tensor("lo", T.FLOAT, [], [-1.0]), h.make_tensor("hi", T.FLOAT, [], [1.0])]))],
     [V("times", T.INT64, []), V("x", T.FLOAT, [256, 256])], [V("y", T.FLOAT, [256, 256])])

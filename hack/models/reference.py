"""Writes operators/infer/testdata/reference.json: what ONNX Runtime's Python package answers, to compare with. Run in the root of the repository, after make
models, with onnxruntime, numpy and tokenizers installed.
"""

import json
import wave

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

MODELS = ".cache/models/"


def session(name):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(MODELS + name + ".onnx", options)


def floats(a, n=None):
    return [float(v) for v in a[:n]]


def efficientnet():
    n = 2 * 3 * 224 * 224
    x = np.sin(np.arange(n, dtype=np.float64) * 0.01).astype(np.float32).reshape(2, 3, 224, 224)
    logits, embedding = session("efficientnet-lite0").run(None, {"x": x})
    return {"logits": floats(logits[1], 20), "embedding": floats(embedding[1], 20)}


def minilm():
    tokenizer = Tokenizer.from_file(MODELS + "minilm.tokenizer.json")
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    texts, vectors, s = ["The cat sits on the mat.", "Ein Hund schläft.", "42"], [], session("minilm")
    for t in texts:
        ids = np.array([tokenizer.encode(t).ids], np.int64)
        vectors.append(floats(s.run(None, {"ids": ids, "mask": np.ones_like(ids)})[0][0], 16))
    return {"texts": texts, "vectors": vectors}


def silero():
    w = wave.open("examples/voice/speech.wav")
    sound = np.frombuffer(w.readframes(w.getnframes()), "<i2").astype(np.float32) / 32768
    n = -(-len(sound) // 512)
    padded = np.zeros(64 + n * 512, np.float32)
    padded[64:64 + len(sound)] = sound
    rows = np.stack([padded[i * 512:i * 512 + 576] for i in range(n)])
    state = np.zeros((1, 1, 128), np.float32)
    return floats(session("silero-vad").run(None, {"input": rows, "h": state, "c": state})[0].reshape(-1))


def magika():
    labels, s, out = open(MODELS + "magika-labels.txt").read().split("\n"), session("magika"), {}
    for name in ("examples/voice/speech.wav", "examples/ocr/receipt.png", "examples/data/events.jsonl", "LICENSE", "testdata/photos/cat.jpg"):
        data = open(name, "rb").read()
        k = min(4096, len(data))
        head, tail = data[:k].lstrip()[:1024], data[len(data) - k:].rstrip()[-1024:]
        v = np.array([list(head) + [256] * (1024 - len(head)) + [256] * (1024 - len(tail)) + list(tail)], np.int32)
        p = s.run(None, {"bytes": v})[0][0]
        out[name] = [labels[int(p.argmax())], float(p.max())]
    return out


with open("operators/infer/testdata/reference.json", "w", encoding="utf-8") as f:
    json.dump({"efficientnet": efficientnet(), "minilm": minilm(), "silero": silero(), "magika": magika()}, f, ensure_ascii=False, indent=0)

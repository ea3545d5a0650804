"""The photo-embedding job on one peer: JPEG files -> EfficientNet-Lite0 -> 1280 numbers a photo -> Parquet.

usage: embed.py ENGINE MODEL PHOTOS OUT ; prints RESULT and JSON {setup_s, run_s, rows}

The model is the file that `make models` makes, run by ONNX Runtime with one thread a worker and as many workers as cores; batches and preprocessing are those of
the built-in card (shorter side to 256, centre 224, NCHW).
"""
import glob
import io
import json
import os
import shutil
import sys
import time

engine, model, photos, out = sys.argv[1:5]
BATCH, CORES = 4, len(os.sched_getaffinity(0))


class Embedder:
    def __init__(self):
        import onnxruntime as ort
        opts = ort.SessionOptions()
        opts.intra_op_num_threads = opts.inter_op_num_threads = 1
        self.session = ort.InferenceSession(model, opts, providers=["CPUExecutionProvider"])

    @staticmethod
    def tensor(raw):
        import numpy as np
        from PIL import Image
        im = Image.open(io.BytesIO(raw)).convert("RGB")
        w, h = im.size
        s = 256 / min(w, h)
        im = im.resize((max(256, round(w * s)), max(256, round(h * s))), Image.BILINEAR)
        x, y = (im.width - 224) // 2, (im.height - 224) // 2
        a = np.asarray(im.crop((x, y, x + 224, y + 224)), dtype=np.float32)
        return ((a - 127) / 128).transpose(2, 0, 1)

    def embed(self, raws):
        import numpy as np
        parts = []
        for at in range(0, len(raws), BATCH):
            x = np.stack([self.tensor(r) for r in raws[at:at + BATCH]])
            parts.append(self.session.run(["embedding"], {self.session.get_inputs()[0].name: x})[0])
        v = np.concatenate(parts)
        return v / np.linalg.norm(v, axis=1, keepdims=True)

    def __call__(self, batch):  # Ray Data's form
        return {"path": batch["path"], "embedding": self.embed(list(batch["bytes"]))}


def ray_job():
    import logging

    import ray
    ray.init(num_cpus=CORES, include_dashboard=False, logging_level=logging.ERROR, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    begun = time.time()
    # Workers that each took a whole core would leave none for reading.
    ds = ray.data.read_binary_files(photos, include_paths=True, num_cpus=0.25)
    ds.map_batches(Embedder, batch_size=8 * BATCH, compute=ray.data.ActorPoolStrategy(size=CORES), num_cpus=0.75).write_parquet(out)
    return begun


def daft_job():
    import daft
    from daft import DataType, col

    @daft.cls(max_concurrency=CORES, use_process=True)
    class Model(Embedder):
        @daft.method.batch(return_dtype=DataType.fixed_size_list(DataType.float32(), 1280), batch_size=8 * BATCH)
        def vectors(self, raw):
            return list(self.embed(raw.to_pylist()))

    begun = time.time()
    df = daft.from_glob_path(f"{photos}/*.jpg").select("path").with_column("raw", col("path").download())
    df.select("path", Model().vectors(col("raw")).alias("embedding")).write_parquet(out)
    return begun


def part(files):
    import pyarrow as pa
    import pyarrow.parquet as pq
    v = Embedder().embed([open(f, "rb").read() for f in files])
    pq.write_table(pa.table({"path": files, "embedding": pa.FixedSizeListArray.from_arrays(v.ravel(), v.shape[1])}), f"{out}/{os.getpid()}.parquet")


def pil_job():
    """A plain loop, one process a core."""
    from multiprocessing import Pool
    begun = time.time()
    files = sorted(glob.glob(photos + "/*.jpg"))
    with Pool(CORES) as p:
        p.map(part, [files[i::CORES] for i in range(CORES)])
    return begun


if __name__ == "__main__":
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    started = time.time()
    begun = {"ray": ray_job, "daft": daft_job, "pil": pil_job}[engine]()
    ended = time.time()
    import pyarrow.dataset as ds
    rows = ds.dataset(glob.glob(out + "/**/*.parquet", recursive=True)).count_rows()
    print("RESULT", json.dumps({"e": engine, "setup_s": round(begun - started, 2), "run_s": round(ended - begun, 3), "rows": rows}), flush=True)

"""Functions for tests: every form, and every way to go wrong."""

import asyncio
import ctypes
import os
import sys
import time
from typing import Dict, List

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

N = {"n": "int64"}


def say(**attributes):
    def on(f):
        for k, v in attributes.items():
            setattr(f, k, v)
        return f

    return on


class Scorer:
    """Counts how often it was made, and keeps state from batch to batch."""

    schema = {"twice": "int64", "made": "int64"}
    columns = ["id"]
    made = 0

    def __init__(self, factor=2):
        Scorer.made += 1
        self.factor = factor

    def __call__(self, batch):
        return {"twice": pc.multiply(batch.column("id"), self.factor), "made": [Scorer.made] * batch.num_rows}


class Process:
    schema = "n int64"

    def process(self, batch: pa.Table):
        assert isinstance(batch, pa.Table)
        return batch.select(["id"]).rename_columns(["n"])

    def close(self):
        path = os.environ.get("CLOSED")
        if path:
            with open(path, "a") as f:
                f.write("closed\n")


class Asks:
    schema = staticmethod(lambda given: pa.schema([pa.field("like_" + f.name, f.type) for f in given]))

    def __call__(self, batch):
        return {"like_" + n: c for n, c in zip(batch.schema.names, batch.columns)}


@say(schema={"n": pa.int64()})
def arrays(batch: dict):
    return {"n": batch["id"]}


@say(schema=N)
def lists(batch: Dict[str, List]):
    return {"n": [None if v is None else v + 1 for v in batch["id"]]}


@say(schema={"v": "list<float32, 2>", "w": "list<int64>"})
def numbers(batch: "dict[str, np.ndarray]"):
    x = np.nan_to_num(np.asarray(batch["id"], dtype="float64"))
    return {"v": np.stack([x, 1 - x], axis=1).astype("float32"), "w": np.stack([x, x + 1, x + 2], axis=1).astype("int64")}


@say(schema={"n": "int64", "t": "string"})
def by_row(row):
    if row["id"] is not None and row["id"] % 5 == 3:
        raise KeyError("no threes")
    if row["id"] is not None and row["id"] % 5 == 4:
        return None
    if row["id"] is not None and row["id"] % 5 == 2:
        return [{"n": 1, "t": "a"}, {"n": 2, "t": "b"}]
    return {"n": row["id"], "t": row["text"]}


@say(schema=N)
async def wait_by_row(row):
    await asyncio.sleep(0)
    return {"n": row["id"]}


@say(schema=N)
async def wait(batch):
    await asyncio.sleep(0)
    return {"n": batch.column("id")}


@say(schema=N)
async def wait_and_yield(batch):
    for i, v in enumerate(batch.column("id").to_pylist()):
        await asyncio.sleep(0)
        yield i, {"n": v}


@say(schema=N)
def generate(batch):
    for i in range(batch.num_rows):
        for k in range(i % 3):
            yield i, {"n": k}


@say(schema=N)
def generate_backwards(batch):
    for i in reversed(range(batch.num_rows)):
        yield i, {"n": i}


@say(schema=N)
def generate_batches(batch):
    half = batch.num_rows // 2
    yield {"n": list(range(half)), "_parent": list(range(half))}
    yield pa.record_batch({"n": pa.array(range(half, batch.num_rows), pa.int64()), "_parent": pa.array(range(half, batch.num_rows), pa.uint32())})


@say(schema=N)
def nothing_at_all(batch):
    if False:
        yield


@say(schema=N)
def mark_errors(batch):
    ids = batch.column("id").to_pylist()
    return {"n": ids, "_error": ["BadRow: it is odd" if v is not None and v % 2 else None for v in ids]}


@say(schema=N)
def every_other(batch):
    keep = list(range(0, batch.num_rows, 2))
    return {"n": batch.column("id").take(pa.array(keep, pa.int32())), "_parent": keep}


@say(schema={"id": "int32"})
def replace(batch):
    return {"id": pc.multiply(batch.column("id"), 10)}


@say(schema=lambda given: given)
def same(batch):
    return batch


@say(schema=lambda given: given)
def rebuilt(batch):
    return pa.table([pa.concat_arrays([c.slice(0, 1), c.slice(1)]) for c in batch.columns], names=batch.schema.names)


def fails(on, what):
    @say(schema=N)
    def f(batch):
        ids = batch.column("id").to_pylist()
        if on in ids:
            what()
        return {"n": ids}

    return f


def _raise():
    raise ValueError("three is not wanted\nat all")


def _kill():
    os.kill(os.getpid(), 9)


def _segfault():
    ctypes.string_at(0)


def _hang():
    while True:
        time.sleep(3600)


def _spin():
    ctypes.CDLL(None).pause  # keeps the symbol busy without the interpreter
    ctypes.PyDLL(None).pause()


def _fork():
    if os.fork() == 0:
        return  # the copy returns to the host as well, which must end it
    raise ValueError("the parent goes on")


def _grow():
    hold = []
    while True:
        hold.append(np.ones(1 << 20))
        time.sleep(0.001)


raises = fails(3, _raise)
exits = fails(3, lambda: sys.exit(3))
leaves = fails(3, lambda: os._exit(7))
killed = fails(3, _kill)
segfaults = fails(3, _segfault)
hangs = fails(3, _hang)
hangs_with_lock = fails(3, _spin)
forks = fails(3, _fork)
grows = fails(3, _grow)
recurses = fails(3, lambda: recurses_forever(0))


def recurses_forever(n):
    return recurses_forever(n + 1)


@say(schema=N)
def dies_once(batch):
    """Dies in the first process only: the mark is a file."""
    mark = os.environ["MARK"]
    if not os.path.exists(mark):
        open(mark, "w").close()
        os._exit(1)
    return {"n": batch.column("id")}


@say(schema=N, deterministic=False)
def raises_at_random(batch):
    if 3 in batch.column("id").to_pylist():
        _raise()
    return {"n": batch.column("id")}


@say(schema=N)
def prints(batch):
    for i in range(20000):
        print("line", i, "x" * 100)
    print("no newline " * 10000, end="")
    print("to the other stream", file=sys.stderr)
    os.write(1, b"raw \xff bytes\n")
    return {"n": batch.column("id")}


kept = []


@say(schema=N)
def keeps(batch):
    """Keeps every batch: what was given before must stay as it was."""
    for b, ids in kept:
        assert b.column("id").to_pylist() == ids, "a batch that was kept has changed"
    kept.append((batch, batch.column("id").to_pylist()))
    return {"n": batch.column("id")}


@say(schema=N)
def wrong_count(batch):
    return {"n": [1]} if batch.num_rows != 1 else {"n": [1, 2]}


@say(schema=N)
def wrong_type(batch):
    return {"n": pa.array(["a"] * batch.num_rows)}


@say(schema=N)
def wrong_value(batch):
    return {"n": ["x" if v == 3 else v for v in batch.column("id").to_pylist()]}


@say(schema={"n": "int8"})
def too_large(batch):
    return {"n": batch.column("id")}


@say(schema=N)
def no_column(batch):
    return {"m": batch.column("id")}


@say(schema=N)
def extra_column(batch):
    return {"n": batch.column("id"), "m": batch.column("id")}


@say(schema={"n": "int64", "m": "int64"})
def uneven(batch):
    return {"n": batch.column("id"), "m": [1] * (batch.num_rows + 1)}


@say(schema=N)
def none(batch):
    return None


@say(schema=N)
def a_list(batch):
    return [1, 2, 3]


@say(schema=N)
def bad_parent(batch):
    return {"n": [1], "_parent": [batch.num_rows]}


@say(schema=N)
def null_parent(batch):
    return {"n": [1], "_parent": [None]}


class FailsToLoad:
    schema = N

    def __init__(self):
        raise RuntimeError("no model")

    def __call__(self, batch):
        return batch


class DiesToLoad(FailsToLoad):
    def __init__(self):
        os._exit(5)


class LoadsForever(FailsToLoad):
    def __init__(self):
        time.sleep(3600)


class NoCall:
    schema = N


def no_schema(batch):
    return batch


@say(schema={"n": "flot64"})
def misspelt(batch):
    return batch


@say(schema={"_parent": "int64"})
def taken_name(batch):
    return batch


@say(schema=N, columns=["nope"])
def no_input(batch):
    return batch


@say(schema=7)
def odd_schema(batch):
    return batch


@say(schema=N, takes="rows")
def odd_takes(batch):
    return batch


def no_argument():
    return None


no_argument.schema = N
not_callable = 7


@say(schema=N)
def waits_to_be_killed(batch):
    """Waits in the first process only, until the test kills it."""
    mark = os.environ["MARK"]
    if not os.path.exists(mark):
        with open(mark + ".new", "w") as f:
            f.write(f"{os.getpid()}\n")
        os.rename(mark + ".new", mark)
        _hang()
    return {"n": batch.column("id")}


@say(schema=N)
def starts_programs(batch):
    """Starts a program and a copy of itself, and waits for neither."""
    import subprocess

    p = subprocess.Popen(["sleep", "3600"])
    child = os.fork()
    if child == 0:
        _hang()
    with open(os.environ["MARK"], "w") as f:
        f.write(f"{p.pid} {child}\n")
    return {"n": batch.column("id")}


class Awaits:
    schema = N

    async def __call__(self, row):
        await asyncio.sleep(0)
        return [{"n": row["id"]}]

    async def close(self):
        await asyncio.sleep(0)


class _Instance:
    schema = N

    def __call__(self, batch):
        return {"n": batch.column("id")}


instance = _Instance()

"""The pyarrow side of TestPyArrow: "write DIR" writes files of pyarrow's, "check DIR" compares DIR/out/* with them."""
import datetime
import decimal
import os
import sys

import pyarrow as pa
import pyarrow.feather as feather


def tables():
    n = 1000
    words = pa.array([None if i % 7 == 0 else f"word {i % 50}" for i in range(n)])
    rows = pa.table({
        "id": pa.array(range(n), pa.int64()),
        "word": words,
        "dict": words.dictionary_encode(),
        "numbers": pa.array([i % 5 for i in range(n)], pa.int16()).dictionary_encode(),
        "large": words.cast(pa.large_string()),
        "bin": pa.array([bytes([i % 256]) * (i % 5) for i in range(n)]),
        "flag": pa.array([None if i % 3 == 0 else i % 2 == 0 for i in range(n)]),
        "f16": pa.array([i / 4 for i in range(n)], pa.float16()),
        "day": pa.array([datetime.date(2020, 1, 1) + datetime.timedelta(days=i) for i in range(n)]),
        "ts": pa.array([datetime.datetime(2020, 1, 1) + datetime.timedelta(seconds=i) for i in range(n)], pa.timestamp("us", "Europe/Berlin")),
        "dec": pa.array([decimal.Decimal(i) / 100 for i in range(n)], pa.decimal128(12, 2)),
        "tags": pa.array([[f"t{k}" for k in range(i % 4)] if i % 6 else None for i in range(n)]),
        "nested": pa.array([{"a": i, "b": [{"c": i % 3}] * (i % 3)} if i % 5 else None for i in range(n)]),
        "map": pa.array([[("k", i), ("l", None)] for i in range(n)], pa.map_(pa.string(), pa.int32())),
        "fsl": pa.array([[i, i + 1, None] if i % 4 else None for i in range(n)], pa.list_(pa.int32(), 3)),
        "null": pa.nulls(n),
    })
    return rows


def batches(t):
    yield from t.to_batches(max_chunksize=130)


def write(folder):
    t = tables()
    for codec in (None, "lz4", "zstd"):
        opts = pa.ipc.IpcWriteOptions(compression=codec)
        with pa.OSFile(f"{folder}/file_{codec}.arrow", "wb") as f, pa.ipc.new_file(f, t.schema, options=opts) as w:
            for b in batches(t):
                w.write_batch(b)
        with pa.OSFile(f"{folder}/stream_{codec}.arrows", "wb") as f, pa.ipc.new_stream(f, t.schema, options=opts) as w:
            for b in batches(t):
                w.write_batch(b)
    feather.write_feather(t, f"{folder}/feather.feather")
    # dictionaries that grow and, in the stream, are replaced
    parts = [pa.array(["a", "b", None]).dictionary_encode(), pa.array(["b", "c", "a"]).dictionary_encode(),
             pa.array(["x"]).dictionary_encode()]
    schema = pa.schema([("d", parts[0].type)])
    with pa.OSFile(f"{folder}/replaced.arrows", "wb") as f, pa.ipc.new_stream(f, schema) as w:
        for p in parts:
            w.write_batch(pa.record_batch([p], schema=schema))
    grown = [pa.DictionaryArray.from_arrays(pa.array(ix, pa.int32()), ["a", "b", "c"][:k]) for ix, k in (([0, 0], 1), ([1, None, 0], 2), ([2], 3))]
    for kind, new in (("arrow", pa.ipc.new_file), ("arrows", pa.ipc.new_stream)):
        opts = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True, unify_dictionaries=False)
        with pa.OSFile(f"{folder}/grown.{kind}", "wb") as f, new(f, schema, options=opts) as w:
            for p in grown:
                w.write_batch(pa.record_batch([p], schema=schema))
    write_views(folder)
    with pa.OSFile(f"{folder}/none.arrow", "wb") as f, pa.ipc.new_file(f, t.schema):
        pass


def write_views(folder):
    """Views, in batches whose columns have no, one and several buffers of long values; read as ordinary text and binary."""
    words = [None if i % 7 == 0 else "w" * (i % 30) + f"ž{i}" for i in range(1000)]
    views = pa.array(words, pa.string_view())
    t = pa.table({
        "before": pa.array(range(1000)),
        "view": views,
        "short": pa.array(["x", "", None, "exactly 12 b"] * 250, pa.string_view()),
        "bin": pa.array([None if w is None else w.encode() * 3 for w in words], pa.binary_view()),
        "list": pa.array([[words[i]] * (i % 3) if i % 5 else None for i in range(1000)], pa.list_(pa.string_view())),
        "struct": pa.StructArray.from_arrays([views, pa.array(range(1000))], ["v", "n"]),
        "after": pa.array(words),
    })
    for codec in (None, "lz4", "zstd"):
        for kind, new in (("arrow", pa.ipc.new_file), ("arrows", pa.ipc.new_stream)):
            with pa.OSFile(f"{folder}/views_{codec}.{kind}", "wb") as f, new(f, t.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as w:
                for b in batches(pa.concat_tables([t, t.slice(400, 300)])):
                    w.write_batch(b)


def ordinary(t):
    """A type without views."""
    if t == pa.string_view():
        return pa.string()
    if t == pa.binary_view():
        return pa.binary()
    if pa.types.is_list(t):
        return pa.list_(ordinary(t.value_type))
    if pa.types.is_struct(t):
        return pa.struct([(f.name, ordinary(f.type)) for f in t])
    return t


def load(path):
    with pa.OSFile(path) as f:
        if f.read(6) == b"ARROW1":
            f.seek(0)
            t = pa.ipc.open_file(f).read_all()
        else:
            f.seek(0)
            t = pa.ipc.open_stream(f).read_all()
    cols = [c.cast(c.type.value_type) if pa.types.is_dictionary(c.type) else c for c in t.columns]
    if "/views_" in path and "/out/" not in path:
        cols = [pa.chunked_array([pa.array(c.to_pylist(), ordinary(c.type))]) for c in cols]
    return pa.table(cols, names=t.column_names)


def check(folder):
    for name in sorted(os.listdir(folder + "/out")):
        want, got = load(f"{folder}/{name}"), load(f"{folder}/out/{name}")
        got.validate(full=True)
        for c in want.column_names:
            if want.column(c).type != got.column(c).type or not want.column(c).equals(got.column(c)):
                raise SystemExit(f"{name}, column {c}: got {got.column(c)}, want {want.column(c)}")


{"write": write, "check": check}[sys.argv[1]](sys.argv[2])

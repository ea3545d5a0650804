"""The pyarrow side of TestPyArrow.

interop.py check DIR   reads every *.parquet in DIR and compares with the
                       *.arrow beside it (the same rows as an IPC stream).
interop.py write DIR   writes files of pyarrow's, with an *.arrow beside each.
"""
import datetime
import decimal
import glob
import os
import sys

import pyarrow as pa
import pyarrow.parquet as pq


def plain(t):
    """Decodes dictionaries, whose indexes Parquet does not keep."""
    cols = [c.cast(c.type.value_type) if pa.types.is_dictionary(c.type) else c for c in t.columns]
    return pa.table(cols, names=t.column_names)


def check(folder):
    n = 0
    for path in sorted(glob.glob(os.path.join(folder, "*.parquet"))):
        got = plain(pq.read_table(path))
        with pa.OSFile(path[: -len("parquet")] + "arrow") as f:
            want = plain(pa.ipc.open_stream(f).read_all())
        for name in want.column_names:
            w, g = want.column(name), got.column(name)
            if isinstance(w.type, pa.BaseExtensionType) and w.type != g.type:
                # pyarrow's tensors have nullable numbers, ours do not, so it gives the storage.
                w = w.combine_chunks().storage.cast(g.type)
                w = pa.chunked_array([w])
            if w.type != g.type or not w.equals(g):
                raise SystemExit(f"{path}: column {name}: got {g.type} {g.slice(0, 20)}, want {w.type} {w.slice(0, 20)}")
        meta = pq.ParquetFile(path).metadata
        for g in range(meta.num_row_groups):
            for c in range(meta.num_columns):
                column = meta.row_group(g).column(c)
                column.statistics
                if not column.has_offset_index:
                    raise SystemExit(f"{path}: column {c} has no offset index")
        n += 1
    print(f"checked {n} files")


def tables():
    n = 1000
    ids = pa.array(range(n), pa.int64())
    words = pa.array([None if i % 7 == 0 else f"word {i % 50}" for i in range(n)])
    yield "flat", pa.table({
        "id": ids,
        "word": words,
        "dict": words.dictionary_encode(),
        "large": words.cast(pa.large_string()),
        "bin": pa.array([bytes([i % 256]) * (i % 5) for i in range(n)]),
        "flag": pa.array([None if i % 3 == 0 else i % 2 == 0 for i in range(n)]),
        "f32": pa.array([i / 3 for i in range(n)], pa.float32()),
        "f16": pa.array([i / 4 for i in range(n)], pa.float16()),
        "day": pa.array([datetime.date(2020, 1, 1) + datetime.timedelta(days=i) for i in range(n)]),
        "ts": pa.array([datetime.datetime(2020, 1, 1) + datetime.timedelta(seconds=i) for i in range(n)], pa.timestamp("us", "Europe/Berlin")),
        "dec": pa.array([decimal.Decimal(i) / 100 for i in range(n)], pa.decimal128(12, 2)),
        "dec256": pa.array([decimal.Decimal(i) for i in range(n)], pa.decimal256(50, 0)),
        "fixed": pa.array([b"%04d" % i for i in range(n)], pa.binary(4)),
        "dur": pa.array(range(n), pa.duration("ms")),
        "nothing": pa.nulls(n),
    }), {}
    lists = pa.array([None if i % 5 == 0 else list(range(i % 4)) for i in range(n)], pa.list_(pa.int32()))
    yield "nested", pa.table({
        "lists": lists,
        "fixed": pa.array([None if i % 5 == 0 else [i, None, i] for i in range(n)], pa.list_(pa.int16(), 3)),
        "structs": pa.array([None if i % 6 == 0 else {"a": i, "b": None if i % 4 == 0 else [{"c": str(i)}]} for i in range(n)]),
        "maps": pa.array([None if i % 9 == 0 else [(f"k{j}", j) for j in range(i % 3)] for i in range(n)], pa.map_(pa.string(), pa.int64())),
        "deep": pa.array([[[None, [i]], []] if i % 2 else None for i in range(n)], pa.list_(pa.list_(pa.list_(pa.int64())))),
    }), {}
    stamps = pa.array([datetime.datetime(1970, 1, 1) + datetime.timedelta(days=i * 30) for i in range(n)], pa.timestamp("ns"))
    yield "int96", pa.table({"ts": stamps}), {"use_deprecated_int96_timestamps": True}
    yield "decimal_int", pa.table({"d": pa.array([decimal.Decimal(i) / 10 for i in range(n)], pa.decimal128(8, 1))}), {"store_decimal_as_integer": True}
    for enc in ("DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"):
        yield enc.lower(), pa.table({"id": ids}), {"use_dictionary": False, "column_encoding": {"id": enc}}
    for enc in ("DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"):
        yield enc.lower(), pa.table({"word": words}), {"use_dictionary": False, "column_encoding": {"word": enc}}
    yield "fallback", pa.table({"dict": pa.array([f"{i:030d}" for i in range(20000)]).dictionary_encode()}), {"dictionary_pagesize_limit": 2000, "data_page_size": 1000}
    yield "v2", pa.table({"lists": lists, "word": words}), {"data_page_version": "2.0", "data_page_size": 300}
    yield "checksum", pa.table({"word": words}), {"write_page_checksum": True}
    yield "no_arrow_schema", pa.table({"lists": lists, "word": words}), {"store_schema": False}
    yield "empty", pa.table({"id": ids[:0]}), {}
    for codec in ("gzip", "zstd", "lz4", "brotli", "none"):
        yield codec, pa.table({"word": words, "id": ids}), {"compression": codec}


def write(folder):
    for name, table, options in tables():
        path = os.path.join(folder, name)
        pq.write_table(table, path + ".parquet", row_group_size=333, **options)
        with pa.OSFile(path + ".arrow", "wb") as f, pa.ipc.new_stream(f, table.schema) as w:
            w.write_table(table)


if __name__ == "__main__":
    {"check": check, "write": write}[sys.argv[1]](sys.argv[2])

"""Random tables of pyarrow's, for TestWeReadRandomPyArrow.

interop_random.py DIR SEED COUNT   writes COUNT files, each with the rows that pyarrow reads from it as an *.arrow beside it.
"""
import datetime
import decimal
import math
import os
import random
import sys
import uuid

import pyarrow as pa
import pyarrow.parquet as pq

DAY = 86_400
FLAT = [
    pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(),
    pa.float16(), pa.float32(), pa.float64(), pa.string(), pa.binary(), pa.large_string(), pa.large_binary(),
    pa.binary(1), pa.binary(5), pa.binary(16), pa.date32(), pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"),
    pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("us", "UTC"), pa.timestamp("ns", "Asia/Tokyo"), pa.timestamp("ns"), pa.duration("us"),
    pa.decimal32(5, 2), pa.decimal32(9, 0), pa.decimal64(18, 3), pa.decimal128(4, 1), pa.decimal128(9, 9), pa.decimal128(18, 2), pa.decimal128(19, 0),
    pa.decimal128(38, 10), pa.decimal256(40, 0), pa.decimal256(76, 38), pa.null(),
]
TOP = [pa.dictionary(pa.int32(), pa.string()), pa.dictionary(pa.int32(), pa.binary()), pa.uuid()]


def field(rng, name, t):
    return pa.field(name, t, nullable=pa.types.is_null(t) or rng.random() < 0.8)


def draw_type(rng, depth=0):
    kind = rng.random()
    if depth > 3 or kind < 0.5:
        return rng.choice(FLAT + (TOP if depth == 0 else []))
    inner = lambda: field(rng, "element", draw_type(rng, depth + 1))
    if kind < 0.65:
        return pa.list_(inner())
    if kind < 0.7:
        return pa.large_list(inner())
    if kind < 0.85:
        key = rng.choice([pa.string(), pa.int32(), pa.binary(3)])
        return pa.map_(key, draw_type(rng, depth + 1))
    return pa.struct([field(rng, f"f{i}", draw_type(rng, depth + 1)) for i in range(rng.randint(1, 3))])


def extreme(rng, lo, hi):
    return rng.choice([lo, hi, 0, rng.randint(lo, hi), rng.randint(max(lo, -50), min(hi, 50))])


def draw_value(rng, t, nullable):
    if pa.types.is_null(t) or nullable and rng.random() < rng.nulls:
        return None
    if isinstance(t, pa.BaseExtensionType):
        return uuid.UUID(int=rng.getrandbits(128)).bytes
    if pa.types.is_dictionary(t):
        v = f"word {rng.randint(0, 20)}"
        return v if pa.types.is_string(t.value_type) else v.encode()
    if pa.types.is_boolean(t):
        return rng.random() < 0.5
    if pa.types.is_integer(t):
        n = t.bit_width
        return extreme(rng, 0, 2**n - 1) if pa.types.is_unsigned_integer(t) else extreme(rng, -(2 ** (n - 1)), 2 ** (n - 1) - 1)
    if pa.types.is_floating(t):
        return rng.choice([0.0, -0.0, math.inf, -math.inf, 1.5, rng.randint(-1000, 1000) / 8])
    if pa.types.is_string(t) or pa.types.is_large_string(t):
        return rng.choice(["", "ä€😀", "x" * rng.randint(1, 90), f"value {rng.randint(0, 9)}", str(rng.random())])
    if pa.types.is_fixed_size_binary(t):
        return rng.randbytes(t.byte_width)
    if pa.types.is_binary(t) or pa.types.is_large_binary(t):
        return rng.choice([b"", b"\xff" * rng.randint(1, 90), rng.randbytes(rng.randint(0, 20))])
    if pa.types.is_decimal(t):
        digits = rng.choice([t.precision, rng.randint(1, t.precision)])
        n = rng.randint(-(10**digits) + 1, 10**digits - 1)
        with decimal.localcontext() as c:
            c.prec = 80
            return decimal.Decimal(n).scaleb(-t.scale)
    if pa.types.is_date32(t):
        return extreme(rng, -700_000, 2_900_000)
    if pa.types.is_time(t):
        return rng.randint(0, DAY * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[t.unit] - 1)
    if pa.types.is_timestamp(t) or pa.types.is_duration(t):
        return extreme(rng, -(2**50), 2**50) if t.unit in ("us", "ns") else extreme(rng, -(2**41), 2**41)
    if pa.types.is_map(t):
        return [(draw_value(rng, t.key_type, False), draw_value(rng, t.item_type, True)) for _ in range(rng.randint(0, 3))]
    if pa.types.is_list(t) or pa.types.is_large_list(t):
        return [draw_value(rng, t.value_type, t.value_field.nullable) for _ in range(rng.randint(0, 4))]
    if pa.types.is_struct(t):
        return {f.name: draw_value(rng, f.type, f.nullable) for f in t}
    raise SystemExit(f"no values for {t}")


def draw_array(rng, t, nullable, n):
    values = [draw_value(rng, t, nullable) for _ in range(n)]
    if isinstance(t, pa.BaseExtensionType):
        return t.wrap_array(pa.array(values, t.storage_type))
    return pa.array(values, t)


ENCODINGS = [
    (pa.types.is_boolean, ["RLE", "PLAIN"]),
    (pa.types.is_integer, ["DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT", "PLAIN"]),
    (pa.types.is_float32, ["BYTE_STREAM_SPLIT", "PLAIN"]),
    (pa.types.is_float64, ["BYTE_STREAM_SPLIT", "PLAIN"]),
    (pa.types.is_fixed_size_binary, ["BYTE_STREAM_SPLIT", "DELTA_BYTE_ARRAY"]),
    (pa.types.is_float16, ["BYTE_STREAM_SPLIT", "DELTA_BYTE_ARRAY"]),
    (pa.types.is_string, ["DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"]),
    (pa.types.is_binary, ["DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"]),
    (pa.types.is_timestamp, ["DELTA_BINARY_PACKED"]),
]


def draw_options(rng, schema):
    opts = {
        "compression": rng.choice(["none", "snappy", "gzip", "zstd", "lz4", "brotli"]),
        "use_dictionary": rng.random() < 0.6,
        "dictionary_pagesize_limit": rng.choice([64, 500, 1 << 20]),
        "data_page_size": rng.choice([64, 500, 1 << 20]),
        "write_batch_size": rng.choice([3, 64, 1024]),
        "data_page_version": rng.choice(["1.0", "2.0"]),
        "version": "2.6" if "[ns" in str(schema) else rng.choice(["1.0", "2.4", "2.6"]),
        "store_decimal_as_integer": rng.random() < 0.5,
        "write_page_index": rng.random() < 0.5,
        "write_page_checksum": rng.random() < 0.3,
        "use_compliant_nested_type": rng.random() < 0.8,
        "use_deprecated_int96_timestamps": "timestamp[s" not in str(schema) and "timestamp[ms" not in str(schema) and rng.random() < 0.3,
        "store_schema": rng.random() < 0.9,
    }
    if not opts["use_dictionary"] and not opts["use_deprecated_int96_timestamps"]:
        encodings = {}
        for f in schema:
            for fits, names in ENCODINGS:
                if fits(f.type) and rng.random() < 0.8:
                    encodings[f.name] = rng.choice(names)
                    break
        if encodings:
            opts["column_encoding"] = encodings
    return opts


def main(folder, seed, count):
    for i in range(count):
        rng = random.Random(seed * 1000 + i)
        rng.nulls = rng.choice([0, 0.1, 0.5, 0.95])
        n = rng.choice([0, 1, 2, 50, 400])
        fields = [field(rng, f"c{k}", draw_type(rng)) for k in range(rng.randint(1, 5))]
        schema = pa.schema(fields)
        table = pa.table([draw_array(rng, f.type, f.nullable, n) for f in fields], schema=schema)
        opts = draw_options(rng, schema)
        path = os.path.join(folder, f"random{i:03d}" + ("" if opts["store_schema"] else "_no_arrow_schema"))
        pq.write_table(table, path + ".parquet", row_group_size=rng.choice([1, 7, 100, 10_000]), **opts)
        with open(path + ".txt", "w") as f:
            print(schema, opts, file=f)
        back = pq.read_table(path + ".parquet")
        with pa.OSFile(path + ".arrow", "wb") as f, pa.ipc.new_stream(f, back.schema) as w:
            w.write_table(back)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))

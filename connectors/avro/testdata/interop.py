"""The fastavro side of TestFastAvro: "write DIR" writes files, "check DIR" compares DIR/out/* with them, "dump FILE" prints rows."""
import datetime
import decimal
import os
import sys

import fastavro

UTC = datetime.timezone.utc
SCHEMA = fastavro.parse_schema({
    "type": "record", "name": "Row", "namespace": "a.b", "fields": [
        {"name": "id", "type": "long"},
        {"name": "i", "type": ["null", "int"]},
        {"name": "f", "type": "float"},
        {"name": "d", "type": ["double", "null"]},
        {"name": "s", "type": ["null", "string"]},
        {"name": "b", "type": "bytes"},
        {"name": "ok", "type": ["null", "boolean"]},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "tod", "type": {"type": "long", "logicalType": "time-micros"}},
        {"name": "ms", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "us", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}]},
        {"name": "dec", "type": ["null", {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}]},
        {"name": "decf", "type": {"type": "fixed", "name": "D", "size": 7, "logicalType": "decimal", "precision": 14, "scale": 3}},
        {"name": "fix", "type": {"type": "fixed", "name": "F", "size": 3}},
        {"name": "color", "type": {"type": "enum", "name": "Color", "symbols": ["red", "green"]}},
        {"name": "tags", "type": {"type": "array", "items": ["null", "string"]}},
        {"name": "map", "type": {"type": "map", "values": "long"}},
        {"name": "in", "type": ["null", {"type": "record", "name": "In", "fields": [{"name": "x", "type": "int"}, {"name": "y", "type": ["null", "Color"]}]}]},
    ]})
EXTREMES = [0, 1, -1, 2**63 - 1, -(2**63), 2**31, -(2**40)]


def rows():
    for i in range(500):
        yield {
            "id": EXTREMES[i % 7], "i": None if i % 3 == 0 else i - 100, "f": i / 4, "d": None if i % 5 == 0 else i / 3, "s": None if i % 4 == 0 else f"é{i}" * (i % 5),
            "b": bytes([i % 256]) * (i % 9), "ok": [None, True, False][i % 3], "day": datetime.date(1950, 1, 1) + datetime.timedelta(days=i * 40),
            "tod": datetime.time(i % 24, i % 60, 1, i), "ms": datetime.datetime(2020, 1, 1, tzinfo=UTC) + datetime.timedelta(milliseconds=i * 777),
            "us": None if i % 6 == 0 else datetime.datetime(1960, 1, 1, tzinfo=UTC) + datetime.timedelta(microseconds=i * 77777),
            "dec": None if i % 7 == 0 else decimal.Decimal(i * 977 - 200000) / 100, "decf": decimal.Decimal(50000 - i * 999) / 1000,
            "fix": b"%03d" % i, "color": ["red", "green"][i % 2], "tags": [None if k == 1 else f"t{k}" for k in range(i % 4)],
            "map": {f"k{k}": k * i for k in range(i % 3)}, "in": None if i % 2 else {"x": i, "y": [None, "red"][i // 2 % 2]},
        }


def write(folder):
    for codec in ("null", "deflate", "bzip2", "xz", "snappy", "zstandard"):
        try:
            with open(f"{folder}/{codec}.avro", "wb") as f:
                fastavro.writer(f, SCHEMA, rows(), codec=codec, sync_interval=2000)
        except ValueError:  # the codec's package is not installed
            os.remove(f"{folder}/{codec}.avro")
    union = fastavro.parse_schema({"type": "record", "name": "U", "fields": [{"name": "u", "type": ["null", "long", "string"]}]})
    with open(f"{folder}/union.avro_", "wb") as f:
        fastavro.writer(f, union, [{"u": 1}, {"u": "x"}, {"u": None}])


def load(path):
    with open(path, "rb") as f:
        return list(fastavro.reader(f))


def check(folder):
    for name in sorted(os.listdir(folder + "/out")):
        want, got = load(f"{folder}/{name}"), load(f"{folder}/out/{name}")
        for i, (w, g) in enumerate(zip(want, got, strict=True)):
            if w != g:
                raise SystemExit(f"{name}, row {i}: got {g}, want {w}")


{"write": write, "check": check}[sys.argv[1]](sys.argv[2])

"""The Python side of TestPython: "write DIR" writes examples, "check DIR" compares DIR/out/* with them. It frames and parses by itself, bit by
bit, and with the tfrecord package as well where that is installed."""
import os
import struct
import sys

TABLE = []
for n in range(256):
    for _ in range(8):
        n = n >> 1 ^ 0x82F63B78 if n & 1 else n >> 1
    TABLE.append(n)


def masked(data):
    c = 0xFFFFFFFF
    for b in data:
        c = TABLE[(c ^ b) & 255] ^ c >> 8
    c ^= 0xFFFFFFFF
    return ((c >> 15 | c << 17) + 0xA282EAD8) & 0xFFFFFFFF


def varint(n):
    n &= (1 << 64) - 1
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(num, data):
    return varint(num << 3 | 2) + varint(len(data)) + data


def feature(kind, values, packed):
    if kind == 1:
        return field(1, b"".join(field(1, v) for v in values))
    each = [struct.pack("<f", v) for v in values] if kind == 2 else [varint(v) for v in values]
    if packed:
        return field(kind, field(1, b"".join(each)))
    wire = 5 if kind == 2 else 0
    return field(kind, b"".join(varint(1 << 3 | wire) + v for v in each))


def take(b):
    n = shift = i = 0
    while True:
        n |= (b[i] & 127) << shift
        shift += 7
        i += 1
        if b[i - 1] < 128:
            return n, b[i:]


def fields(b):
    while b:
        tag, b = take(b)
        if tag & 7 == 2:
            n, b = take(b)
            yield tag >> 3, b[:n]
            b = b[n:]
        elif tag & 7 == 5:
            yield tag >> 3, b[:4]
            b = b[4:]
        else:
            v, b = take(b)
            yield tag >> 3, v


def parse(record):
    out = {}
    for _, features in fields(record):
        for _, entry in fields(features):
            e = dict(fields(entry))
            for kind, lst in fields(e[2]):
                vals = []
                for _, v in fields(lst):
                    if kind == 1:
                        vals.append(v)
                    elif kind == 2:
                        vals += struct.unpack(f"<{len(v) // 4}f", v)
                    elif isinstance(v, int):
                        vals.append(v)
                    else:
                        while v:
                            n, v = take(v)
                            vals.append(n)
                out[e[1].decode()] = (kind, vals)
    return out


def rows():
    for i in range(300):
        row = {"id": (3, [i - 100]), "image": (1, [bytes([i % 256]) * (i * 7)]), "score": (2, [i / 4])}
        row["vec"] = (2, [float(k) for k in range(i % 5)])
        row["words"] = (1, [b"w%d" % k for k in range(i % 3)])
        if i % 4 == 0:
            row["maybe"] = (3, [-(2**63), 2**63 - 1])
        yield row


def write(folder):
    for packed in (True, False):
        with open(f"{folder}/packed_{packed}.tfrecord", "wb") as f:
            for row in rows():
                entries = b"".join(field(1, field(1, k.encode()) + field(2, feature(kind, vals, packed))) for k, (kind, vals) in row.items())
                rec = field(1, entries)
                head = struct.pack("<Q", len(rec))
                f.write(head + struct.pack("<I", masked(head)) + rec + struct.pack("<I", masked(rec)))


def load(path):
    data, out = open(path, "rb").read(), []
    while data:
        (n,) = struct.unpack("<Q", data[:8])
        if struct.unpack("<I", data[8:12])[0] != masked(data[:8]) or struct.unpack("<I", data[12 + n : 16 + n])[0] != masked(data[12 : 12 + n]):
            raise SystemExit(f"{path}: wrong checksum")
        out.append(parse(data[12 : 12 + n]))
        data = data[16 + n :]
    return out


def check(folder):
    for name in sorted(os.listdir(folder + "/out")):
        want, got = load(f"{folder}/{name}"), load(f"{folder}/out/{name}")
        if want != got:
            raise SystemExit(f"{name}: {len(got)} examples, want {len(want)}, or they differ: {[(w, g) for w, g in zip(want, got) if w != g][:1]}")
        try:
            from tfrecord.reader import tfrecord_loader
        except ImportError:
            continue
        theirs = list(tfrecord_loader(f"{folder}/out/{name}", None, {"id": "int", "score": "float", "image": "byte"}))
        for w, g in zip(want, theirs, strict=True):
            if list(g["id"]) != [w["id"][1][0] if w["id"][1][0] < 2**63 else w["id"][1][0] - 2**64] or list(g["score"]) != w["score"][1] or bytes(g["image"]) != w["image"][1][0]:
                raise SystemExit(f"{name}: the tfrecord package reads {g}, want {w}")


{"write": write, "check": check}[sys.argv[1]](sys.argv[2])

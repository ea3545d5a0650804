"""The Python side of TestPython: "write DIR" writes shards with tarfile, "check DIR" compares DIR/out/* with them, read by the webdataset
package where it is installed."""
import io
import os
import sys
import tarfile

LONG = "deep/" * 30 + "name-" + "é" * 60


def write(folder):
    for name, mode, fmt in (("gnu.tar", "w", tarfile.GNU_FORMAT), ("pax.tar.gz", "w:gz", tarfile.PAX_FORMAT), ("ustar.tar", "w", tarfile.USTAR_FORMAT)):
        with tarfile.open(f"{folder}/{name}", mode, format=fmt) as t:
            for i in range(200):
                key = f"s/{i:04d}" if i % 10 or fmt == tarfile.USTAR_FORMAT else f"{LONG}{i}"
                for ext, data in (("jpg", os.urandom(i * 13)), ("txt", b"" if i % 4 else b"text")):
                    if ext == "txt" and i % 3 == 0:
                        continue
                    info = tarfile.TarInfo(f"{key}.{ext}")
                    info.size = len(data)
                    t.addfile(info, io.BytesIO(data))


def load(path):
    out = []
    with tarfile.open(path) as t:
        for m in t:
            out.append((m.name, t.extractfile(m).read()))
    return out


def check(folder):
    try:
        import webdataset
    except ImportError:
        webdataset = None
    for name in sorted(os.listdir(folder + "/out")):
        want, got = load(f"{folder}/{name}"), load(f"{folder}/out/{name}")
        if want != got:
            raise SystemExit(f"{name}: {len(got)} members, want {len(want)}, or they differ")
        if webdataset:
            samples = list(webdataset.WebDataset(f"{folder}/out/{name}", shardshuffle=False))
            flat = [(s["__key__"] + "." + k, v) for s in samples for k, v in s.items() if not k.startswith("__")]
            if flat != want:
                raise SystemExit(f"{name}: webdataset reads {len(flat)} members, want {len(want)}, or they differ")


{"write": write, "check": check}[sys.argv[1]](sys.argv[2])

"""Runs Sluice and its peers alternately, as whole processes, on the same files, and prints medians and ratios.

usage: compare.py SLUICE DATA OUT [--runs 5] [--only b1s,b3] [--engines duckdb,polars]

Each run is a process tree: wall time from start to exit, CPU time, and the peak of the tree's proportional memory (PSS). Peers are started by
peers.py in this folder, written as their documentation recommends; what they print of themselves (time without start-up, rows) is kept beside. Rows
are counted in the output by DuckDB for Sluice and by pyarrow for the peers, and must agree.
"""
import argparse, glob, json, os, shutil, statistics, subprocess, sys, threading, time
import psutil

HERE = os.path.dirname(os.path.abspath(__file__))
WORKLOADS = {
    "b1s": ["daft", "ray", "pil"], "b1l": ["daft", "ray", "pil"],
    "b3": ["duckdb", "polars", "daft", "ray"], "b4csv": ["duckdb", "polars", "daft", "ray"], "b4json": ["polars", "daft", "ray"], "b5sort": ["duckdb", "polars", "daft", "ray"],
}


def sluice(workload, exe, data, out):
    photos = f"{data}/photos_{workload[-1]}/*.jpg"
    pipeline = {
        "b1s": f"{photos} | decode | resize 224x224 | encode jpeg 75 | {out}/o.parquet",
        "b1l": f"{photos} | decode | resize 224x224 | encode jpeg 75 | {out}/o.parquet",
        "b3": f"{data}/parquet/*.parquet | where score > 0.9 | select id, cat, score, text | {out}/o.parquet",
        "b4csv": f"{data}/data.csv | where score > 0.9 | {out}/o.parquet",
        "b4json": f"{data}/data.jsonl | where score > 0.9 | {out}/o.parquet",
        "b5sort": f"{data}/parquet/*.parquet | select id, key, score | sort key, id | {out}/o.parquet",
    }[workload]
    return [exe, "--quiet", pipeline]


def measure(cmd):
    t0, before = time.time(), os.times()
    p = subprocess.Popen(cmd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    peak, stop = 0, threading.Event()

    def watch():
        nonlocal peak
        while not stop.wait(0.05):
            try:
                root = psutil.Process(p.pid)
                peak = max(peak, sum(q.memory_full_info().pss for q in [root, *root.children(recursive=True)]))
            except psutil.Error:
                pass

    th = threading.Thread(target=watch)
    th.start()
    text, _ = p.communicate()
    wall = time.time() - t0
    stop.set()
    th.join()
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    inner = None
    for line in text.splitlines():
        if line.startswith("RESULT"):
            inner = json.loads(line.split(" ", 1)[1])
    if p.returncode != 0:
        return {"failed": text.strip()[-300:]}
    return {"wall": wall, "cpu": cpu, "peak": peak, "inner": inner["run_s"] if inner else wall}


def rows(out):
    import pyarrow.dataset as ds
    return ds.dataset(glob.glob(out + "/**/*.parquet", recursive=True)).count_rows()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("sluice"), ap.add_argument("data"), ap.add_argument("out")
    ap.add_argument("--runs", type=int, default=5)
    ap.add_argument("--only", default="")
    ap.add_argument("--engines", default="")
    a = ap.parse_args()
    for w, peers in WORKLOADS.items():
        if a.only and w not in a.only.split(","):
            continue
        engines = ["sluice"] + [e for e in peers if not a.engines or e in a.engines.split(",")]
        got, count = {e: [] for e in engines}, {}
        for i in range(a.runs + 1):  # the first round warms caches and does not count
            for e in engines:
                out = f"{a.out}/{w}-{e}"
                shutil.rmtree(out, ignore_errors=True)
                os.makedirs(out)
                cmd = sluice(w, a.sluice, a.data, out) if e == "sluice" else [sys.executable, f"{HERE}/peers.py", w, e, a.data, out]
                m = measure(cmd)
                if i > 0:
                    got[e].append(m)
                if "failed" not in m:
                    count[e] = rows(out)
                shutil.rmtree(out, ignore_errors=True)
        for e in engines:
            ok = [m for m in got[e] if "failed" not in m]
            if not ok:
                print(f"{w:7} {e:7} failed: {got[e][0]['failed']}", flush=True)
                continue
            med = lambda k, ms=ok: statistics.median(m[k] for m in ms)
            ratio = [b["wall"] / s["wall"] for b, s in zip(got[e], got["sluice"]) if "failed" not in b and "failed" not in s]
            inner = [b["inner"] / s["wall"] for b, s in zip(got[e], got["sluice"]) if "failed" not in b and "failed" not in s]
            print(f"{w:7} {e:7} rows {count[e]:>9,}  wall {med('wall'):7.2f} s  without start-up {med('inner'):7.2f} s  cpu {med('cpu'):7.2f} s  "
                  f"peak {med('peak') / 1e6:7.0f} MB  x sluice {statistics.median(ratio):6.2f} (without start-up {statistics.median(inner):.2f})", flush=True)


main()

"""B16: the same job over 1, 10 and 100 times the data, at --memory 64MiB. Time must grow with the data and peak memory must not.

usage: growth.py SLUICE DATA WORK [photos|parquet] [1,10,100]

The inputs are repeated by hard links in WORK. Prints seconds, seconds per unit of data, and the peak resident memory of the process.
"""
import os, shutil, subprocess, sys, time

from jobs import JOBS, repeat

exe, data, work, what = sys.argv[1:5]
times = [int(n) for n in (sys.argv[5] if len(sys.argv) > 5 else "1,10,100").split(",")]
files, pipeline = JOBS[{"photos": "B1", "parquet": "B3"}[what]]
for n in times:
    d, o = f"{work}/{what}-{n}", f"{work}/out/"
    shutil.rmtree(o, ignore_errors=True)
    repeat(f"{data}/{files}", n, d)
    t = time.time()
    p = subprocess.Popen([exe, "--quiet", "--memory", "64MiB", pipeline.format(d=d, o=o)])
    _, status, use = os.wait4(p.pid, 0)
    wall = time.time() - t
    if status != 0:
        sys.exit(f"failed with status {status}")
    print(f"{what:8} x{n:<4} {wall:8.1f} s  {use.ru_utime + use.ru_stime:8.1f} s cpu  {(use.ru_utime + use.ru_stime) / n:7.3f} s cpu per unit  peak {use.ru_maxrss / 1024:6.0f} MB", flush=True)
    shutil.rmtree(d)

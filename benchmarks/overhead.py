"""What keeping a run resumable costs: B1 and B3 with the state of the run (log, manifest, lock) and without it, in turns.

usage: overhead.py DATA WORK [pairs]

Builds the command with the tag sluicebench, in which SLUICE_NULL_STATE=1 keeps the state in memory and makes nothing of it durable. Inputs
are repeated by hard links in WORK so that a run takes 10 s of CPU and more. Prints CPU seconds of each pair, their ratios, the median, and
what lies in the state folder.
"""
import glob, os, shutil, statistics, subprocess, sys

from jobs import JOBS, repeat

data, work = sys.argv[1:3]
pairs = int(sys.argv[3]) if len(sys.argv) > 3 else 5
root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
exe = f"{work}/sluice-bench"
os.makedirs(work, exist_ok=True)
subprocess.run(["go", "build", "-tags", "sluicebench", "-o", exe, "./cmd/sluice"], cwd=root, check=True)


def cpu(pipeline, null):
    env = dict(os.environ, XDG_STATE_HOME=work)
    if null:
        env["SLUICE_NULL_STATE"] = "1"
    p = subprocess.Popen([exe, "--quiet", "--commit-every", "1s", pipeline], env=env)
    _, status, use = os.wait4(p.pid, 0)
    if status != 0:
        sys.exit(f"failed with status {status}")
    return use.ru_utime + use.ru_stime


for name, times in (("B1", 4), ("B3", 12)):
    files, pipeline = JOBS[name]
    d, o = f"{work}/{name}", f"{work}/out-{name}/"
    repeat(f"{data}/{files}", times, d)
    ratios = []
    for n in range(pairs):
        used = {}
        for null in (False, True) if n % 2 else (True, False):
            shutil.rmtree(o, ignore_errors=True)
            used[null] = cpu(pipeline.format(d=d, o=o), null)
            if not null:
                log = [os.path.getsize(p) for p in glob.glob(f"{o}_sluice/*/log/*")]
        ratios.append(used[False] / used[True])
        print(f"{name} pair {n + 1}: {used[False]:6.2f} s cpu with state, {used[True]:6.2f} s without, ratio {ratios[-1]:.3f}", flush=True)
    files = sum(len(f) for _, _, f in os.walk(d))
    print(f"{name}: median ratio {statistics.median(ratios):.3f}; {files} files, log {sum(log)} bytes in {len(log)} segments, "
          f"{sum(log) / files:.1f} bytes a file", flush=True)
    shutil.rmtree(d)
    shutil.rmtree(o, ignore_errors=True)

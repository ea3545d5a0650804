"""What looking at a run costs: the share of CPU samples in the live picture, in the metrics and in the accounting behind them.

usage: watching.py DATA WORK [-v]

Builds the command with the tag sluicebench, which writes a profile for SLUICE_CPUPROFILE, and runs B1 and B3 for 10 s and more on a terminal
of 120 columns (a pseudo-terminal that somebody reads), scraped once a second. A sample counts if any of its frames is one of LOOKING: the
functions that read clocks, count, take snapshots, draw, and serve.
"""
import fcntl, os, pty, re, shutil, struct, subprocess, sys, termios, threading, time, urllib.request

from jobs import JOBS, repeat

LOOKING = "|".join([
    r"executor\.\(\*run\)\.(clock|observe|state)", r"executor\.\(\*watch\)", r"executor\.\(\*histogram\)", r"executor\.\(\*worker\)\.(mark|took|note|slow|label|relabel)",
    r"executor\.\(\*stageCount\)", r"executor\.\(\*stage\)\.(flow|report|labelsOf)", r"executor\.\(\*share\)", r"executor\.\(\*rates\)", r"executor\.bottleneck",
    r"sched\.\(\*Machine\)\.Snapshot", r"internal/cli\.", r"executor/metrics\.", r"prometheus/", r"mpb/", r"net/http\.",
])
data, work = sys.argv[1:3]
verbose = "-v" in sys.argv
root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
exe = f"{work}/sluice-bench"
os.makedirs(work, exist_ok=True)
subprocess.run(["go", "build", "-tags", "sluicebench", "-o", exe, "./cmd/sluice"], cwd=root, check=True)


def watched(pipeline, profile):
    """Runs the pipeline on a terminal, scraping it, and returns the bytes drawn and the scrapes answered."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    env = dict(os.environ, XDG_STATE_HOME=work, SLUICE_CPUPROFILE=profile, TERM="xterm-256color")
    p = subprocess.Popen([exe, "--metrics", "127.0.0.1:19471", pipeline], env=env, stdin=follower, stdout=follower, stderr=follower)
    os.close(follower)
    drawn, scrapes = [0], 0

    def read():
        try:
            while b := os.read(leader, 65536):
                drawn[0] += len(b)
        except OSError:
            pass

    reader = threading.Thread(target=read)
    reader.start()
    while p.poll() is None:
        try:
            scrapes += len(urllib.request.urlopen("http://127.0.0.1:19471/metrics", timeout=5).read()) > 0
        except OSError:
            pass
        time.sleep(1)
    reader.join()
    os.close(leader)
    if p.returncode:
        sys.exit(f"failed with status {p.returncode}")
    return drawn[0], scrapes


def top(profile, *flags):
    return subprocess.run(["go", "tool", "pprof", "-top", "-cum", "-nodefraction=0", *flags, exe, profile], cwd=root, check=True, capture_output=True, text=True).stdout


for name, times in (("B1", 10), ("B3", 30)):
    files, pipeline = JOBS[name]
    d, o, profile = f"{work}/{name}", f"{work}/out-{name}/", f"{work}/{name}.prof"
    repeat(f"{data}/{files}", times, d)
    shutil.rmtree(o, ignore_errors=True)
    drawn, scrapes = watched(pipeline.format(d=d, o=o), profile)
    looked = top(profile, f"-focus={LOOKING}")
    print(name, re.search(r"Duration.*", looked)[0], re.search(r"Showing nodes accounting for .*", looked)[0], f"{drawn} bytes drawn, {scrapes} scrapes", sep="; ", flush=True)
    if verbose:
        print("\n".join(looked.splitlines()[6:30]), flush=True)
    shutil.rmtree(d)
    shutil.rmtree(o, ignore_errors=True)

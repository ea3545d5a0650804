"""Runs fuzz targets of the module, one after the other, and says how many CPU seconds and executions each got.

    python3 hack/fuzz.py [--time 60] [--cpu MINUTES] [--parallel N] [--only REGEX] [--page FILE]

--time     wall seconds of one turn of a target
--cpu      take turns until every target has had so many CPU minutes, those of the table included
--only     of "folder target" names
--page     the Markdown page between whose marks the table of all runs is kept: CPU seconds and executions of every target

A target whose turn fails gets no more turns; go leaves its input under testdata/fuzz. Exit status 1 says that one failed.
The corpus that a target has gathered is kept in .cache/fuzz, so that later turns and runs go on from it.
"""

import argparse
import collections
import os
import pathlib
import re
import resource
import subprocess
import sys

GO = os.environ.get("GO", "go")
CORPUS = pathlib.Path(".cache/fuzz").absolute()


def targets(only):
    """The (folder, target) pairs of the module."""
    found = set()
    for path in pathlib.Path(".").rglob("*_test.go"):
        if any(part.startswith(".") for part in path.parts):
            continue
        for name in re.findall(r"^func (Fuzz\w+)\(", path.read_text(), re.M):
            if re.search(only, f"{path.parent} {name}"):
                found.add((str(path.parent), name))
    return sorted(found)


def build(folder):
    """The instrumented test program of a folder, or None if it does not compile."""
    binary = CORPUS / "bin" / (folder.replace("/", "_") + ".test")
    binary.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run([GO, "test", "-c", "-fuzz", ".", "-o", str(binary), "./" + folder])
    return binary if done.returncode == 0 else None


def turn(binary, folder, name, seconds, parallel):
    """Runs a target; returns CPU seconds, executions and the result."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [binary, "-test.run", "^$", "-test.fuzz", f"^{name}$", "-test.fuzztime", f"{seconds}s", "-test.fuzzminimizetime", "10x",
         "-test.parallel", str(parallel), "-test.fuzzcachedir", CORPUS / "corpus" / folder],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**os.environ, "GOMAXPROCS": str(parallel)})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    executions = max([int(n) for n in re.findall(r"execs: (\d+)", done.stdout)] or [0])
    if done.returncode != 0:
        print(done.stdout[-4000:], file=sys.stderr)
    return cpu, executions, "passed" if done.returncode == 0 else "FAILED"


class Table:
    """What every target had in all runs, between two marks of a Markdown page; a row each, with CPU seconds and executions."""

    MARK = "<!-- fuzzing -->\n"
    HEAD = "| target | CPU seconds | executions |\n|---|---|---|\n"

    def __init__(self, path):
        self.path = pathlib.Path(path)

    def read(self):
        """The counts of the page."""
        rows = re.findall(r"^\| `(\S+) (\w+)` \| ([\d,]+) \| ([\d,]+) \|$", self.path.read_text(), re.M)
        return {(folder, name): (int(cpu.replace(",", "")), int(n.replace(",", ""))) for folder, name, cpu, n in rows}

    def add(self, target, cpu, executions):
        """Adds a turn to the page."""
        counts = self.read()
        had = counts.get(target, (0, 0))
        counts[target] = (had[0] + round(cpu), had[1] + executions)
        rows = "".join(f"| `{f} {t}` | {c:,} | {n:,} |\n" for (f, t), (c, n) in sorted(counts.items()))
        before, _, after = self.path.read_text().split(self.MARK)
        self.path.write_text(before + self.MARK + self.HEAD + rows + self.MARK + after)


def main():
    ask = argparse.ArgumentParser()
    ask.add_argument("--time", type=int, default=60)
    ask.add_argument("--cpu", type=float, default=0)
    ask.add_argument("--parallel", type=int, default=1)
    ask.add_argument("--only", default="")
    ask.add_argument("--page", default="docs/reliability.md")
    given = ask.parse_args()

    table = Table(given.page)
    used = collections.Counter({target: cpu for target, (cpu, _) in table.read().items()})
    open_targets = targets(given.only)
    binaries = {folder: build(folder) for folder in sorted({folder for folder, _ in open_targets})}
    failed = {target for target in open_targets if binaries[target[0]] is None}
    open_targets = [target for target in open_targets if target not in failed]
    while open_targets:
        later = []
        for folder, name in open_targets:
            if given.cpu and used[folder, name] >= 60 * given.cpu:
                continue
            cpu, executions, result = turn(binaries[folder], folder, name, given.time, given.parallel)
            used[folder, name] += cpu
            table.add((folder, name), cpu, executions)
            print(f"{folder}\t{name}\t{cpu:.0f}\t{executions}\t{result}", flush=True)
            if result != "passed":
                failed.add((folder, name))
            elif given.cpu:
                later.append((folder, name))
        open_targets = later
    for folder, name in sorted(failed):
        print(f"failed: {folder} {name}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

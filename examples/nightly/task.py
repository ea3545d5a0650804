#!/usr/bin/env python3
"""The job as a task of an orchestrator: run_sluice() is what an Airflow or Dagster task calls. It needs nothing but Python.

    python3 task.py IN OUT

starts `sluice --events json`, reads what happens from its standard error, and returns totals, or raises. Signals that end this process
are passed on: the first makes sluice commit what it has and stop, and the next attempt goes on from there.
"""

import json
import os
import signal
import subprocess
import sys

# Exit codes of sluice that another attempt cannot mend: a mistake in the command, the plan or the target.
USAGE = 2
# Exit codes of a job that is done: all rows, or all but those that were set aside.
DONE = {0: "ok", 3: "dead-letters"}


class SluiceFailed(Exception):
    """The job is not done. retry says whether the same command may get further when it is run again."""

    def __init__(self, code, error):
        super().__init__(f"sluice ended with {code}: {error}")
        self.code = code
        self.retry = code != USAGE


def run_sluice(args, on_event=lambda event: None):
    """Runs sluice with arguments and returns {"status", "run", "rows_read", "rows_written", "rows_failed", "targets"}.

    on_event is called with each event: progress once a second (for a heartbeat or a log), committed, and so on. Raises SluiceFailed.
    """
    command = [os.environ.get("SLUICE", "sluice"), "--events", "json", *args]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, encoding="utf-8")
    finished, targets, text = None, {}, []
    old = signal.signal(signal.SIGTERM, lambda *_: process.send_signal(signal.SIGINT))
    try:
        for line in process.stderr:
            try:
                event = json.loads(line)
            except ValueError:  # a mistake in flags is told as text, before the stream begins
                text.append(line)
                continue
            on_event(event)
            if event["type"] == "committed":
                committed = event["committed"]
                targets[committed["target"]] = {k: committed[k] for k in ("rows", "bytes", "parts", "already")}
            elif event["type"] == "finished":
                finished = event["finished"]
    finally:
        signal.signal(signal.SIGTERM, old)
        code = process.wait()
    if finished is None:  # the stream was cut off: sluice was killed
        raise SluiceFailed(code, "".join(text).strip() or "it was killed")
    if code not in DONE:
        raise SluiceFailed(code, finished.get("error", ""))
    totals = {k: finished.get(k, "") for k in ("run", "rows_read", "rows_written", "rows_failed")}
    return {"status": DONE[code], **totals, "targets": targets}


def nightly(source, target):
    """One night: what is new in a folder of JSON lines is added to the result."""
    job = os.path.join(os.path.dirname(os.path.abspath(__file__)), "job.yaml")
    flags = ["--incremental", "--changed", "skip", "--on-error", "dead-letter", "--max-error-rate", "1%"]
    return run_sluice([*flags, "run", job, "--set", f"in={source}", "--set", f"out={target}"])


if __name__ == "__main__":
    try:
        print(json.dumps(nightly(sys.argv[1], sys.argv[2])))
    except SluiceFailed as failure:
        print(json.dumps({"status": "failed", "code": failure.code, "retry": failure.retry, "error": str(failure)}))
        sys.exit(1)

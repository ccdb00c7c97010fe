"""Runs the tests of cuda.test for bench/gpucheck.py, so that a part that hangs or fails costs itself alone.

A test's parts (a subtest for each operation) run in one process until one of them fails, hangs, or ends
the process, which may leave the GPU unusable to that process. Then another goes on with the parts that
are left. What failed runs again at the end, under compute-sanitizer and with CUDA_LAUNCH_BLOCKING=1.
"""
import os
import queue
import re
import shutil
import signal
import subprocess
import threading
import time

GIVE_UP = 8  # failures of one test after which its other parts are left out


class Outcome:
    """What became of a test or of one of its parts."""

    def __init__(self, name, verdict, seconds, why=""):
        self.name, self.verdict, self.seconds, self.why = name, verdict, seconds, why


def quoted(name):
    return re.sub(r"([^\w])", r"\\\1", name)


def lines_of(process):
    """A queue of the lines that a process prints, None at their end."""
    out = queue.Queue()

    def read():
        for line in process.stdout:
            out.put(line.rstrip("\n"))
        out.put(None)
    threading.Thread(target=read, daemon=True).start()
    return out


def stop(process):
    """Ends a process that hangs; its stacks go to its output first."""
    for how, wait in ((signal.SIGQUIT, 5), (signal.SIGKILL, 5)):
        try:
            os.killpg(process.pid, how)
            process.wait(wait)
            return
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            pass  # one that waits in the driver may outlive even this


class Test:
    """One test of the program, in as many processes as it takes."""

    def __init__(self, check, name, limit):
        self.check, self.name, self.limit = check, name, limit
        self.outcomes, self.done = [], []

    def run(self):
        """Returns an outcome for each part that ran, or one for a test without parts."""
        failures = 0
        while True:
            again = self.process()
            failures = sum(o.verdict == "FAILED" for o in self.outcomes)
            if not again:
                break
            if failures >= GIVE_UP:
                self.outcomes.append(Outcome(self.name, "skipped", 0, "its other parts are left out after %d failures" % failures))
                break
        return self.outcomes

    def process(self):
        """Runs what is not done yet; returns whether something may be left."""
        command = ["./cuda.test", "-test.run", "^%s$" % self.name, "-test.v", "-test.timeout", "0"]
        if self.done:
            command += ["-test.skip", "^%s$/^(%s)$" % (self.name, "|".join(map(quoted, self.done)))]
        self.check.log.write("\n$ %s\n" % " ".join(command))
        try:
            p = subprocess.Popen(command, cwd=self.check.here, env=self.check.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 text=True, errors="replace", start_new_session=True)
        except OSError as e:
            self.outcomes.append(Outcome(self.name, "FAILED", 0, str(e)))
            return False
        lines, part, printed, began, verdict = lines_of(p), None, [], time.monotonic(), None
        start = began
        while True:
            left = self.check.end - time.monotonic()
            try:
                line = lines.get(timeout=max(0.01, min(self.limit - (time.monotonic() - began), left)))
            except queue.Empty:
                stop(p)
                self.drain(lines)
                what = part or self.name
                if left <= self.limit - (time.monotonic() - began):
                    self.add(what, "skipped", began, "out of time")
                    return False
                self.add(what, "FAILED", began, "not done after %.0f s" % self.limit)
                return part is not None
            if line is None:
                break
            self.check.log.write(line + "\n")
            printed.append(line)
            run = re.match(r"=== RUN   %s/([^/]+)$" % self.name, line)
            end = re.match(r"\s+--- (PASS|FAIL|SKIP): %s/([^/ ]+) " % self.name, line)
            whole = re.match(r"--- (PASS|FAIL|SKIP): %s " % self.name, line)
            if run:
                part, printed, began = run.group(1), [], time.monotonic()
            elif end and end.group(2) == part:
                word = {"PASS": "passed", "FAIL": "FAILED", "SKIP": "skipped"}[end.group(1)]
                self.add(part, word, began, self.check.reason("\n".join(printed[:-1])) if word != "passed" else "")
                part = None
                if word == "FAILED":  # the GPU may be of no more use to this process
                    stop(p)
                    self.drain(lines)
                    return True
                began = time.monotonic()
            elif whole:
                verdict = whole.group(1)
        p.wait()
        self.check.log.flush()
        skip = re.search(r"no GPU to test on: (.*?)\s*(?=\n\s*---|\Z)", "\n".join(printed), re.S)
        if skip:
            why = "; ".join(skip.group(1).split("\n"))
            self.add(self.name, "skipped" if self.check.absent(why) else "FAILED", start, "skipped: " + why)
        elif part:
            self.add(part, "FAILED", began, self.check.reason("\n".join(printed)))
            return True
        elif p.returncode or verdict == "FAIL":
            if not any(o.verdict == "FAILED" for o in self.outcomes):
                self.add(self.name, "FAILED", start, self.check.reason("\n".join(printed)))
        elif not self.done:
            self.add(self.name, "passed", start, "")
        return False

    def add(self, part, verdict, began, why):
        if part != self.name:
            self.done.append(part)
        name = self.name if part == self.name else self.name + "/" + part
        self.outcomes.append(Outcome(name, verdict, time.monotonic() - began, why))
        if verdict == "FAILED":
            self.check.progress("FAILED: %s: %s" % (name, why))

    def drain(self, lines):
        """Logs what a stopped process printed last."""
        end = time.monotonic() + 2
        while time.monotonic() < end:
            try:
                line = lines.get(timeout=0.5)
            except queue.Empty:
                return
            if line is None:
                return
            self.check.log.write(line + "\n")


def pattern(name):
    """-test.run of a test or of one of its parts."""
    return "/".join("^%s$" % quoted(p) for p in name.split("/", 1))


def sanitizer():
    found = shutil.which("compute-sanitizer")
    for path in ([found] if found else []) + ["/usr/local/cuda/bin/compute-sanitizer"]:
        if os.access(path, os.X_OK):
            return path
    return None


def second_look(check, failed, most=5, limit=90):
    """Runs failures again; returns pairs of what was run and what came out."""
    tool, out = sanitizer(), []
    for name in failed[:most]:
        command = ["./cuda.test", "-test.run", pattern(name), "-test.v", "-test.timeout", "0"]
        out.append((name + ", CUDA_LAUNCH_BLOCKING=1", check.outcome(command, limit, {"CUDA_LAUNCH_BLOCKING": "1"})))
        if tool:
            out.append((name + ", memcheck", check.outcome([tool, "--tool", "memcheck", "--error-exitcode", "9"] + command, limit)))
    if not tool:
        if failed:
            out.append(("compute-sanitizer", "it is not installed"))
        return out
    # The fake device runs threads one after the other: races and memory that is
    # read before it is written show here only.
    for kind in ("racecheck", "initcheck"):
        out.append(("a recorded step, " + kind, check.outcome(
            [tool, "--tool", kind, "--error-exitcode", "9", "./cuda.test", "-test.run", "^TestOnAGPUARecordedStep", "-test.timeout", "0"], limit)))
    return out

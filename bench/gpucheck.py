#!/usr/bin/env python3
"""Tests and times Vernier on this machine's GPU, beside PyTorch, and prints one table.

For a Linux machine with an NVIDIA driver, CUDA's libraries and cuDNN (those inside PyTorch's Python packages
do), PyTorch if there is one, no Go and no network. `make gpu-check` makes the folder that this lies in:

    python3 gpucheck.py [--minutes 7] [--only tests|bench] [--log gpu-check.log]

A part that fails does not keep the others from running; what each failure was is below the table, and every
output is in the log. What the time does not suffice for is left out and named there. The exit status is 0 if all
that ran passed, 1 if something failed, and 3 if nothing was tested, as where there is no GPU.
"""
import argparse
import glob
import gzip
import json
import os
import re
import subprocess
import sys
import sysconfig
import time

HERE = os.path.dirname(os.path.abspath(__file__))
NETWORKS = ("bninception", "resnet50", "vit-s")
SOP = 60502
CLASSES = 11318  # of SOP's training images


class Check:
    def __init__(self, minutes, log):
        self.end = time.monotonic() + 60 * minutes
        self.log = open(log, "w")
        self.tests, self.rows, self.notes, self.failed = [], [], {}, 0
        self.start, self.done = time.monotonic(), {}
        self.no_gpu = self.no_torch = None  # why there is none
        self.card = False  # nvidia-smi lists a GPU: one that is not used then is a failure
        self.plain = {}  # convolutions without cuDNN by benchmark
        self.env = dict(os.environ)
        # Kernels are compiled by the first process that needs them, for all that follow.
        self.env.setdefault("CUDA_CACHE_PATH", os.path.join(HERE, "kernel-cache"))
        self.env.setdefault("CUDA_CACHE_MAXSIZE", str(1 << 30))
        found = [d for d in library_folders() if d not in self.env.get("VERNIER_CUDA_PATH", "").split(":")]
        if found:
            self.env["VERNIER_CUDA_PATH"] = ":".join(filter(None, [self.env.get("VERNIER_CUDA_PATH")] + found))

    def run(self, command, limit):
        """Runs a command in this folder; returns its output, or raises Failure."""
        left = self.end - time.monotonic()
        if left < 10:
            raise Failure("out of time", skipped=True)
        self.log.write("\n$ %s\n" % " ".join(command))
        start = time.monotonic()
        try:
            p = subprocess.run(command, cwd=HERE, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=min(limit, left))
            out, err, code = p.stdout, p.stderr, p.returncode
        except subprocess.TimeoutExpired as e:
            out, err, code = text(e.stdout), text(e.stderr), None
        except OSError as e:
            raise Failure(str(e))
        self.log.write(out + err + "(%s after %.1f s)\n" % ("time ran out" if code is None else "exit %d" % code, time.monotonic() - start))
        self.log.flush()
        if code is None and left < limit:
            raise Failure("out of time", skipped=True)
        if code is None:
            raise Failure("not done after %.0f s" % limit)
        if code != 0:
            raise Failure(reason(out + "\n" + err))
        return out

    def note(self, what, failure):
        self.notes.setdefault(str(failure), []).append(what)
        if not failure.skipped:
            self.failed += 1

    def say(self, line):
        print(line, flush=True)
        self.log.write(line + "\n")

    def progress(self, what):
        print("[%3.0f s] %s" % (time.monotonic() - self.start, what), file=sys.stderr, flush=True)


class Failure(Exception):
    def __init__(self, why, skipped=False):
        super().__init__(why)
        self.skipped = skipped


def text(b):
    return b.decode(errors="replace") if isinstance(b, bytes) else b or ""


def reason(output):
    """The line of an output that says most about a failure."""
    lines = [l.strip() for l in output.splitlines() if l.strip()]
    for i, l in enumerate(lines):
        if "the GPU cannot be opened" in l:  # joined errors, a line each
            end = next((j for j in range(i, len(lines)) if lines[j].startswith(("---", "FAIL"))), len(lines))
            return "; ".join(lines[i:end])[:1500]
    for mark in ("panic:", "fatal error:", "SIGSEGV", "Error:", "error:", "level=error", "no GPU", "finds no GPU"):
        for l in lines:
            if mark in l:
                return l[:300]
    return lines[-1][:300] if lines else "no output"


def library_folders():
    """Folders inside this Python's packages with libraries that the program looks for."""
    sites = [sysconfig.get_paths()[k] for k in ("purelib", "platlib")] + [p for p in sys.path if p.endswith("-packages")]
    found = []
    for site in dict.fromkeys(sites):
        found += sorted(glob.glob(os.path.join(site, "nvidia", "*", "lib")), reverse=True)
        found += glob.glob(os.path.join(site, "torch", "lib"))
    wanted = ("libcublas", "libcudnn", "libnvrtc")
    return [d for d in found if any(glob.glob(os.path.join(d, name + "*.so.*")) for name in wanted)]


def unpack():
    """The programs lie compressed."""
    for packed in glob.glob(os.path.join(HERE, "*.gz")):
        path = packed[:-3]
        if not os.path.exists(path):
            with gzip.open(packed, "rb") as source, open(path + ".part", "wb") as target:
                target.write(source.read())
            os.chmod(path + ".part", 0o755)
            os.rename(path + ".part", path)


def last_json(output):
    for line in reversed(output.splitlines()):
        if line.startswith("{"):
            return json.loads(line)
    raise Failure("printed no result")


def machine(check):
    """What there is: the card, what the program finds, PyTorch."""
    def ask(what, command):
        try:
            out = check.run(command, 60).strip()
        except Failure as f:
            check.say("%-8s %s" % (what, f))
            return None, f
        for line in out.splitlines():
            check.say("%-8s %s" % (what, line))
        return out, None

    out, _ = ask("card", ["nvidia-smi", "--query-gpu=name,driver_version,memory.total,clocks.max.sm,power.limit", "--format=csv,noheader"])
    check.card = bool(out)
    _, wrong = ask("vernier", ["./vernier", "doctor"])
    if wrong:
        check.note("vernier doctor", wrong)
    try:  # what counts is whether the GPU computes
        check.run(["./vernier", "bench", "gemm/256", "--device", "cuda", "--seconds", "0.2", "--json"], 90)
    except Failure as f:
        check.no_gpu = str(f)
        if not f.skipped:
            check.note("a first product on the GPU", Failure(str(f), skipped=absent(check, str(f))))
    out, wrong = ask("torch", [sys.executable, "-c", "import torch; print(torch.__version__, 'CUDA', torch.version.cuda, 'cuDNN', torch.backends.cudnn.version(), 'GPU', torch.cuda.is_available())"])
    if out is None or out.endswith("False"):
        check.no_torch = str(wrong or "") or "torch finds no GPU"


def absent(check, why):
    """Whether the machine has no GPU, rather than one that cannot be used."""
    return not check.card and "no NVIDIA driver" in why


def tests(check):
    """Each test of its own, so that one that ends the process ends no other."""
    try:
        names = re.findall(r"^TestOnAGPU\w+", check.run(["./cuda.test", "-test.list", "TestOnAGPU"], 60), re.M)
    except Failure as f:
        check.note("tests", f)
        return
    for name in names:
        check.progress(name)
        start = time.monotonic()
        try:
            out = check.run(["./cuda.test", "-test.run", "^%s$" % name, "-test.v", "-test.timeout", "120s"], 125)
            skip = re.search(r"no GPU to test on: (.*?)\s*(?=\n\s*---|\Z)", out, re.S)
            if skip:
                why = "; ".join(skip.group(1).split("\n"))
                raise Failure("skipped: " + why, skipped=absent(check, why))
            verdict = "passed"
        except Failure as f:
            verdict = "skipped" if f.skipped else "FAILED"
            check.note(name, f)
        check.tests.append((name, verdict, "%.0f s" % (time.monotonic() - start)))


def ours(check, name, precision, batch=None):
    if check.no_gpu:
        raise Failure(check.no_gpu, skipped=True)
    command = ["./vernier", "bench", name, "--device", "cuda", "--precision", precision, "--seconds", "2", "--json"]
    r = last_json(check.run(command + (["--batch", str(batch)] if batch else []), 90))
    if "convolutions_without_cudnn" in r:
        label = "%s, %s" % (name, precision) + (", batch %d" % batch if batch else "")
        check.plain[label] = r["convolutions_without_cudnn"]
        if check.plain[label]:
            check.note(label, Failure("%d convolutions are computed without cuDNN, far slower: the log names them" % check.plain[label]))
    return r


def peer(check, args, limit=120):
    if check.no_torch:
        raise Failure(check.no_torch, skipped=True)
    return last_json(check.run([sys.executable, "torch_gpu.py"] + args, limit))


def attempt(check, what, f):
    check.progress(what)
    try:
        return f()
    except Failure as e:
        check.note(what, e)
    except (ValueError, KeyError) as e:
        check.note(what, Failure("cannot be read: %s" % e))
    return None


def network(check, name, precision, batch, compiled=False):
    """Images a second of ours and PyTorch's, training and inference."""
    label = "%s, batch %d, %s" % (name, batch, precision)
    args = ["--network", name, "--batch", str(batch), "--precision", precision] + (["--compile"] if compiled else [])
    how = "torch" + (" compiled" if compiled else "")
    other = attempt(check, "%s, %s" % (label, how), lambda: peer(check, args)) or {}
    for what in ("train", "infer"):
        key = (name, precision, batch, what)
        if key not in check.done:
            r = attempt(check, "%s, %s" % (label, what), lambda: ours(check, "%s-%s" % (name, what), precision, batch))
            check.done[key] = r and r.get("img_s")
        mine, theirs = check.done[key], other.get(what + "_img_s")
        row(check, "%s, %s" % (label, what), mine, theirs, "images/s", how)


def proxies(check):
    """A step as a run takes it: images come from the host, the loss has a row for each class of SOP."""
    other = attempt(check, "a step with proxies, torch", lambda: peer(check, ["--network", "bninception", "--batch", "128", "--precision", "bf16", "--only", "train", "--proxies", str(CLASSES)])) or {}
    for metric in ("cosine", "brm"):
        label = "images uploaded, %d proxies, %s" % (CLASSES, metric)
        r = attempt(check, label, lambda: ours(check, "bninception-proxies-train/" + metric, "bf16", 128))
        row(check, label, r and r.get("img_s"), other.get("train_img_s") if metric == "cosine" else None, "images/s", "torch")


def row(check, label, mine, theirs, unit, how, smaller=False):
    if not mine and not theirs:
        return  # the notes say why
    ratio = ""
    if mine and theirs:
        ratio = "%.2f" % (theirs / mine if smaller else mine / theirs)
    check.rows.append((label, number(mine, unit), number(theirs, unit) + (" (%s)" % how if theirs else ""), ratio))


def number(v, unit):
    if not v:
        return "-"
    return ("%.1f " % v if v >= 10 else "%.4g " % v) + unit


def benchmarks(check):
    for precision in ("bf16", "tf32"):
        network(check, "bninception", precision, 128)
    r = attempt(check, "BRM distances", lambda: ours(check, "brm-pairwise/sigmoid-p2", "tf32"))
    p = attempt(check, "BRM distances, torch", lambda: peer(check, ["--pairs"]))
    row(check, "BRM 256 x 256 x 512, forward and back", r and 1e6 * r["seconds"], p and 1e6 * p["seconds"], "us", "torch", smaller=True)
    r = attempt(check, "SOP search", lambda: ours(check, "sop-search/brm", "tf32"))
    p = attempt(check, "SOP search, torch", lambda: peer(check, ["--search", str(SOP)]))
    row(check, "all pairs of SOP (60502) by BRM", r and SOP / r["queries_s"], p and p["seconds"], "s", "torch", smaller=True)
    r = attempt(check, "SOP ranks", lambda: ours(check, "sop-search/brm-ranks", "tf32"))
    row(check, "ranks of all pairs of SOP by BRM", r and SOP / r["queries_s"], None, "s", "torch")
    proxies(check)
    for name in NETWORKS[1:]:
        for precision in ("bf16", "tf32"):
            network(check, name, precision, 128)
    network(check, "bninception", "bf16", 128, compiled=True)
    for batch in (32, 256, 64):
        for name in NETWORKS:
            network(check, name, "bf16", batch)
    for name in NETWORKS[1:]:
        network(check, name, "bf16", 128, compiled=True)
    for batch in (32, 256, 64):
        for name in NETWORKS:
            network(check, name, "tf32", batch)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=6.8)
    parser.add_argument("--only", choices=["tests", "bench"])
    parser.add_argument("--log", default=os.path.join(HERE, "gpu-check.log"))
    a = parser.parse_args()
    unpack()
    check = Check(a.minutes, a.log)
    machine(check)
    try:
        if a.only != "bench":
            tests(check)
        if a.only != "tests":
            benchmarks(check)
    except KeyboardInterrupt:
        check.note("the rest", Failure("interrupted", skipped=True))
    return report(check, a.log)


def report(check, log):
    """Prints the tables and returns the exit status."""
    if check.tests:
        check.say("\n%-60s %8s %6s" % ("test", "", "time"))
        for t in check.tests:
            check.say("%-60s %8s %6s" % t)
    if check.rows:
        check.say("\n%-50s %16s %30s %6s" % ("", "vernier", "torch", "ratio"))
        for r in check.rows:
            check.say("%-50s %16s %30s %6s" % r)
    if check.plain:
        check.say("\nconvolutions without cuDNN: %d, in %d benchmarks that count them" % (sum(check.plain.values()), len(check.plain)))
    if check.notes:
        check.say("\nwhat failed or was left out, and why:")
        for why, what in check.notes.items():
            check.say("  " + "; ".join(what) + "\n    " + why)
    check.say("\n%d failures; everything that was printed is in %s" % (check.failed, log))
    ours = [t for t in check.tests if t[1] != "skipped"] + [r for r in check.rows if r[1] != "-"]
    if not ours and not check.failed:
        check.say("nothing was tested: " + ("no GPU to test on: " + check.no_gpu if check.no_gpu else "see why above"))
        return 3
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())

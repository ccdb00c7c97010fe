#!/usr/bin/env python3
"""Tests and times Vernier on this machine's GPU, beside PyTorch, and prints one table.

For a Linux machine with an NVIDIA driver, CUDA's libraries and cuDNN (those inside PyTorch's Python packages
do), PyTorch if there is one, no Go and no network. `make gpu-check` makes the folder that this lies in:

    python3 gpucheck.py --only tests [--minutes 9]
    python3 gpucheck.py --only bench [--minutes 9]

A part that fails or hangs does not keep the others from running. What failed runs again under
compute-sanitizer, where it is installed, and with CUDA_LAUNCH_BLOCKING=1. What the time does not suffice for
is left out and named. Every figure and every failure of both calls is in gpu-summary.txt and
gpu-summary.json, every output in gpu-check-tests.log and gpu-check-bench.log. The exit status is 0 if all
that ran passed, 1 if something failed, and 3 if nothing was tested, as where there is no GPU.
"""
import argparse
import glob
import gzip
import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time

import gputests
import photographs

HERE = os.path.dirname(os.path.abspath(__file__))
NETWORKS = ("bninception", "resnet50", "vit-s")
PART_LIMIT = float(os.environ.get("VERNIER_GPU_PART_SECONDS", 90))  # of a part of a test
SOP = 60502
CLASSES = 11318  # of SOP's training images


class Check:
    def __init__(self, minutes, log):
        self.end = time.monotonic() + 60 * minutes
        self.log = open(log, "w")
        self.tests, self.rows, self.notes, self.failed = [], [], {}, 0
        self.machine, self.looks, self.here = [], [], HERE
        self.card = False  # nvidia-smi lists a GPU: one that is not used then is a failure
        self.plain = {}  # convolutions without cuDNN by benchmark
        self.start, self.done = time.monotonic(), {}
        self.no_gpu = self.no_torch = None  # why there is none
        self.env = dict(os.environ)
        # Kernels are compiled once and not in each process, whatever HOME is.
        self.env.setdefault("CUDA_CACHE_PATH", os.path.join(HERE, "cuda-cache"))
        self.env.update(CUDA_CACHE_DISABLE="0", CUDA_CACHE_MAXSIZE=str(1 << 30))
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

    def reason(self, output):
        return reason(output)

    def absent(self, why):
        return absent(self, why)

    def outcome(self, command, limit, env={}):
        """Runs a command for its outcome in words."""
        kept, self.env = self.env, dict(self.env, **env)
        try:
            self.run(command, limit)
            return "passed"
        except Failure as f:
            return str(f)
        finally:
            self.env = kept

    def note(self, what, failure):
        self.notes.setdefault(str(failure), []).append(what)
        if not failure.skipped:
            self.failed += 1
            self.progress("FAILED: %s: %s" % (what, failure))

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
    for mark in ("panic:", "fatal error:", "SIGSEGV", "SIGABRT", "_test.go:", "Error:", "error:", "level=error", "no GPU", "finds no GPU"):
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
            check.machine.append("%s: %s" % (what, line))
        return out, None

    out, _ = ask("card", ["nvidia-smi", "--query-gpu=name,driver_version,memory.total,clocks.max.sm,power.limit", "--format=csv,noheader"])
    check.card = bool(out)
    _, wrong = ask("vernier", ["./vernier", "doctor"])  # it only informs
    if wrong:
        check.note("vernier doctor", wrong)
    usable(check)
    out, wrong = ask("torch", [sys.executable, "-c", "import torch; print(torch.__version__, 'CUDA', torch.version.cuda, 'cuDNN', torch.backends.cudnn.version(), 'GPU', torch.cuda.is_available())"])
    if out is None or out.endswith("False"):
        check.no_torch = str(wrong or "") or "torch finds no GPU"


def usable(check):
    """What counts is whether the GPU computes: a first product, with loading and compiling."""
    start = time.monotonic()
    try:
        check.run(["./vernier", "bench", "gemm/256", "--device", "cuda", "--seconds", "0.2", "--json"], 90)
        check.say("%-8s a first product after %.1f s" % ("vernier", time.monotonic() - start))
    except Failure as f:
        check.no_gpu = str(f)
        if not f.skipped:
            check.note("a first product on the GPU", Failure(str(f), skipped=absent(check, str(f))))


def absent(check, why):
    """Whether the machine has no GPU, rather than one that cannot be used."""
    return not check.card and "no NVIDIA driver" in why


def tests(check):
    try:
        names = re.findall(r"^TestOnAGPU\w+", check.run(["./cuda.test", "-test.list", "TestOnAGPU"], 60), re.M)
    except Failure as f:
        check.note("tests", f)
        return
    for i, name in enumerate(names):
        check.progress(name)
        if check.end - time.monotonic() < 10:
            check.note("; ".join(names[i:]), Failure("out of time", skipped=True))
            break
        for o in gputests.Test(check, name, PART_LIMIT).run():
            check.tests.append((o.name, o.verdict, "%.1f s" % o.seconds))
            if o.verdict != "passed":
                check.note(o.name, Failure(o.why, skipped=o.verdict == "skipped"))
    if all(v == "skipped" for _, v, _ in check.tests):
        return
    check.progress("a second look at what failed")
    check.looks = gputests.second_look(check, [n for n, v, _ in check.tests if v == "FAILED"])


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
    if mine == 0:
        check.note(label, Failure("the program printed 0"))
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


def convolutions(check):
    """Six layers forward and back, ours and PyTorch's, in microseconds."""
    label = "conv, batch 128, bf16"
    other = (attempt(check, label + ", torch", lambda: peer(check, ["--convs", "--batch", "128", "--precision", "bf16", "--seconds", "0.2"])) or {}).get("seconds_of", {})

    def all_of_ours():
        if check.no_gpu:
            raise Failure(check.no_gpu, skipped=True)
        out = check.run(["./vernier", "bench", "conv", "--device", "cuda", "--precision", "bf16", "--batch", "128", "--seconds", "0.2", "--json"], 120)
        return {r["case"]: r["seconds"] for r in map(json.loads, re.findall(r"^\{.*\}$", out, re.M))}
    mine = attempt(check, label, all_of_ours) or {}
    for case in list(mine) + [c for c in other if c not in mine]:
        m, t = mine.get(case), other.get(case)
        row(check, "%s, %s" % (label, case), m and 1e6 * m, t and 1e6 * t, "us", "torch", smaller=True)


def operations(check, name):
    """The kinds of operations that a training step in bf16 spends the most time in."""
    if check.no_gpu:
        raise Failure(check.no_gpu, skipped=True)
    with tempfile.TemporaryDirectory(dir=HERE) as folder:
        r = last_json(check.run(["./vernier", "bench", name + "-train", "--device", "cuda", "--precision", "bf16", "--batch", "128", "--seconds", "0.2", "--json",
                                 "--trace", os.path.join(folder, "step.json")], 90))
    t = r["trace"]
    kinds = ["%s %.2f (%.0f%%)" % (k["kind"], 1e3 * k["seconds"], 100 * k["share"]) for k in t["kinds"][:8]]
    check.looks.append(("%s, ms by kind of op in the device's queue" % name, "%s; all %.2f of %.2f" % (", ".join(kinds), 1e3 * t["operations"], 1e3 * t["seconds"])))


def training(check, seconds=30):
    """Half a minute of a run from decoded files, and half from prepared pictures, with 50 steps traced."""
    if check.no_gpu:
        raise Failure(check.no_gpu, skipped=True)
    with tempfile.TemporaryDirectory(dir=HERE) as folder:
        photographs.write(os.path.join(folder, "photographs"), distinct=int(os.environ.get("VERNIER_GPU_PHOTOGRAPHS", 64)))
        for label, more in (("decoded anew", ["--no-cache"]), ("prepared", ["--cache", os.path.join(folder, "cache")])):
            run = os.path.join(folder, "run")
            command = ["./vernier", "train", "--data", "folder:" + os.path.join(folder, "photographs"), "--out", run, "--force", "--backbone", "bninception",
                       "--size", "224", "--epochs", "100000", "--device", "cuda", "--precision", "bf16"] + more + ["--trace", "50"]
            try:
                out = interrupted(check, command, seconds)
                with open(os.path.join(run, "log.jsonl")) as f:
                    events = list(map(json.loads, f))
                steps = [e for e in events if e.get("event") == "step"]
                if len(steps) < 3:
                    raise Failure("%d steps in %d s: %s" % (len(steps), seconds, reason(out)))
                times = sorted(e["seconds"] for e in steps[len(steps) // 4:])
                row(check, "train, photographs %s: a step" % label, 1e3 * times[len(times) // 2], None, "ms", "")
                traced = [e for e in events if e.get("event") == "trace"]
                if not traced:
                    raise Failure("no step was traced")
                t = traced[-1]
                check.looks.append(("train, photographs " + label, "of %.2f ms a step %.1f%% waiting for pictures, in %d traced steps" % (1e3 * t["seconds"], 100 * t["waiting"], t["traced"])))
                with open(os.path.join(run, "trace.txt")) as f:
                    check.log.write(f.read())
            except (Failure, OSError, ValueError, KeyError) as e:
                check.note("train, photographs " + label, e if isinstance(e, Failure) else Failure(str(e)))


def interrupted(check, command, seconds):
    """Runs a command and interrupts it, as Ctrl-C does; returns what it printed."""
    if check.end - time.monotonic() < seconds + 10:
        raise Failure("out of time", skipped=True)
    check.log.write("\n$ %s\n" % " ".join(command))
    p = subprocess.Popen(command, cwd=HERE, env=check.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    out = ""
    for how, limit in ((None, seconds), (signal.SIGINT, 20), (signal.SIGKILL, 5)):
        if how:
            p.send_signal(how)
        try:
            out = p.communicate(timeout=limit)[0]
            break
        except subprocess.TimeoutExpired:
            pass
    check.log.write(out)
    return out


def benchmarks(check):
    for name in NETWORKS:
        network(check, name, "bf16", 128)
    for name in NETWORKS:
        attempt(check, "%s by kind of op" % name, lambda: operations(check, name))
    convolutions(check)
    attempt(check, "train", lambda: training(check))
    r = attempt(check, "BRM distances", lambda: ours(check, "brm-pairwise/sigmoid-p2", "tf32"))
    p = attempt(check, "BRM distances, torch", lambda: peer(check, ["--pairs"]))
    row(check, "BRM 256 x 256 x 512, forward and back", r and 1e6 * r["seconds"], p and 1e6 * p["seconds"], "us", "torch", smaller=True)
    proxies(check)
    r = attempt(check, "SOP search", lambda: ours(check, "sop-search/brm", "tf32"))
    p = attempt(check, "SOP search, torch", lambda: peer(check, ["--search", str(SOP)]))
    row(check, "all pairs of SOP (60502) by BRM", r and SOP / r["queries_s"], p and p["seconds"], "s", "torch", smaller=True)
    r = attempt(check, "SOP ranks", lambda: ours(check, "sop-search/brm-ranks", "tf32"))
    row(check, "ranks of all pairs of SOP by BRM", r and SOP / r["queries_s"], None, "s", "torch")
    for name in NETWORKS:
        network(check, name, "bf16", 128, compiled=True)
    for batch in (32, 256):
        for name in NETWORKS:
            network(check, name, "bf16", batch)
    for batch in (128, 32, 256):
        for name in NETWORKS:
            network(check, name, "tf32", batch)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=9, help="time for the tests, and again for the benchmarks")
    parser.add_argument("--only", choices=["tests", "bench"])
    parser.add_argument("--log", help="where every output goes (gpu-check-tests.log and gpu-check-bench.log beside this program)")
    a = parser.parse_args()
    unpack()
    status = []
    for what in [a.only] if a.only else ["tests", "bench"]:
        log = a.log or os.path.join(HERE, "gpu-check-%s.log" % what)
        check = Check(a.minutes, log)
        machine(check)
        try:
            tests(check) if what == "tests" else benchmarks(check)
        except KeyboardInterrupt:
            check.note("the rest", Failure("interrupted", skipped=True))
        status.append(report(check, what, log))
    print("everything is in %s" % summarize())
    return 1 if 1 in status else min(status)


def report(check, what, log):
    """Prints the tables, keeps them for the summary, and returns the exit status."""
    lines = []
    if check.tests:
        lines.append("\n%-75s %8s %7s" % ("test", "", "time"))
        lines += ["%-75s %8s %7s" % t for t in check.tests]
    if check.rows:
        lines.append("\n%-50s %16s %30s %6s" % ("", "vernier", "torch", "ratio"))
        lines += ["%-50s %16s %30s %6s" % r for r in check.rows]
    if check.plain:
        lines.append("\nconvolutions without cuDNN: %d, in %d benchmarks that count them" % (sum(check.plain.values()), len(check.plain)))
    if check.looks:
        lines.append("\nmore on it:")
        lines += ["  %s: %s" % l for l in check.looks]
    if check.notes:
        lines.append("\nwhat failed or was left out, and why:")
        for why, names in check.notes.items():
            lines += ["  " + "; ".join(names), "    " + why]
    lines.append("\n%d failures; everything that was printed is in %s" % (check.failed, log))
    mine = [t for t in check.tests if t[1] != "skipped"] + [r for r in check.rows if r[1] != "-"]
    status = 1 if check.failed else 0
    if not mine and not check.failed:
        lines.append("nothing was tested: " + ("no GPU to test on: " + check.no_gpu if check.no_gpu else "see why above"))
        status = 3
    for l in lines:
        check.say(l)
    with open(os.path.join(HERE, "gpu-%s.json" % what), "w") as f:
        json.dump({"machine": check.machine, "tests": check.tests, "rows": check.rows, "more": check.looks, "convolutions_without_cudnn": check.plain, "notes": check.notes,
                   "failed": check.failed, "status": status, "seconds": time.monotonic() - check.start, "text": check.machine + lines}, f, indent=1)
    return status


def summarize():
    """Writes both calls' results into one file of text and one of JSON."""
    parts = {}
    for what in ("tests", "bench"):
        path = os.path.join(HERE, "gpu-%s.json" % what)
        if os.path.exists(path):
            with open(path) as f:
                parts[what] = json.load(f)
    text_file = os.path.join(HERE, "gpu-summary.txt")
    with open(text_file, "w") as f:
        for what, part in parts.items():
            f.write("== %s, %.0f s\n%s\n\n" % (what, part["seconds"], "\n".join(part.pop("text"))))
    with open(os.path.join(HERE, "gpu-summary.json"), "w") as f:
        json.dump(parts, f, indent=1)
    return text_file


if __name__ == "__main__":
    sys.exit(main())

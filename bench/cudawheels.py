#!/usr/bin/env python3
"""Checks Vernier's GPU engine against NVIDIA's real libraries, headers and assembler, without a GPU.

They come as Python packages, into a folder with a virtual environment for each release (about 8 GB in
all; delete it when it is not needed). It needs Linux, g++, Go, python3-venv, and network the first time:

    python3 bench/cudawheels.py [--folder DIR] [--only cuda12-oldest ...] [--skip-ptx]

    libraries   the engine's loader finds cuBLAS, cuDNN and NCCL where pip installs them, as `pip install torch`
                does, loads them, and resolves every symbol of its tables
    headers     every signature, constant and structure of cuda/internal is that of the release's headers
    ptx         every PTX file assembles for each generation of GPU, with registers and spills in ptx.txt

A line for each check ends in ok or FAILED. The exit status is 0 if all passed, 1 if something failed,
and 2 if a package could not be installed.
"""
import argparse
import glob
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NATIVE = os.path.join(ROOT, "cuda", "internal", "native")
ABI = os.path.join(ROOT, "cuda", "internal", "abi")

# The oldest and the newest releases that docs/gpu.md names, each with its packages.
RELEASES = {
    "cuda12-oldest": ["nvidia-cublas-cu12==12.0.1.189", "nvidia-cudnn-cu12==8.9.0.131", "nvidia-cuda-runtime-cu12==12.0.107",
                      "nvidia-cuda-nvrtc-cu12==12.0.76", "nvidia-cuda-nvcc-cu12==12.0.76", "nvidia-nccl-cu12==2.18.1"],
    "cuda12-newest": ["nvidia-cublas-cu12", "nvidia-cudnn-cu12", "nvidia-cuda-runtime-cu12", "nvidia-cuda-nvrtc-cu12", "nvidia-cuda-nvcc-cu12", "nvidia-nccl-cu12"],
    "cuda13-oldest": ["nvidia-cublas==13.0.0.19", "nvidia-cudnn-cu13==9.12.0.46", "nvidia-cuda-runtime==13.0.48",
                      "nvidia-cuda-nvrtc==13.0.48", "nvidia-cuda-nvcc==13.0.48", "nvidia-cuda-crt==13.0.48", "nvidia-nccl-cu13==2.27.7"],
    "cuda13-newest": ["nvidia-cublas", "nvidia-cudnn-cu13", "nvidia-cuda-runtime", "nvidia-cuda-nvrtc", "nvidia-cuda-nvcc", "nvidia-cuda-crt", "nvidia-nccl-cu13"],
}
# Generations from Volta, which CUDA 13's assembler no longer knows, to Blackwell.
ARCHS = ["sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"]


class Report:
    def __init__(self):
        self.failed = 0

    def line(self, release, what, trouble, passed):
        """trouble is None, or what is wrong, line by line."""
        self.failed += trouble is not None
        print("%-14s %-10s %-70s %s" % (release, what, passed if trouble is None else "", "ok" if trouble is None else "FAILED"), flush=True)
        for l in (trouble or "").strip().splitlines():
            print("    " + l)


def run(command, **more):
    p = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    return p.returncode, p.stdout


def install(folder, packages):
    """Makes the virtual environment of a release, unless it is there and whole."""
    done = os.path.join(folder, "packages.txt")
    want = "\n".join(packages)
    if os.path.exists(done) and open(done).read() == want:
        return None
    print("installing %s into %s" % (", ".join(packages), folder), file=sys.stderr, flush=True)
    for command in ([sys.executable, "-m", "venv", "--clear", folder],
                    [os.path.join(folder, "bin", "pip"), "install", "-q", "--no-cache-dir", "--only-binary=:all:"] + packages):
        code, out = run(command)
        if code:
            return out
    with open(done, "w") as f:
        f.write(want)
    return None


def found(folder, *pattern):
    return sorted(glob.glob(os.path.join(folder, "lib", "python3*", "site-packages", "nvidia", "*", *pattern)))


def libraries(folder, release):
    """Loads the libraries by the engine's own loader, beside a driver that is a fake."""
    env = {k: v for k, v in os.environ.items() if k not in ("VERNIER_CUDA_PATH", "CUDA_HOME", "CUDA_PATH", "PYTHONPATH", "LD_LIBRARY_PATH")}
    env["VERNIER_CUDA_WHEELS"] = folder
    code, out = run(["go", "test", "-count=1", "-v", "-run", "^TestRealLibraries", "./cuda/internal/native"], cwd=ROOT, env=env)
    if code or "--- PASS: TestRealLibraries" not in out:
        return out, ""
    return None, ", ".join(re.findall(r"found: (.*)", out))


def strip(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)


def constants(text):
    """Names of the enumerators in a header."""
    for body in re.findall(r"\benum\s*\w*\s*\{(.*?)\}", strip(text), re.S):
        for entry in body.split(","):
            name = re.match(r"\s*(\w+)", entry)
            if name:
                yield name.group(1)


def abi_checks(real):
    """Assertions on the cuda.h that gorgonia.org/cu is compiled with; real is the text of NVIDIA's."""
    plain, gone = strip(real), []
    there = lambda name: re.search(r"\b%s\b" % name, plain)
    ours = "".join(open(os.path.join(ABI, "include", n)).read() for n in ("cuda_enums.h", "cuda.h"))
    checks = []
    for name in constants(ours):
        if name == "CU_CTX_FLAGS_MASK":
            continue  # all flags of a release: it grows
        if there(name):
            checks.append("static_assert((long long)abi::%s == (long long)::%s, \"the value of %s\");" % (name, name, name))
        else:
            gone.append(name)
    symbols = re.findall(r"X\((\w+)\)", strip(open(os.path.join(ABI, "forward", "symbols.h")).read())) + ["cuInit", "cuDeviceGetCount"]
    for name in symbols:
        base = re.sub(r"_v\d$", "", name)
        if there(name) or (base != name and re.search(r"#\s*define\s+%s\s+\S*\b%s\b" % (base, name), plain)):
            checks.append("static_assert(calls<decltype(::%s), decltype(abi::%s)>::value, \"the signature of %s\");" % (name, name, name))
        else:
            gone.append(name)
    for body, name in re.findall(r"typedef struct \{([^}]*)\} (CUDA_\w+);", strip(ours)):
        # The functions that we call have kept to the first version of a node's parameters,
        # and to the second of all else.
        theirs = next((t for t in (name + ("_v1" if "PARAMS" in name else "_v2"), name) if there(t)), None)
        checks.append("static_assert(sizeof(abi::%s) == sizeof(::%s), \"the size of %s\");" % (name, theirs, name))
        for declaration in body.split(";"):
            for member in declaration.split(","):
                member = re.search(r"(\w+)\s*$", member)
                if member:
                    checks.append("FIELD(abi::%s, %s, ::%s, %s)" % (name, member.group(1), theirs, member.group(1)))
    return checks, gone


def headers(folder, release):
    includes = found(folder, "include")
    cuda = [os.path.join(d, "cuda.h") for d in includes if os.path.exists(os.path.join(d, "cuda.h"))]
    if not cuda:
        return "no cuda.h below " + folder, ""
    own = sorted(glob.glob(os.path.join(NATIVE, "vernier_*.h")))
    texts = [open(h).read() for h in own]
    source = os.path.join(ROOT, "bench", "cudaheaders.cc")
    compared = set(re.findall(r"^(?:EQUAL|OWN)\((\w+)", open(source).read(), re.M))
    missing = [n for t in texts for n in constants(t) if n not in compared]
    if missing:
        return "bench/cudaheaders.cc does not say what these constants are: " + ", ".join(missing), ""
    tables = [name for t in texts for name in re.findall(r"#define (VERNIER_\w+)\(X\)", t)]
    checks, gone = abi_checks(open(cuda[0]).read())
    with tempfile.TemporaryDirectory() as tmp:
        def write(name, text):
            path = os.path.join(tmp, name)
            with open(path, "w") as f:
                f.write(text)
            return path
        plain = write("plain.h", re.sub(r"#include <.*>", "", open(os.path.join(ABI, "include", "cuda.h")).read()))
        code, text = run(["gcc", "-E", "-P", "-I" + os.path.join(ABI, "include"), plain])
        if code:
            return text, ""
        files = {"OURS": write("ours.h", "".join('#include "%s"\n' % h for h in own)),
                 "ABI": write("abi.h", text),
                 "CHECKS": write("checks.h", "".join("%s(FUNCTION)\n" % t for t in tables)),
                 "ABI_CHECKS": write("abichecks.h", "\n".join(checks) + "\n")}
        command = ["g++", "-std=c++17", "-fsyntax-only", "-w", "-fmax-errors=40"] + ['-D%s="%s"' % f for f in files.items()]
        for d in includes:
            command += ["-isystem", d]
        code, out = run(command + [source])
    if code:
        return "\n".join(l for l in out.splitlines() if "error:" in l or "fatal" in l) or out, ""
    functions = sum(len(re.findall(r"^    X\(", t, re.M)) for t in texts)
    left = ", %d names it lacks" % len(gone) if gone else ""
    return None, "%d functions, %d constants, cuda.h: %d assertions%s" % (functions, len(compared), len(checks), left)


def assemble(ptxas, arch, path):
    with tempfile.NamedTemporaryFile() as cubin:
        code, out = run([ptxas, "-v", "-arch=" + arch, "-o", cubin.name, path])
    if code:
        return out, []
    # Compiling entry function 'add' ... / Function properties for add / stack / Used N registers
    seen, name, stack = [], None, None
    for line in out.splitlines():
        entry = re.search(r"Compiling entry function '(\w+)'", line)
        spill = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line)
        used = re.search(r"Used (\d+) registers", line)
        if entry:
            name = entry.group(1)
        elif spill:
            stack = tuple(map(int, spill.groups()))
        elif used and name:
            shared = re.search(r"(\d+) bytes smem", line)
            seen.append((name, int(used.group(1)), int(shared.group(1)) if shared else 0) + stack)
            name = None
    return None, seen


def ptx(folder, release, jobs, listing):
    """Assembles every PTX file of the engine for each generation that the release's assembler knows."""
    tools = found(folder, "bin", "ptxas")
    if not tools:
        return "no ptxas below " + folder, ""
    files = sorted(os.path.join(d, n) for d, _, names in os.walk(os.path.join(ROOT, "cuda")) for n in names if n.endswith(".ptx"))
    if not files:
        return "there is no PTX below cuda", ""
    known = run([tools[0], "--help"])[1]
    archs = [a for a in ARCHS if re.search(r"'%s'" % a, known)]
    oldest = {f: int(re.search(r"^\.target sm_(\d+)", open(f).read(), re.M).group(1)) for f in files}
    work = [(a, f) for a in archs for f in files if int(a[3:]) >= oldest[f]]
    with ThreadPoolExecutor(jobs) as pool:
        results = list(pool.map(lambda w: assemble(tools[0], *w), work))
    trouble, spilled, kernels = [], {}, 0
    for (arch, path), (out, seen) in zip(work, results):
        where = "%s %s %s" % (release, arch, os.path.relpath(path, ROOT))
        if out is not None:
            trouble.append("%s\n%s" % (where, out[:2000]))
        entries = len(re.findall(r"^\s*(?:\.visible\s+)?\.entry\b", open(path).read(), re.M))
        if out is None and len(seen) != entries:
            trouble.append("%s: the assembler tells of %d kernels, the file has %d" % (where, len(seen), entries))
        kernels += len(seen)
        for name, registers, shared, stack, stores, loads in seen:
            listing.write("%-14s %-7s %-40s %3d registers %6d shared %4d stack %4d spill stores %4d spill loads\n" % (release, arch, name, registers, shared, stack, stores, loads))
            if stack or stores or loads:
                spilled.setdefault(name, []).append("%s %d" % (arch, stack))
    for name, where in sorted(spilled.items()):
        print("    bytes of local memory: %s: %s" % (name, ", ".join(where)))
    return "\n".join(trouble) or None, "%d kernels for %s" % (kernels, " ".join(archs))


def main():
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", default=os.path.join(cache, "vernier", "cuda-wheels"), help="where the environments are kept (%(default)s)")
    parser.add_argument("--only", nargs="+", choices=list(RELEASES), default=list(RELEASES), help="releases to check")
    parser.add_argument("--skip-ptx", action="store_true", help="leave out the assembly, which takes minutes")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="assemblers at a time")
    a = parser.parse_args()
    report, uninstalled = Report(), 0
    os.makedirs(a.folder, exist_ok=True)
    with open(os.path.join(a.folder, "ptx.txt"), "w") as listing:
        for release in a.only:
            folder = os.path.join(os.path.abspath(a.folder), release)
            trouble = install(folder, RELEASES[release])
            if trouble is not None:
                report.line(release, "install", trouble, "")
                uninstalled += 1
                continue
            report.line(release, "libraries", *libraries(folder, release))
            report.line(release, "headers", *headers(folder, release))
            if not a.skip_ptx:
                report.line(release, "ptx", *ptx(folder, release, a.jobs, listing))
    if not a.skip_ptx:
        print("registers, shared memory and spills of each kernel are in " + listing.name)
    return 2 if uninstalled else 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())

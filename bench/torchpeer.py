#!/usr/bin/env python3
"""Times a network in PyTorch on the CPU as `vernier bench` times it, for --compare.

    vernier bench resnet50-train --compare "python3 bench/torchpeer.py resnet50 --only train"

A step is forward, backward and AdamW, with frozen batch normalization and the mean square of the batch's
cosines as the loss; inference is forward alone. Images are random, 224 x 224. Prints a JSON object: the
version of PyTorch and how it ran, train_img_s and infer_img_s (of the median time), and the peak of the
process's memory in MiB. docs/performance.md says why it runs with these settings.
"""
import os
import sys

# glibc returns large blocks to the system at once and asks for them anew in each step. These settings,
# which it reads when a process starts, make it keep them.
ALLOCATOR = {"MALLOC_MMAP_THRESHOLD_": "4294967296", "MALLOC_TRIM_THRESHOLD_": "8589934592", "MALLOC_TOP_PAD_": "268435456"}
# Choices for OpenBLAS that another program may have needed.
NOT_OURS = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


def fair_environment(have):
    return {**{k: v for k, v in have.items() if k not in NOT_OURS}, **ALLOCATOR}


if __name__ == "__main__" and fair_environment(os.environ) != dict(os.environ):
    os.execve(sys.executable, [sys.executable] + sys.argv, fair_environment(os.environ))

import argparse
import json
import resource
import statistics
import time

import torch

from torchnets import NETWORKS, freeze_norms


def median_seconds(do, span):
    """The median time of a call in a span of so many seconds, at least three calls, after two that are not timed."""
    do()
    do()
    seconds, end = [], time.perf_counter() + span
    while len(seconds) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        do()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def adamw(net):
    parameters = [p for p in net.parameters() if p.requires_grad]
    try:
        return torch.optim.AdamW(parameters, lr=1e-4, fused=True)
    except (TypeError, RuntimeError):  # only on GPUs before PyTorch 2.4
        return torch.optim.AdamW(parameters, lr=1e-4)


def main():
    parser = argparse.ArgumentParser(description="A network in PyTorch on the CPU, for vernier bench --compare")
    parser.add_argument("network", choices=list(NETWORKS))
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=3, help="time to measure each of the two for")
    parser.add_argument("--only", choices=["train", "infer"], help="measure one of the two")
    parser.add_argument("--layout", default="channels_last", choices=["channels_last", "contiguous"])
    parser.add_argument("--compile", action="store_true", help="torch.compile (PyTorch 2 or newer, and a C++ compiler)")
    parser.add_argument("--autocast", action="store_true", help="products in bfloat16 by torch.autocast")
    a = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(a.threads)
    layout = torch.channels_last if a.layout == "channels_last" else torch.contiguous_format
    net = NETWORKS[a.network]().to(memory_format=layout).train()
    freeze_norms(net)
    images = torch.randn(a.batch, 3, 224, 224).contiguous(memory_format=layout)
    optimizer = adamw(net)
    mixed = torch.autocast("cpu", dtype=torch.bfloat16, enabled=a.autocast)
    run = torch.compile(net) if a.compile else net

    def step():
        with mixed:
            e = run(images)
        e = e.float()
        loss = (e @ e.t()).pow(2).mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()

    def infer():
        with torch.inference_mode(), mixed:
            run(images)

    result = {
        "peer": "torch " + torch.__version__, "mode": "compile" if a.compile else "eager",
        "precision": "bf16 autocast" if a.autocast else "float32", "network": a.network, "layout": a.layout,
        "threads": a.threads, "batch": a.batch, "allocator": "keeps memory"}
    if a.only != "infer":
        result["train_img_s"] = round(a.batch / median_seconds(step, a.seconds), 3)
    if a.only != "train":
        net.eval()
        result["infer_img_s"] = round(a.batch / median_seconds(infer, a.seconds), 3)
    result["peak_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps(result))


if __name__ == "__main__":
    main()

"""Times a network in PyTorch on the CPU as `vernier bench` times it, for --compare.

A step is forward, backward and AdamW, with frozen batch normalisation and the mean
square of the batch's cosines as the loss; inference is forward alone. Images are
random, 224 x 224. Prints a JSON object: train_img_s and infer_img_s (medians),
and the peak of the process's memory in MiB.
"""
import argparse
import json
import resource
import statistics
import time

import torch
from torch import nn


def timed(do, repeats):
    """Seconds of each call but the first."""
    do()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        do()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def freeze_norms(net):
    for m in net.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.eval()
            m.weight.requires_grad_(False)
            m.bias.requires_grad_(False)


def main(name, build):
    """build() returns a network from images (B, 3, 224, 224) to unit rows (B, 512)."""
    parser = argparse.ArgumentParser(description=f"{name} in PyTorch on the CPU, for vernier bench --compare")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", choices=["train", "infer"], help="measure one of the two")
    parser.add_argument("--layout", default="channels_last", choices=["channels_last", "contiguous"])
    a = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(a.threads)
    layout = torch.channels_last if a.layout == "channels_last" else torch.contiguous_format
    net = build().to(memory_format=layout).train()
    freeze_norms(net)
    images = torch.randn(a.batch, 3, 224, 224).contiguous(memory_format=layout)
    optimizer = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=1e-4)

    def step():
        e = net(images)
        loss = (e @ e.t()).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    def infer():
        with torch.no_grad():
            net(images)

    result = {"peer": "torch " + torch.__version__, "network": name, "layout": a.layout, "threads": a.threads, "batch": a.batch}
    if a.only != "infer":
        result["train_img_s"] = round(a.batch / timed(step, a.repeats), 3)
    if a.only != "train":
        net.eval()
        result["infer_img_s"] = round(a.batch / timed(infer, a.repeats), 3)
    result["peak_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps(result))

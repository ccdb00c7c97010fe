#!/usr/bin/env python3
"""PyTorch on a GPU beside `vernier bench ... --device cuda`, for bench/gpucheck.py.

A step is forward, backward and AdamW with frozen batch normalisation; the loss is the mean square of a
batch's products. Channels last, TF32 products, with --precision bf16 automatic mixed precision, with
--compile torch.compile. Every measurement is synchronised. Prints one JSON object.

    torch_gpu.py --network bninception --batch 128 --precision bf16 --compile
    torch_gpu.py --pairs                 BRM distances of 256 x 256 rows, forward and back
    torch_gpu.py --search 60502          the nearest of so many rows for a part of them, by BRM
"""
import argparse
import json
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

import torchpeer


class Bottleneck(nn.Module):
    def __init__(self, into, width, stride):
        super().__init__()
        out = 4 * width
        self.body = nn.Sequential(
            nn.Conv2d(into, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, out, 1, bias=False), nn.BatchNorm2d(out))
        self.short = nn.Identity()
        if stride != 1 or into != out:
            self.short = nn.Sequential(nn.Conv2d(into, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        return F.relu(self.body(x) + self.short(x), inplace=True)


class ResNet50(nn.Module):
    """As torchvision's, which may not be installed, with the head of torch_resnet50.py."""

    def __init__(self):
        super().__init__()
        layers, into = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)], 64
        for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
            for i in range(count):
                layers.append(Bottleneck(into, width, stride if i == 0 else 1))
                into = 4 * width
        self.trunk, self.embedding = nn.Sequential(*layers), nn.Linear(into, 512)

    def forward(self, x):
        x = self.trunk(x)
        x = F.adaptive_avg_pool2d(x, 1) + F.adaptive_max_pool2d(x, 1)
        return F.normalize(self.embedding(torch.flatten(x, 1)))


def build(name):
    if name == "resnet50":
        return ResNet50()
    import torch_bninception
    import torch_vit_small
    return {"bninception": torch_bninception, "vit-s": torch_vit_small}[name].Embedder()


def timed(do, seconds, warm=5):
    """The median time of a call, in seconds."""
    for _ in range(warm):
        do()
    torch.cuda.synchronize()
    times, end = [], time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        do()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def network(a, result):
    net = build(a.network).cuda().to(memory_format=torch.channels_last).train()
    torchpeer.freeze_norms(net)
    params = [p for p in net.parameters() if p.requires_grad]
    try:
        optimizer = torch.optim.AdamW(params, lr=1e-4, fused=True)
    except (TypeError, RuntimeError):
        optimizer = torch.optim.AdamW(params, lr=1e-4)
    run = torch.compile(net) if a.compile else net
    images = torch.randn(a.batch, 3, 224, 224, device="cuda").contiguous(memory_format=torch.channels_last)
    mixed = torch.autocast("cuda", dtype=torch.bfloat16, enabled=a.precision == "bf16")

    def step():
        with mixed:
            e = run(images)
        e = e.float()
        loss = (e @ e.t()).pow(2).mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()

    def infer():
        with torch.no_grad(), mixed:
            run(images)

    result["batch"] = a.batch
    if a.only != "infer":
        result["train_img_s"] = round(a.batch / timed(step, a.seconds), 1)
    if a.only != "train":
        net.eval()
        result["infer_img_s"] = round(a.batch / timed(infer, a.seconds), 1)


def brm(x, y):
    """BRM with the sigmoid and p = 2 between the rows of x and y."""
    r = torch.tanh((x[:, None, :] - y[None, :, :]).abs() / 2)
    return r.square().mean(-1).sqrt()


def pairs(a, result):
    x = torch.randn(256, 512, device="cuda", requires_grad=True)
    y = torch.randn(256, 512, device="cuda", requires_grad=True)
    up = torch.randn(256, 256, device="cuda")
    f = torch.compile(brm) if a.compile else brm

    def both():
        x.grad = y.grad = None
        (f(x, y) * up).sum().backward()

    result["seconds"] = timed(both, a.seconds)


def search(a, result):
    rows = torch.randn(a.search, 512, device="cuda")
    f = torch.compile(brm) if a.compile else brm
    block, parts = 32, 16  # a block of pairs is block * rows * 512 numbers
    def some():
        for i in range(parts):
            torch.topk(f(rows[i * block:(i + 1) * block], rows), 2, largest=False)
    one = timed(some, a.seconds, warm=1)
    result["queries"] = block * parts
    result["seconds"] = one * a.search / (block * parts)  # of all queries


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", choices=["bninception", "resnet50", "vit-s"])
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--precision", choices=["tf32", "bf16"], default="tf32")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--only", choices=["train", "infer"])
    parser.add_argument("--pairs", action="store_true")
    parser.add_argument("--search", type=int)
    parser.add_argument("--seconds", type=float, default=2)
    a = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("torch %s finds no GPU" % torch.__version__)
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    result = {"peer": "torch " + torch.__version__, "device": torch.cuda.get_device_name(0), "compile": a.compile, "precision": a.precision}
    if a.pairs:
        pairs(a, result)
    elif a.search:
        search(a, result)
    elif a.network:
        network(a, result)
    else:
        parser.error("say what: --network, --pairs or --search")
    result["peak_mib"] = torch.cuda.max_memory_allocated() // (1 << 20)
    print(json.dumps(result))


if __name__ == "__main__":
    main()

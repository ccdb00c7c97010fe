#!/usr/bin/env python3
"""PyTorch on a GPU beside `vernier bench ... --device cuda`, for bench/gpucheck.py.

A step is forward, backward and AdamW with frozen batch normalisation; the loss is the mean square of a
batch's products. Channels last, TF32 products, with --precision bf16 automatic mixed precision, with
--compile torch.compile. Every measurement is synchronised. Prints one JSON object.

    torch_gpu.py --network bninception --batch 128 --precision bf16 --compile
    torch_gpu.py --network bninception --proxies 11318   images come as bytes from pinned memory, one step ahead,
                                         and the loss is proxy-anchor with so many classes
    torch_gpu.py --convs                 six convolutions of BN-Inception, forward with bias and ReLU, and both
                                         gradients, as in vernier bench conv
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

from torchnets import NETWORKS, freeze_norms


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


class Ahead:
    """Batches of bytes that travel from pinned memory while another one is computed."""

    def __init__(self, batch):
        self.pinned = torch.randint(0, 256, (batch, 224, 224, 3), dtype=torch.uint8).pin_memory()
        self.stream = torch.cuda.Stream()
        self.send()

    def send(self):
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            self.next = self.pinned.cuda(non_blocking=True)

    def arrive(self):
        torch.cuda.current_stream().wait_stream(self.stream)
        x = self.next
        x.record_stream(torch.cuda.current_stream())
        self.send()
        return x.permute(0, 3, 1, 2).float().div_(255)  # channels last, as it lies


def proxy_anchor(cosines, own, alpha=32, delta=.1):
    """Kim et al. 2020, Eq. 4; own (B, C) marks the class of each row."""
    one = torch.zeros(1, cosines.shape[1], device=cosines.device)
    far = torch.full_like(cosines, float("-inf"))
    pull = torch.cat([one, torch.where(own, -alpha * (cosines - delta), far)]).logsumexp(0)
    push = torch.cat([one, torch.where(own, far, alpha * (cosines + delta))]).logsumexp(0)
    return pull.sum() / own.any(0).sum() + push.mean()


def network(a, result):
    net = NETWORKS[a.network]().cuda().to(memory_format=torch.channels_last).train()
    freeze_norms(net)
    params = [p for p in net.parameters() if p.requires_grad]
    if a.proxies:
        rows = nn.Parameter(torch.randn(a.proxies, 512, device="cuda"))
        own = F.one_hot(torch.randint(0, a.proxies, (a.batch,), device="cuda"), a.proxies).bool()
        params.append(rows)
        ahead = Ahead(a.batch)
    try:
        optimizer = torch.optim.AdamW(params, lr=1e-4, fused=True)
    except (TypeError, RuntimeError):
        optimizer = torch.optim.AdamW(params, lr=1e-4)
    run = torch.compile(net) if a.compile else net
    images = torch.randn(a.batch, 3, 224, 224, device="cuda").contiguous(memory_format=torch.channels_last)
    mixed = torch.autocast("cuda", dtype=torch.bfloat16, enabled=a.precision == "bf16")

    def step():
        with mixed:
            e = run(ahead.arrive() if a.proxies else images)
        e = e.float()
        if a.proxies:
            loss = proxy_anchor(e @ F.normalize(rows).t(), own)
        else:
            loss = (e @ e.t()).pow(2).mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        if a.proxies:
            loss.item()  # a run looks at it

    def infer():
        with torch.no_grad(), mixed:
            run(images)

    result["batch"] = a.batch
    if a.only != "infer":
        result["train_img_s"] = round(a.batch / timed(step, a.seconds), 1)
    if a.only != "train":
        net.eval()
        result["infer_img_s"] = round(a.batch / timed(infer, a.seconds), 1)


# Name, channels, side, channels out, kernel, stride, padding: those of vernier bench conv.
CONVS = (("stem", 3, 224, 64, 7, 2, 3), ("conv2", 64, 56, 192, 3, 1, 1), ("3a-1x1", 192, 28, 64, 1, 1, 0),
         ("3c-3x3", 64, 28, 96, 3, 1, 1), ("4e-3x3s2", 192, 14, 256, 3, 2, 1), ("5b-3x3", 192, 7, 320, 3, 1, 1))


def convs(a, result):
    kind = torch.bfloat16 if a.precision == "bf16" else torch.float32
    make = lambda *shape: torch.randn(*shape, device="cuda", dtype=kind).contiguous(memory_format=torch.channels_last)
    result["batch"], result["seconds_of"] = a.batch, {}
    for name, c, side, k, r, stride, pad in CONVS:
        x, w, bias = make(a.batch, c, side, side), make(k, c, r, r), torch.randn(k, device="cuda", dtype=kind)
        y = torch.randn_like(F.conv2d(x, w, bias, stride, pad))

        def gradient(*wanted):
            torch.ops.aten.convolution_backward(y, x, w, [k], [stride] * 2, [pad] * 2, [1, 1], False, [0, 0], 1, list(wanted))
        for what, do in (("forward", lambda: F.relu_(F.conv2d(x, w, bias, stride, pad))),
                         ("input", lambda: gradient(True, False, False)), ("weights", lambda: gradient(False, True, True))):
            with torch.no_grad():
                result["seconds_of"][name + "-" + what] = timed(do, a.seconds)


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
    parser.add_argument("--network", choices=list(NETWORKS))
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--precision", choices=["tf32", "bf16"], default="tf32")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--only", choices=["train", "infer"])
    parser.add_argument("--proxies", type=int)
    parser.add_argument("--convs", action="store_true")
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
    if a.convs:
        convs(a, result)
    elif a.pairs:
        pairs(a, result)
    elif a.search:
        search(a, result)
    elif a.network:
        network(a, result)
    else:
        parser.error("say what: --network, --convs, --pairs or --search")
    result["peak_mib"] = torch.cuda.max_memory_allocated() // (1 << 20)
    print(json.dumps(result))


if __name__ == "__main__":
    main()

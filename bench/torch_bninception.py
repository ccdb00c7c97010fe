#!/usr/bin/env python3
"""BN-Inception in PyTorch beside `vernier bench bninception-train` and `bninception-infer`.

Needs torch (Debian: python3-torch):

    vernier bench bninception-train --compare "python3 bench/torch_bninception.py --only train"
"""
import torch
import torch.nn.functional as F
from torch import nn

import torchpeer


def unit(into, out, kernel, stride=1, pad=0):
    return nn.Sequential(nn.Conv2d(into, out, kernel, stride, pad), nn.BatchNorm2d(out), nn.ReLU(inplace=True))


class Inception(nn.Module):
    """Four branches: 1x1; 1x1 and 3x3; 1x1 and two 3x3; pooling and 1x1. A block of stride 2 has no first
    branch and only the pooling in the last."""

    def __init__(self, into, one, reduce3, out3, reduce33, out33, pool, project, stride=1):
        super().__init__()
        self.one = unit(into, one, 1) if one else None
        self.three = nn.Sequential(unit(into, reduce3, 1), unit(reduce3, out3, 3, stride, 1))
        self.deep = nn.Sequential(unit(into, reduce33, 1), unit(reduce33, out33, 3, 1, 1), unit(out33, out33, 3, stride, 1))
        if stride == 2:
            self.pool = nn.MaxPool2d(3, 2, ceil_mode=True)
        elif pool == "max":
            self.pool = nn.MaxPool2d(3, 1, 1, ceil_mode=True)
        else:
            self.pool = nn.AvgPool2d(3, 1, 1, ceil_mode=True, count_include_pad=True)
        self.project = unit(into, project, 1) if project else nn.Identity()

    def forward(self, x):
        first = [] if self.one is None else [self.one(x)]
        return torch.cat(first + [self.three(x), self.deep(x), self.project(self.pool(x))], 1)


class Embedder(nn.Module):
    """The trunk, average plus maximum pooling, a linear layer, unit rows."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(
            unit(3, 64, 7, 2, 3), nn.MaxPool2d(3, 2, ceil_mode=True),
            unit(64, 64, 1), unit(64, 192, 3, 1, 1), nn.MaxPool2d(3, 2, ceil_mode=True))
        self.blocks = nn.Sequential(
            Inception(192, 64, 64, 64, 64, 96, "avg", 32), Inception(256, 64, 64, 96, 64, 96, "avg", 64),
            Inception(320, 0, 128, 160, 64, 96, "max", 0, 2),
            Inception(576, 224, 64, 96, 96, 128, "avg", 128), Inception(576, 192, 96, 128, 96, 128, "avg", 128),
            Inception(576, 160, 128, 160, 128, 160, "avg", 128), Inception(608, 96, 128, 192, 160, 192, "avg", 128),
            Inception(608, 0, 128, 192, 192, 256, "max", 0, 2),
            Inception(1056, 352, 192, 320, 160, 224, "avg", 128), Inception(1024, 352, 192, 320, 192, 224, "max", 128))
        self.embedding = nn.Linear(1024, 512)

    def forward(self, x):
        x = self.blocks(self.stem(x))
        x = F.adaptive_avg_pool2d(x, 1) + F.adaptive_max_pool2d(x, 1)
        return F.normalize(self.embedding(torch.flatten(x, 1)))


if __name__ == "__main__":
    torchpeer.main("bninception", Embedder)

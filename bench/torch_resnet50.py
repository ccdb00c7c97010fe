#!/usr/bin/env python3
"""ResNet-50 in PyTorch beside `vernier bench resnet50-train` and `resnet50-infer`.

Needs torch and torchvision (Debian: python3-torch, python3-torchvision):

    vernier bench resnet50-train --compare "python3 bench/torch_resnet50.py --only train"
"""
import torch
import torch.nn.functional as F
from torch import nn
from torchvision.models import resnet50

import torchpeer


class Embedder(nn.Module):
    """The trunk, average plus maximum pooling, a linear layer, unit rows."""

    def __init__(self):
        super().__init__()
        trunk = resnet50(weights=None)
        self.trunk = nn.Sequential(*list(trunk.children())[:-2])
        self.embedding = nn.Linear(2048, 512)

    def forward(self, x):
        x = self.trunk(x)
        x = F.adaptive_avg_pool2d(x, 1) + F.adaptive_max_pool2d(x, 1)
        return F.normalize(self.embedding(torch.flatten(x, 1)))


if __name__ == "__main__":
    torchpeer.main("resnet50", Embedder)

#!/usr/bin/env python3
"""ViT-S/16 in PyTorch beside `vernier bench vit-s-train` and `vit-s-infer`.

Needs torch (Debian: python3-torch):

    vernier bench vit-s-train --compare "python3 bench/torch_vit_small.py --only train"
"""
import torch
import torch.nn.functional as F
from torch import nn

import torchpeer

PATCH, DIM, DEPTH, HEADS, HIDDEN, SIDE = 16, 384, 12, 6, 1536, 224


class Block(nn.Module):
    """Attention and perceptron, each behind a layer norm and beside a shortcut."""

    fused = False  # attention by F.scaled_dot_product_attention

    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(DIM, eps=1e-6), nn.LayerNorm(DIM, eps=1e-6)
        self.qkv, self.proj = nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM)
        self.mlp = nn.Sequential(nn.Linear(DIM, HIDDEN), nn.GELU(), nn.Linear(HIDDEN, DIM))

    def attend(self, x):
        b, t, _ = x.shape
        q, k, v = self.qkv(x).reshape(b, t, 3, HEADS, DIM // HEADS).permute(2, 0, 3, 1, 4)
        if self.fused:
            return self.proj(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, DIM))
        weights = ((q @ k.transpose(-2, -1)) * (DIM // HEADS) ** -0.5).softmax(-1)
        return self.proj((weights @ v).transpose(1, 2).reshape(b, t, DIM))

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Embedder(nn.Module):
    """The transformer, its class token, a linear layer, unit rows."""

    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, DIM, PATCH, PATCH)
        self.token = nn.Parameter(torch.zeros(1, 1, DIM))
        self.position = nn.Parameter(0.02 * torch.randn(1, 1 + (SIDE // PATCH) ** 2, DIM))
        self.blocks = nn.Sequential(*[Block() for _ in range(DEPTH)])
        self.norm = nn.LayerNorm(DIM, eps=1e-6)
        self.embedding = nn.Linear(DIM, 512)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.position
        return F.normalize(self.embedding(self.norm(self.blocks(x))[:, 0]))


if __name__ == "__main__":
    torchpeer.main("vit_small", Embedder)

"""The networks of `vernier bench` in PyTorch, from images (B, 3, 224, 224) to unit rows (B, 512).

NETWORKS names their builders as `vernier bench list` names them, without -train and -infer.
Needs nothing but torch.
"""
import torch
import torch.nn.functional as F
from torch import nn

SIDE, EMBEDDING = 224, 512


def unit(into, out, kernel, stride=1, groups=1, act=nn.ReLU, bias=False):
    """Convolution, batch normalization and activation, with half of the kernel as padding."""
    layers = [nn.Conv2d(into, out, kernel, stride, kernel // 2, groups=groups, bias=bias), nn.BatchNorm2d(out)]
    return nn.Sequential(*layers + ([act(inplace=True)] if act else []))


class Embedder(nn.Module):
    """A trunk, average plus maximum pooling, a linear layer, unit rows."""

    def __init__(self, trunk, width):
        super().__init__()
        self.trunk, self.embedding = trunk, nn.Linear(width, EMBEDDING)

    def forward(self, x):
        x = self.trunk(x)
        x = F.adaptive_avg_pool2d(x, 1) + F.adaptive_max_pool2d(x, 1)
        return F.normalize(self.embedding(torch.flatten(x, 1)))


class Inception(nn.Module):
    """Four branches: 1x1; 1x1 and 3x3; 1x1 and two 3x3; pooling and 1x1. A block of stride 2 has no first
    branch and only the pooling in the last."""

    def __init__(self, into, one, reduce3, out3, reduce33, out33, pool, project, stride=1):
        super().__init__()
        self.one = unit(into, one, 1, bias=True) if one else None
        self.three = nn.Sequential(unit(into, reduce3, 1, bias=True), unit(reduce3, out3, 3, stride, bias=True))
        self.deep = nn.Sequential(
            unit(into, reduce33, 1, bias=True), unit(reduce33, out33, 3, bias=True), unit(out33, out33, 3, stride, bias=True))
        if stride == 2:
            self.pool = nn.MaxPool2d(3, 2, ceil_mode=True)
        elif pool == "max":
            self.pool = nn.MaxPool2d(3, 1, 1, ceil_mode=True)
        else:
            self.pool = nn.AvgPool2d(3, 1, 1, ceil_mode=True, count_include_pad=True)
        self.project = unit(into, project, 1, bias=True) if project else nn.Identity()

    def forward(self, x):
        first = [] if self.one is None else [self.one(x)]
        return torch.cat(first + [self.three(x), self.deep(x), self.project(self.pool(x))], 1)


def bn_inception():
    return Embedder(nn.Sequential(
        unit(3, 64, 7, 2, bias=True), nn.MaxPool2d(3, 2, ceil_mode=True),
        unit(64, 64, 1, bias=True), unit(64, 192, 3, bias=True), nn.MaxPool2d(3, 2, ceil_mode=True),
        Inception(192, 64, 64, 64, 64, 96, "avg", 32), Inception(256, 64, 64, 96, 64, 96, "avg", 64),
        Inception(320, 0, 128, 160, 64, 96, "max", 0, 2),
        Inception(576, 224, 64, 96, 96, 128, "avg", 128), Inception(576, 192, 96, 128, 96, 128, "avg", 128),
        Inception(576, 160, 128, 160, 128, 160, "avg", 128), Inception(608, 96, 128, 192, 160, 192, "avg", 128),
        Inception(608, 0, 128, 192, 192, 256, "max", 0, 2),
        Inception(1056, 352, 192, 320, 160, 224, "avg", 128), Inception(1024, 352, 192, 320, 192, 224, "max", 128)), 1024)


class Residual(nn.Module):
    """Convolutions beside a shortcut, then a ReLU."""

    def __init__(self, into, out, stride, body):
        super().__init__()
        self.body = nn.Sequential(*body)
        self.short = unit(into, out, 1, stride, act=None) if stride != 1 or into != out else nn.Identity()

    def forward(self, x):
        return F.relu(self.body(x) + self.short(x), inplace=True)


def resnet(depths, bottleneck):
    layers, into = [unit(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)], 64
    for stage, depth in enumerate(depths):
        for i in range(depth):
            width, stride = 64 << stage, 2 if stage and i == 0 else 1
            if bottleneck:
                out = 4 * width
                body = [unit(into, width, 1), unit(width, width, 3, stride), unit(width, out, 1, act=None)]
            else:
                out = width
                body = [unit(into, width, 3, stride), unit(width, width, 3, act=None)]
            layers.append(Residual(into, out, stride, body))
            into = out
    return Embedder(nn.Sequential(*layers), into)


class Mobile(nn.Module):
    """Expansion, a depthwise convolution, a projection; beside a shortcut where the shape stays."""

    def __init__(self, into, out, kernel, stride, expand):
        super().__init__()
        wide = into * expand
        self.body = nn.Sequential(
            unit(into, wide, 1, act=nn.ReLU6) if expand != 1 else nn.Identity(),
            unit(wide, wide, kernel, stride, groups=wide, act=nn.ReLU6), unit(wide, out, 1, act=None))
        self.adds = stride == 1 and into == out

    def forward(self, x):
        return x + self.body(x) if self.adds else self.body(x)


def efficientnet_lite0():
    """Padding is the same on both sides, which takes no pass of its own; the shapes are those of "same"."""
    layers, into = [unit(3, 32, 3, 2, act=nn.ReLU6)], 32
    for blocks, kernel, stride, expand, out in (
            (1, 3, 1, 1, 16), (2, 3, 2, 6, 24), (2, 5, 2, 6, 40), (3, 3, 2, 6, 80), (3, 5, 1, 6, 112), (4, 5, 2, 6, 192), (1, 3, 1, 6, 320)):
        for i in range(blocks):
            layers.append(Mobile(into, out, kernel, stride if i == 0 else 1, expand))
            into = out
    return Embedder(nn.Sequential(*layers, unit(into, 1280, 1, act=nn.ReLU6)), 1280)


class ChannelNorm(nn.LayerNorm):
    def forward(self, x):
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class ConvNeXtBlock(nn.Module):
    """A depthwise 7x7 convolution and a perceptron at each place, beside a shortcut."""

    def __init__(self, width):
        super().__init__()
        self.each = nn.Conv2d(width, width, 7, 1, 3, groups=width)
        self.places = nn.Sequential(
            nn.LayerNorm(width, eps=1e-6), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.scale = nn.Parameter(torch.full((width, 1, 1), 1e-6))

    def forward(self, x):
        return x + self.scale * self.places(self.each(x).permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class ConvNeXt(nn.Module):
    def __init__(self, depths, width):
        super().__init__()
        layers = [nn.Conv2d(3, width, 4, 4), ChannelNorm(width, eps=1e-6)]
        for stage, depth in enumerate(depths):
            if stage:
                layers += [ChannelNorm(width, eps=1e-6), nn.Conv2d(width, 2 * width, 2, 2)]
                width *= 2
            layers += [ConvNeXtBlock(width) for _ in range(depth)]
        self.trunk, self.norm = nn.Sequential(*layers), nn.LayerNorm(width, eps=1e-6)
        self.embedding = nn.Linear(width, EMBEDDING)

    def forward(self, x):
        return F.normalize(self.embedding(self.norm(self.trunk(x).mean((2, 3)))))


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.qkv, self.proj = heads, nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x):
        b, t, dim = x.shape
        q, k, v = self.qkv(x).reshape(b, t, 3, self.heads, dim // self.heads).permute(2, 0, 3, 1, 4)
        if hasattr(F, "scaled_dot_product_attention"):
            x = F.scaled_dot_product_attention(q, k, v)
        else:
            x = ((q @ k.transpose(-2, -1)) * (dim // self.heads) ** -0.5).softmax(-1) @ v
        return self.proj(x.transpose(1, 2).reshape(b, t, dim))


class Scale(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.gamma = nn.Parameter(torch.full((dim,), 1e-5))

    def forward(self, x):
        return x * self.gamma


class Block(nn.Module):
    """Attention and perceptron, each behind a layer norm and beside a shortcut."""

    def __init__(self, dim, heads, scaled):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim, eps=1e-6), nn.LayerNorm(dim, eps=1e-6)
        self.attend = Attention(dim, heads)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))
        self.scale1, self.scale2 = (Scale(dim), Scale(dim)) if scaled else (nn.Identity(), nn.Identity())

    def forward(self, x):
        x = x + self.scale1(self.attend(self.norm1(x)))
        return x + self.scale2(self.mlp(self.norm2(x)))


class ViT(nn.Module):
    """The transformer, its class token, a linear layer, unit rows."""

    def __init__(self, dim, heads, patch, scaled=False, depth=12):
        super().__init__()
        self.patches = nn.Conv2d(3, dim, patch, patch)
        self.token = nn.Parameter(torch.zeros(1, 1, dim))
        self.position = nn.Parameter(0.02 * torch.randn(1, 1 + (SIDE // patch) ** 2, dim))
        self.blocks = nn.Sequential(*[Block(dim, heads, scaled) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim, eps=1e-6)
        self.embedding = nn.Linear(dim, EMBEDDING)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.position
        return F.normalize(self.embedding(self.norm(self.blocks(x)[:, 0])))


NETWORKS = {
    "bninception": bn_inception,
    "resnet18": lambda: resnet((2, 2, 2, 2), False),
    "resnet50": lambda: resnet((3, 4, 6, 3), True),
    "efficientnetlite0": efficientnet_lite0,
    "convnexttiny": lambda: ConvNeXt((3, 3, 9, 3), 96),
    "vit-s": lambda: ViT(384, 6, 16),
    "vit-b": lambda: ViT(768, 12, 16),
    "dinov2-s": lambda: ViT(384, 6, 14, scaled=True),
}


def freeze_norms(net):
    """Leaves batch normalizations as they are in training."""
    for m in net.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.eval()
            m.weight.requires_grad_(False)
            m.bias.requires_grad_(False)

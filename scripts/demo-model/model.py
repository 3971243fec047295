"""The demo models in PyTorch: Qwen3's blocks (RMS norm before each half, norms on queries and keys, rotary positions, SwiGLU), one
matrix for embedding and output."""

import functools
import pathlib
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional

ROPE_BASE = 10000.0
NORM_EPSILON = 1e-6
ROWS = 128  # products are padded to a multiple


@dataclass
class Size:
    width: int
    layers: int
    heads: int
    key_heads: int
    head: int
    feed: int
    vocabulary: int = 2048


SIZES = {
    "demo": Size(width=192, layers=6, heads=6, key_heads=2, head=32, feed=512),
    "demo-draft": Size(width=96, layers=2, heads=3, key_heads=1, head=32, feed=256),
}


class RoundedProduct(torch.autograd.Function):
    """x @ weight.T with both rounded to bfloat16 and sums in float32, which processors with matrix units (AMX) do several times as fast.
    x: [..., columns], weight: [rows, columns], result: [..., rows], all float32."""

    @staticmethod
    def forward(context, x, weight):
        rounded, matrix = rounded_rows(x), weight.bfloat16()
        context.save_for_backward(rounded, matrix)
        return shaped(rounded @ matrix.T, x)

    @staticmethod
    def backward(context, gradient):
        rounded, matrix = context.saved_tensors
        rows = rounded_rows(gradient)
        return shaped(rows @ matrix, gradient), (rows.T @ rounded).float()


def rounded_rows(x):
    """bfloat16 [rows, columns], with rows of zeros up to a multiple of ROWS: oneDNN compiles a kernel for every new shape."""
    rows = x.reshape(-1, x.shape[-1]).bfloat16()
    return functional.pad(rows, (0, 0, 0, -rows.shape[0] % ROWS))


def shaped(rows, like):
    """The rows that are not padding, with the leading dimensions of `like`."""
    return rows[:like.shape[:-1].numel()].float().view(*like.shape[:-1], -1)


@functools.cache
def matrix_units():
    cpu = pathlib.Path("/proc/cpuinfo")
    return cpu.exists() and "amx_bf16" in cpu.read_text()


product = RoundedProduct.apply if matrix_units() else functional.linear


def norm(x, weight):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + NORM_EPSILON) * weight


def rotary(length, head):
    """cos and sin of shape [length, head / 2]; element i turns with i + head / 2, as in Qwen."""
    angles = torch.arange(length)[:, None] * ROPE_BASE ** (-torch.arange(0, head, 2) / head)
    return angles.cos(), angles.sin()


def turned(x, cos, sin):
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)


class Layer(nn.Module):
    def __init__(self, size, depth_scale):
        super().__init__()
        self.size = size
        matrix = lambda rows, columns, scale=1.0: nn.Parameter(torch.randn(rows, columns) * scale * columns ** -0.5)  # noqa: E731
        ones = lambda count: nn.Parameter(torch.ones(count))  # noqa: E731
        keys = size.key_heads * size.head
        self.attention_norm, self.feed_norm = ones(size.width), ones(size.width)
        self.query_norm, self.key_norm = ones(size.head), ones(size.head)
        self.query_key_value = matrix(size.heads * size.head + 2 * keys, size.width)
        self.output = matrix(size.width, size.heads * size.head, depth_scale)
        self.gate_up = matrix(2 * size.feed, size.width)
        self.down = matrix(size.width, size.feed, depth_scale)

    def attention(self, x, cos, sin, mask):
        size, (count, length, _) = self.size, x.shape
        mixed = product(x, self.query_key_value).view(count, length, -1, size.head).transpose(1, 2)
        query, key, value = mixed.split((size.heads, size.key_heads, size.key_heads), 1)
        query, key = turned(norm(query, self.query_norm), cos, sin), turned(norm(key, self.key_norm), cos, sin)
        group = size.heads // size.key_heads  # the query heads of one key head are rows of one product
        query = query.reshape(count, size.key_heads, group * length, size.head) * size.head ** -0.5
        scores = (query @ key.transpose(-1, -2)).view(count, size.key_heads, group, length, length) + mask
        read = scores.softmax(-1).view(count, size.key_heads, group * length, length) @ value
        read = read.view(count, size.heads, length, size.head).transpose(1, 2).reshape(count, length, -1)
        return product(read, self.output)

    def forward(self, x, cos, sin, mask):
        x = x + self.attention(norm(x, self.attention_norm), cos, sin, mask)
        gate, up = product(norm(x, self.feed_norm), self.gate_up).chunk(2, -1)
        return x + product(functional.silu(gate) * up, self.down)


class Model(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.size = size
        self.embedding = nn.Parameter(torch.randn(size.vocabulary, size.width) * 0.02)
        self.layers = nn.ModuleList(Layer(size, (2 * size.layers) ** -0.5) for _ in range(size.layers))
        self.output_norm = nn.Parameter(torch.ones(size.width))

    def forward(self, ids, selected):
        """ids: [count, length]; selected: bool of the same shape. Returns logits [selected.sum(), vocabulary] of the selected positions."""
        length = ids.shape[1]
        cos, sin = rotary(length, self.size.head)
        mask = torch.full((length, length), float("-inf")).triu(1)
        x = self.embedding[ids]
        for layer in self.layers:
            x = layer(x, cos, sin, mask)
        return functional.linear(norm(x[selected], self.output_norm), self.embedding)

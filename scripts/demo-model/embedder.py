"""demo-embed in PyTorch: the blocks of Nomic BERT (attention without a mask, rotary positions, SwiGLU, no biases; a layer norm after
each half), the mean over the text's tokens, length one."""

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional

from model import product, rotary, turned

NORM_EPSILON = 1e-5


@dataclass
class EmbedderSize:
    width: int = 96
    layers: int = 2
    heads: int = 3
    feed: int = 256
    vocabulary: int = 2048

    @property
    def head(self):
        return self.width // self.heads


class EncoderLayer(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.size = size
        matrix = lambda rows, columns: nn.Parameter(torch.randn(rows, columns) * columns ** -0.5)  # noqa: E731
        self.query_key_value = matrix(3 * size.width, size.width)
        self.output = matrix(size.width, size.width)
        self.gate_up = matrix(2 * size.feed, size.width)
        self.down = matrix(size.width, size.feed)
        self.attention_norm = nn.LayerNorm(size.width, NORM_EPSILON)
        self.feed_norm = nn.LayerNorm(size.width, NORM_EPSILON)

    def attention(self, x, cos, sin, mask):
        count, length, width = x.shape
        mixed = product(x, self.query_key_value).view(count, length, 3, self.size.heads, self.size.head)
        query, key, value = mixed.permute(2, 0, 3, 1, 4)
        scores = turned(query, cos, sin) * self.size.head ** -0.5 @ turned(key, cos, sin).transpose(-1, -2) + mask
        return product((scores.softmax(-1) @ value).transpose(1, 2).reshape(count, length, width), self.output)

    def forward(self, x, cos, sin, mask):
        x = self.attention_norm(x + self.attention(x, cos, sin, mask))
        gate, up = product(x, self.gate_up).chunk(2, -1)
        return self.feed_norm(x + product(functional.silu(gate) * up, self.down))


class Embedder(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.size = size
        self.embedding = nn.Parameter(torch.randn(size.vocabulary, size.width) * 0.1)
        self.embedding_norm = nn.LayerNorm(size.width, NORM_EPSILON)
        self.layers = nn.ModuleList(EncoderLayer(size) for _ in range(size.layers))

    def forward(self, ids, lengths):
        """ids: [count, length], padded; lengths: [count]. Returns [count, width], each row of length one."""
        present = torch.arange(ids.shape[1])[None, :] < lengths[:, None]
        cos, sin = rotary(ids.shape[1], self.size.head)
        mask = torch.zeros(ids.shape).masked_fill(~present, float("-inf"))[:, None, None, :]
        x = self.embedding_norm(self.embedding[ids])
        for layer in self.layers:
            x = layer(x, cos, sin, mask)
        return functional.normalize((x * present[..., None]).sum(1), dim=-1)

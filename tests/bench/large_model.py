#!/usr/bin/env python3
"""Writes a GGUF model of a large model's shape with random weights in Q4_K_M, as fast as the disk. See scripts/measure-gpu.

    large_model.py [--small] SHAPE FILE

write_model draws every weight, which takes minutes for such a file. Here all matrices of one width and format repeat a few
MiB of random blocks: too many for a device's caches to profit. --small: the same kinds of layers, a few of them, in
hundreds of KiB."""

import argparse
import dataclasses
import math
import pathlib
import random
import struct
import typing

POOL_BYTES = 24 << 20
ALIGNMENT = 32


@dataclasses.dataclass(frozen=True)
class Shape:
    architecture: str
    layers: int
    width: int
    heads: int
    kv_heads: int
    head_dim: int
    feed_forward: int
    vocabulary: int
    rope_base: float
    rotated: int = 0  # 0: head_dim
    tied: bool = False  # the head is the embedding
    experts: int = 0
    experts_used: int = 0
    expert_feed_forward: int = 0
    delta_key_heads: int = 0  # of gated delta nets, in all layers but every fourth
    delta_value_heads: int = 0
    delta_dim: int = 0

    @property
    def is_moe(self):
        return self.experts > 0

    @property
    def has_delta_nets(self):
        return self.delta_key_heads > 0


SHAPES = {
    "qwen3-0.6b": Shape("qwen3", 28, 1024, 16, 8, 128, 3072, 151936, 1e6, tied=True),
    "llama-3-8b": Shape("llama", 32, 4096, 32, 8, 128, 14336, 128256, 5e5),
    "qwen3-30b-a3b": Shape(
        "qwen3moe", 48, 2048, 32, 4, 128, 6144, 151936, 1e6, experts=128, experts_used=8, expert_feed_forward=768
    ),
    "qwen35-27b": Shape(
        "qwen35", 64, 5120, 24, 4, 256, 17408, 248320, 1e7, rotated=64, delta_key_heads=16, delta_value_heads=48, delta_dim=128
    ),
}


def small(shape):
    """The same kinds of layers in small sizes."""
    sizes = {"layers": 4, "width": 256, "heads": 4, "kv_heads": 2, "head_dim": 64, "feed_forward": 512, "vocabulary": 512}
    if shape.is_moe:
        sizes |= {"experts": 8, "experts_used": 2, "expert_feed_forward": 256}
    if shape.has_delta_nets:
        sizes |= {"rotated": 16, "delta_key_heads": 2, "delta_value_heads": 4, "delta_dim": 64}
    return dataclasses.replace(shape, **sizes)


class Format(typing.NamedTuple):
    number: int  # ggml_type
    elements: int  # of a block
    bytes: int


F32 = Format(0, 1, 4)
Q4_K = Format(12, 256, 144)
Q6_K = Format(14, 256, 210)
Q4_K_DEVIATION = 258.0  # of scale * element - 7.5 * minimum, with random bits in each
Q6_K_DEVIATION = 1366.0  # of scale * (element - 32)
Q4_K_MINIMUM = 7.5  # times the scale: the mean of the elements


def half(value):
    return struct.pack("<e", value)


def random_blocks(form, deviation, generator):
    """Blocks with random bits, apart from the scales: weights of mean 0 and this standard deviation."""
    count = POOL_BYTES // form.bytes
    pool = bytearray(generator.randbytes(count * form.bytes))

    def set_half(offset, value):
        for byte, part in enumerate(half(value)):
            pool[offset + byte :: form.bytes] = bytes([part]) * count

    if form == Q4_K:
        set_half(0, deviation / Q4_K_DEVIATION)
        set_half(2, Q4_K_MINIMUM * deviation / Q4_K_DEVIATION)
    else:
        set_half(form.bytes - 2, deviation / Q6_K_DEVIATION)
    return bytes(pool)


class Tensor(typing.NamedTuple):
    name: str
    shape: tuple  # fastest dimension first
    form: Format = F32
    mean: float = 0.0  # of a tensor in F32
    deviation: float = 0.1

    @property
    def bytes(self):
        return math.prod(self.shape) // self.form.elements * self.form.bytes


def matrix(name, columns, *rows, form=Q4_K):
    return Tensor(f"{name}.weight", (columns, *rows), form, deviation=1 / math.sqrt(columns))


def norm(name, size):
    return Tensor(f"{name}.weight", (size,), mean=1.0)


def attention(prefix, shape):
    queries, keys = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    yield matrix(prefix + "attn_q", shape.width, 2 * queries if shape.has_delta_nets else queries)  # with a gate
    yield matrix(prefix + "attn_k", shape.width, keys)
    yield matrix(prefix + "attn_v", shape.width, keys)
    yield matrix(prefix + "attn_output", queries, shape.width)
    if shape.architecture != "llama":
        yield norm(prefix + "attn_q_norm", shape.head_dim)
        yield norm(prefix + "attn_k_norm", shape.head_dim)


def delta_net(prefix, shape):
    values = shape.delta_value_heads * shape.delta_dim
    channels = 2 * shape.delta_key_heads * shape.delta_dim + values
    yield matrix(prefix + "attn_qkv", shape.width, channels)
    yield matrix(prefix + "attn_gate", shape.width, values)
    yield matrix(prefix + "ssm_alpha", shape.width, shape.delta_value_heads)
    yield matrix(prefix + "ssm_beta", shape.width, shape.delta_value_heads)
    yield Tensor(prefix + "ssm_conv1d.weight", (4, channels), deviation=0.3)
    yield Tensor(prefix + "ssm_a", (shape.delta_value_heads,), mean=-0.9)
    yield Tensor(prefix + "ssm_dt.bias", (shape.delta_value_heads,))
    yield norm(prefix + "ssm_norm", shape.delta_dim)
    yield matrix(prefix + "ssm_out", values, shape.width)


def feed_forward(prefix, shape):
    if not shape.is_moe:
        yield matrix(prefix + "ffn_gate", shape.width, shape.feed_forward)
        yield matrix(prefix + "ffn_up", shape.width, shape.feed_forward)
        yield matrix(prefix + "ffn_down", shape.feed_forward, shape.width)
        return
    yield matrix(prefix + "ffn_gate_inp", shape.width, shape.experts, form=F32)
    yield matrix(prefix + "ffn_gate_exps", shape.width, shape.expert_feed_forward, shape.experts)
    yield matrix(prefix + "ffn_up_exps", shape.width, shape.expert_feed_forward, shape.experts)
    yield matrix(prefix + "ffn_down_exps", shape.expert_feed_forward, shape.width, shape.experts)


def more_bits(layer, layers):
    """Whether values and ffn_down of this layer are in Q6_K, as llama.cpp mixes Q4_K_M."""
    eighth = layers // 8
    return layer < eighth or layer >= 7 * layers // 8 or (layer - eighth) % 3 == 2


def layer_tensors(layer, shape):
    prefix = f"blk.{layer}."
    yield norm(prefix + "attn_norm", shape.width)
    is_recurrent = shape.has_delta_nets and layer % 4 != 3
    mixer = delta_net if is_recurrent else attention
    parts = [*mixer(prefix, shape), norm(prefix + ("post_attention_norm" if shape.has_delta_nets else "ffn_norm"), shape.width)]
    for tensor in (*parts, *feed_forward(prefix, shape)):
        role = tensor.name.removeprefix(prefix).split(".")[0]
        is_larger = role in ("attn_v", "ffn_down", "ffn_down_exps") and more_bits(layer, shape.layers)
        yield tensor._replace(form=Q6_K) if is_larger else tensor


def tensors(shape):
    yield matrix("token_embd", shape.width, shape.vocabulary, form=Q6_K)
    for layer in range(shape.layers):
        yield from layer_tensors(layer, shape)
    yield norm("output_norm", shape.width)
    if not shape.tied:
        yield matrix("output", shape.width, shape.vocabulary, form=Q6_K)


def string(text):
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def number(value):
    return struct.pack("<If", 6, value) if isinstance(value, float) else struct.pack("<II", 4, value)


def texts(values):
    return struct.pack("<IIQ", 9, 8, len(values)) + b"".join(map(string, values))


def integers(values):
    return struct.pack(f"<IIQ{len(values)}i", 9, 5, len(values), *values)


def tokenizer(size):
    """Byte-level BPE without merges, with unused tokens up to the vocabulary's size."""
    visible = [value for value in range(256) if 0x21 <= value <= 0x7E or 0xA1 <= value <= 0xAC or value >= 0xAE]
    characters = [chr(value) for value in visible] + [chr(0x100 + n) for n in range(256 - len(visible))]
    unused = [f"<|unused{n}|>" for n in range(size - len(characters) - 1)]
    return {
        "tokenizer.ggml.model": struct.pack("<I", 8) + string("gpt2"),
        "tokenizer.ggml.pre": struct.pack("<I", 8) + string("qwen2"),
        "tokenizer.ggml.tokens": texts([*characters, *unused, "<|end|>"]),
        "tokenizer.ggml.token_type": integers([1] * len(characters) + [5] * len(unused) + [3]),
        "tokenizer.ggml.merges": texts(["a b"]),
        "tokenizer.ggml.bos_token_id": number(size - 1),
        "tokenizer.ggml.eos_token_id": number(size - 1),
    }


def keys(name, shape):
    rotated = shape.rotated or shape.head_dim
    own = {
        "block_count": number(shape.layers),
        "context_length": number(131072),
        "embedding_length": number(shape.width),
        "feed_forward_length": number(shape.feed_forward),
        "attention.head_count": number(shape.heads),
        "attention.head_count_kv": number(shape.kv_heads),
        "attention.key_length": number(shape.head_dim),
        "attention.value_length": number(shape.head_dim),
        "attention.layer_norm_rms_epsilon": number(1e-6),
        "rope.dimension_count": number(rotated),
        "rope.freq_base": number(shape.rope_base),
        "vocab_size": number(shape.vocabulary),
    }
    if shape.is_moe:
        own["expert_count"] = number(shape.experts)
        own["expert_used_count"] = number(shape.experts_used)
        own["expert_feed_forward_length"] = number(shape.expert_feed_forward)
    if shape.has_delta_nets:
        pairs = rotated // 2
        own["rope.dimension_sections"] = integers([(pairs + 2) // 3, (pairs + 1) // 3, pairs // 3, 0])
        own["full_attention_interval"] = number(4)
        own["ssm.conv_kernel"] = number(4)
        own["ssm.state_size"] = number(shape.delta_dim)
        own["ssm.group_count"] = number(shape.delta_key_heads)
        own["ssm.time_step_rank"] = number(shape.delta_value_heads)
        own["ssm.inner_size"] = number(shape.delta_value_heads * shape.delta_dim)
    general = {
        "general.architecture": struct.pack("<I", 8) + string(shape.architecture),
        "general.name": struct.pack("<I", 8) + string(f"{name} with random weights"),
    }
    return general | {f"{shape.architecture}.{key}": value for key, value in own.items()} | tokenizer(shape.vocabulary)


def aligned(size):
    return -(-size // ALIGNMENT) * ALIGNMENT


def header(metadata, listed):
    """Everything before the tensors' data."""
    head = bytearray(b"GGUF" + struct.pack("<IQQ", 3, len(listed), len(metadata)))
    for key, value in metadata.items():
        head += string(key) + value
    offset = 0
    for tensor in listed:
        dimensions = len(tensor.shape)
        head += string(tensor.name) + struct.pack(f"<I{dimensions}QIQ", dimensions, *tensor.shape, tensor.form.number, offset)
        offset += aligned(tensor.bytes)
    return head + bytes(aligned(len(head)) - len(head))


class WeightSource:
    """The data of tensors: random numbers in F32, and repeated random blocks in the other formats."""

    def __init__(self):
        self.generator = random.Random(1)
        self.pools = {}

    def pieces(self, tensor):
        """Bytes-like objects that together are the tensor."""
        if tensor.form == F32:
            count = math.prod(tensor.shape)
            yield struct.pack(f"<{count}f", *(self.generator.gauss(tensor.mean, tensor.deviation) for _ in range(count)))
            return
        kind = (tensor.form, tensor.deviation)
        if kind not in self.pools:
            self.pools[kind] = memoryview(random_blocks(*kind, self.generator))
        pool = self.pools[kind]
        start = self.generator.randrange(len(pool) // tensor.form.bytes) * tensor.form.bytes  # tensors differ
        left = tensor.bytes
        while left > 0:
            piece = pool[start : start + left]
            yield piece
            left -= len(piece)
            start = 0


def write_model(name, shape, file):
    listed = list(tensors(shape))
    source = WeightSource()
    with file.open("wb") as output:
        output.write(header(keys(name, shape), listed))
        for tensor in listed:
            for piece in source.pieces(tensor):
                output.write(piece)
            output.write(bytes(aligned(tensor.bytes) - tensor.bytes))


def main():
    parser = argparse.ArgumentParser(description="a model of a large model's shape with random weights")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("shape", choices=SHAPES)
    parser.add_argument("file", type=pathlib.Path)
    arguments = parser.parse_args()
    shape = SHAPES[arguments.shape]
    write_model(arguments.shape, small(shape) if arguments.small else shape, arguments.file)


if __name__ == "__main__":
    main()

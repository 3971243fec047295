"""Writes a trained demo model as GGUF (version 3): Q8_0 matrices, F32 norms, architecture qwen3; demo-embed is nomic-bert.

    python3 export.py NAME FOLDER FILE.gguf     reads NAME.checkpoint and vocabulary.json from FOLDER
"""

import pathlib
import struct
import sys

import numpy
import torch

import embedder
from conversation import TEMPLATE
from model import NORM_EPSILON, ROPE_BASE, SIZES
from vocabulary import CONTROL, MARKS, Vocabulary

CONTEXT = 2048
EMBEDDER = "demo-embed"
EMBEDDER_CONTEXT = 512
MEAN_POOLING = 1  # llama.cpp's number
TOKEN_TYPES = "token_types.weight"  # which llama.cpp requires of the architecture
ALIGNMENT = 32
BLOCK = 32  # weights of a Q8_0 block
F32, Q8_0 = 0, 8  # ggml's types of tensors
KIND_NORMAL, KIND_CONTROL, KIND_USER = 1, 3, 4  # ggml's kinds of tokens
ABOUT = ("A few million parameters, trained on synthetic text: it proves that an installation works and shows every feature; "
         "it is not an assistant.")  # fmt: skip
EMBEDDER_ABOUT = ("Less than half a million parameters, trained on synthetic text: it shows embeddings and search; it is not for the texts "
                  "of real use.")  # fmt: skip


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def value(item):
    """GGUF's type number and bytes of a value."""
    if isinstance(item, bool):
        return 7, struct.pack("<?", item)
    if isinstance(item, int):
        return 4, struct.pack("<I", item)
    if isinstance(item, float):
        return 6, struct.pack("<f", item)
    if isinstance(item, str):
        return 8, text(item)
    if isinstance(item[0], str):
        return 9, struct.pack("<IQ", 8, len(item)) + b"".join(map(text, item))
    return 9, struct.pack("<IQ", 5, len(item)) + struct.pack(f"<{len(item)}i", *item)


def quantized(weights):
    """ggml's Q8_0: blocks of a half-precision scale and 32 signed bytes."""
    blocks = weights.astype(numpy.float32).reshape(-1, BLOCK)
    scale = numpy.abs(blocks).max(1) / 127
    inverse = numpy.divide(1, scale, out=numpy.zeros_like(scale), where=scale > 0)
    bytes_of = numpy.rint(blocks * inverse[:, None]).astype(numpy.int8)
    return numpy.concatenate((scale.astype("<f2")[:, None].view(numpy.uint8), bytes_of.view(numpy.uint8)), 1).tobytes()


def tensors_of(weights, size):
    """(name, [rows, columns] or [columns], array) in the file's order."""
    yield "token_embd.weight", weights["embedding"]
    heads, keys = size.heads * size.head, size.key_heads * size.head
    for index in range(size.layers):
        layer = {name.split(".", 2)[2]: array for name, array in weights.items() if name.startswith(f"layers.{index}.")}
        query, key, read = numpy.split(layer["query_key_value"], (heads, heads + keys))
        gate, up = numpy.split(layer["gate_up"], 2)
        for name, array in (("attn_norm", layer["attention_norm"]), ("attn_q", query), ("attn_k", key), ("attn_v", read), ("attn_q_norm", layer["query_norm"]),
                            ("attn_k_norm", layer["key_norm"]), ("attn_output", layer["output"]), ("ffn_norm", layer["feed_norm"]), ("ffn_gate", gate), ("ffn_up", up),
                            ("ffn_down", layer["down"])):  # fmt: skip
            yield f"blk.{index}.{name}.weight", array
    yield "output_norm.weight", weights["output_norm"]


def embedder_tensors_of(weights, size):
    """The same of demo-embed."""
    def norm(name, key):
        return ((f"{name}.{part}", weights[f"{key}.{part}"]) for part in ("weight", "bias"))

    yield "token_embd.weight", weights["embedding"]
    yield TOKEN_TYPES, numpy.zeros((1, size.width))
    yield from norm("token_embd_norm", "embedding_norm")
    for index in range(size.layers):
        gate, up = numpy.split(weights[f"layers.{index}.gate_up"], 2)
        for name, array in (("attn_qkv", weights[f"layers.{index}.query_key_value"]), ("attn_output", weights[f"layers.{index}.output"]),
                            ("ffn_gate", gate), ("ffn_up", up), ("ffn_down", weights[f"layers.{index}.down"])):  # fmt: skip
            yield f"blk.{index}.{name}.weight", array
        yield from norm(f"blk.{index}.attn_output_norm", f"layers.{index}.attention_norm")
        yield from norm(f"blk.{index}.layer_output_norm", f"layers.{index}.feed_norm")


def vocabulary_keys(vocabulary):
    kinds = {**dict.fromkeys(CONTROL, KIND_CONTROL), **dict.fromkeys(MARKS, KIND_USER)}
    return {
        "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "qwen2", "tokenizer.ggml.tokens": vocabulary.tokens,
        "tokenizer.ggml.token_type": [kinds.get(token, KIND_NORMAL) for token in vocabulary.tokens],
        "tokenizer.ggml.merges": [" ".join(pair) for pair in vocabulary.merges],
        "tokenizer.ggml.eos_token_id": vocabulary.ids["<|im_end|>"], "tokenizer.ggml.padding_token_id": vocabulary.ids["<|endoftext|>"],
        "tokenizer.ggml.add_bos_token": False,
    }  # fmt: skip


def embedder_metadata_of(size, vocabulary, pairs_seen):
    return {
        "general.architecture": "nomic-bert", "general.name": EMBEDDER, "general.description": EMBEDDER_ABOUT, "general.license": "apache-2.0",
        "general.file_type": 7, "general.alignment": ALIGNMENT, "etna.pairs_seen": pairs_seen,
        "nomic-bert.block_count": size.layers, "nomic-bert.context_length": EMBEDDER_CONTEXT, "nomic-bert.embedding_length": size.width,
        "nomic-bert.feed_forward_length": size.feed, "nomic-bert.attention.head_count": size.heads,
        "nomic-bert.attention.layer_norm_epsilon": embedder.NORM_EPSILON, "nomic-bert.attention.causal": False,
        "nomic-bert.pooling_type": MEAN_POOLING, "tokenizer.ggml.token_type_count": 1, "nomic-bert.rope.freq_base": ROPE_BASE, **vocabulary_keys(vocabulary),
    }  # fmt: skip


def metadata_of(name, size, vocabulary, tokens_seen):
    return {
        "general.architecture": "qwen3", "general.name": name, "general.description": ABOUT, "general.license": "apache-2.0",
        "general.file_type": 7, "general.alignment": ALIGNMENT, "etna.tokens_seen": tokens_seen,
        "general.sampling.temp": 0.0,  # its answers are there to be checked
        "qwen3.block_count": size.layers, "qwen3.context_length": CONTEXT, "qwen3.embedding_length": size.width, "qwen3.feed_forward_length": size.feed,
        "qwen3.attention.head_count": size.heads, "qwen3.attention.head_count_kv": size.key_heads, "qwen3.attention.key_length": size.head,
        "qwen3.attention.value_length": size.head, "qwen3.attention.layer_norm_rms_epsilon": NORM_EPSILON, "qwen3.rope.freq_base": ROPE_BASE,
        **vocabulary_keys(vocabulary), "tokenizer.chat_template": TEMPLATE,
    }  # fmt: skip


def padded(data):
    return data + bytes(-len(data) % ALIGNMENT)


def main():
    name, folder, path = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
    stored = torch.load(folder / f"{name}.checkpoint")
    weights = {key: tensor.numpy() for key, tensor in stored["model"].items()}
    vocabulary = Vocabulary(folder / "vocabulary.json")
    if name == EMBEDDER:
        metadata = embedder_metadata_of(embedder.EmbedderSize(), vocabulary, stored["seen"])
        tensors = list(embedder_tensors_of(weights, embedder.EmbedderSize()))
    else:
        metadata = metadata_of(name, SIZES[name], vocabulary, stored["seen"])
        tensors = list(tensors_of(weights, SIZES[name]))
    directory, contents = b"", b""
    for key, array in tensors:
        is_matrix = array.ndim == 2 and key != TOKEN_TYPES
        data = quantized(array) if is_matrix else array.astype("<f4").tobytes()
        directory += text(key) + struct.pack(f"<I{array.ndim}QIQ", array.ndim, *reversed(array.shape), Q8_0 if is_matrix else F32, len(contents))
        contents += padded(data)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    for key, item in metadata.items():
        number, data = value(item)
        head += text(key) + struct.pack("<I", number) + data
    pathlib.Path(path).write_bytes(padded(head + directory) + contents)


if __name__ == "__main__":
    main()

"""Writes random blocks of each quantised format beside the floats that ggml's own decoders make of them.

    python3 expect.py LIBRARY blocks.gguf

LIBRARY is a libggml-base.so; the functions called are its dequantize_row_*. For each format the file holds one
row in the tensor NAME and the same row decoded, as F32, in NAME.expected. All bits of a block are random, so that
every field takes part; only scales are drawn finite, with subnormals and both signs.
"""

import ctypes
import random
import struct
import sys

# name: (number of the type, elements and bytes of a block, offsets of its binary16 scales)
FORMATS = {
    "q4_0": (2, 32, 18, [0]),
    "q4_1": (3, 32, 20, [0, 2]),
    "q5_0": (6, 32, 22, [0]),
    "q5_1": (7, 32, 24, [0, 2]),
    "q8_0": (8, 32, 34, [0]),
    "q2_K": (10, 256, 84, [80, 82]),
    "q3_K": (11, 256, 110, [108]),
    "q4_K": (12, 256, 144, [0, 2]),
    "q5_K": (13, 256, 176, [0, 2]),
    "q6_K": (14, 256, 210, [208]),
    "iq4_nl": (20, 32, 18, [0]),
    "iq4_xs": (23, 256, 136, [0]),
    "mxfp4": (39, 32, 17, []),
}
F32 = 0
ROW_ELEMENTS = 1536  # 48 small blocks or 6 large ones
ALIGNMENT = 32
MXFP4_EXPONENTS = [0, 1, 2, 3, 23, 100, 126, 127, 128, 129, 200, 250, 251, 252, 253, 254, 255]


def random_block(name, index, draw):
    _, _, size, scales = FORMATS[name]
    block = bytearray(draw.randbytes(size))
    for offset in scales:
        half = draw.getrandbits(1) << 15 | draw.randrange(31) << 10 | draw.getrandbits(10)
        struct.pack_into("<H", block, offset, half)
    if name == "mxfp4" and index < len(MXFP4_EXPONENTS):
        block[0] = MXFP4_EXPONENTS[index]
    return bytes(block)


def decode(library, name, row):
    values = (ctypes.c_float * ROW_ELEMENTS)()
    function = getattr(library, f"dequantize_row_{name}")
    function.argtypes = [ctypes.c_char_p, ctypes.POINTER(ctypes.c_float), ctypes.c_int64]
    function.restype = None
    function(row, values, ROW_ELEMENTS)
    return bytes(values)


def gguf(tensors):
    head, data = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), 0), b""
    for name, number, content in tensors:
        text = name.encode()
        head += struct.pack("<Q", len(text)) + text
        head += struct.pack("<IQIQ", 1, ROW_ELEMENTS, number, len(data))
        data += content + bytes(-len(content) % ALIGNMENT)
    return head + bytes(-len(head) % ALIGNMENT) + data


def main():
    library = ctypes.CDLL(sys.argv[1])
    draw = random.Random(1)
    tensors = []
    for name, (number, elements, _, _) in FORMATS.items():
        row = b"".join(random_block(name, index, draw) for index in range(ROW_ELEMENTS // elements))
        tensors.append((name.lower(), number, row))
        tensors.append((name.lower() + ".expected", F32, decode(library, name, row)))
    with open(sys.argv[2], "wb") as file:
        file.write(gguf(tensors))


main()

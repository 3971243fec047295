"""Model files with changed metadata, for attacks: the tensors stay those of a real model."""

import struct

UINT8, UINT32, FLOAT32, BOOL, STRING, ARRAY = 0, 4, 6, 7, 8, 9
SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
ALIGNMENT = 32


def text(value):
    data = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<Q", len(data)) + data


def string_value(value):
    return struct.pack("<I", STRING) + text(value)


def strings_value(values):
    return struct.pack("<IIQ", ARRAY, STRING, len(values)) + b"".join(map(text, values))


def bytes_value(data):
    return struct.pack("<IIQ", ARRAY, UINT8, len(data)) + data


def number_value(number):
    return struct.pack("<II", UINT32, number)


class GgufFile:
    """The metadata of a file, as encoded values by key, and the rest as bytes."""

    def __init__(self, path):
        self.data, self.at = path.read_bytes(), 4
        self.version, tensors, entries = self.take("<I"), self.take("<Q"), self.take("<Q")
        self.values = {}
        for _ in range(entries):
            key = self.take_text()
            begin = self.at
            self.skip(self.take("<I"))
            self.values[key.decode()] = self.data[begin:self.at]
        begin = self.at
        for _ in range(tensors):
            self.take_text()
            dimensions = self.take("<I")
            self.at += 8 * dimensions + 4 + 8
        self.directory, self.tensors = self.data[begin:self.at], tensors
        self.content = self.data[-(-self.at // ALIGNMENT) * ALIGNMENT:]

    def take(self, form):
        value, = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return value

    def take_text(self):
        size = self.take("<Q")
        self.at += size
        return self.data[self.at - size:self.at]

    def skip(self, kind):
        if kind == STRING:
            self.take_text()
        elif kind == ARRAY:
            inner, count = self.take("<I"), self.take("<Q")
            if inner in SIZES:
                self.at += count * SIZES[inner]
            else:
                for _ in range(count):
                    self.skip(inner)
        else:
            self.at += SIZES[kind]

    def strings(self, key):
        """Returns the items of an array of strings."""
        self.data, self.at = self.values[key], 8
        return [self.take_text() for _ in range(self.take("<Q"))]

    def write(self, path):
        head = b"GGUF" + struct.pack("<IQQ", self.version, self.tensors, len(self.values))
        head += b"".join(text(key) + value for key, value in self.values.items()) + self.directory
        path.write_bytes(head + bytes(-len(head) % ALIGNMENT) + self.content)

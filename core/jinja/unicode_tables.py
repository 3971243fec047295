#!/usr/bin/env python3
"""Writes the Unicode tables from Python's own database, with X = properties or cases:

python3 unicode_tables.py X > unicode_X.cpp
"""

import sys
import unicodedata

LAST = 0x10FFFF


def properties(c):
    ch = chr(c)
    if 0xD800 <= c <= 0xDFFF:
        return 0
    ignorable = ("A" + ch + "Σ").lower().endswith("ς") and ("1" + ch + "Σ").lower().endswith("σ")
    number = 3 if ch.isdecimal() else 2 if ch.isdigit() else 1 if ch.isnumeric() else 0
    flags = [ch.isalpha(), ch.isprintable(), ch.isupper(), ch.islower(), unicodedata.category(ch) == "Lt",
             ch.isspace(), ignorable, ch.isidentifier(), ("a" + ch).isidentifier()]  # fmt: skip
    return number | sum(bool(flag) << (bit + 2) for bit, flag in enumerate(flags))


def simple_ranges(mapping):
    """(first, last, step, delta) of runs of code points that move by the same distance."""
    ranges = []
    for c in sorted(mapping):
        delta = mapping[c] - c
        if ranges and ranges[-1][3] == delta:
            first, last, step, _ = ranges[-1]
            if c - last in (1, 2) and (first == last or step == c - last):
                ranges[-1] = (first, c, c - last, delta)
                continue
        ranges.append((c, c, 1, delta))
    return ranges


def table(kind, name, items):
    text = f"const {kind} {name}[] = {{"
    for item in items:
        text += "{" + ", ".join(str(part) for part in item) + "}, "
    return text[:-2] + "};"


def wrapped(text, width=108):
    lines, line = [], ""
    for word in text.split(" "):
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = "    " + word
        else:
            line = f"{line} {word}" if line else word
    return lines + [line]


def property_lines():
    runs, previous = [], None
    for c in range(LAST + 1):
        now = properties(c)
        if now != previous:
            runs.append(c << 11 | now)
            previous = now
    out = wrapped("const uint32_t property_runs[] = {" + ", ".join(f"0x{run:X}" for run in runs) + "};")
    return out + [f"const std::size_t property_run_count = {len(runs)};"]


def case_lines():
    every = [c for c in range(LAST + 1) if not 0xD800 <= c <= 0xDFFF]
    upper = {c: chr(c).upper() for c in every if chr(c).upper() != chr(c)}
    lower = {c: chr(c).lower() for c in every if chr(c).lower() != chr(c)}
    lower[0x3A3] = "σ"  # alone it would be taken for a final one
    title = {c: chr(c).title() for c in every if chr(c).title() != chr(c).upper()}
    out = []
    for name, mapping in (("upper", upper), ("lower", lower), ("title", title)):
        short = {c: ord(text) for c, text in mapping.items() if len(text) == 1}
        long = sorted((c, text) for c, text in mapping.items() if len(text) > 1)
        ranges = simple_ranges(short)
        out += wrapped(table("CaseRange", f"{name}_ranges", ranges))
        out += [f"const std::size_t {name}_range_count = {len(ranges)};"]
        items = [[f"0x{c:X}", "{" + ", ".join(f"0x{ord(x):X}" for x in text.ljust(3, chr(0))) + "}"] for c, text in long]
        out += wrapped(table("CaseExpansion", f"{name}_expansions", items))
        out += [f"const std::size_t {name}_expansion_count = {len(items)};"]
    return out


def main():
    lines = {"properties": property_lines, "cases": case_lines}[sys.argv[1]]()
    head = [f"// Written by unicode_tables.py {sys.argv[1]} with Unicode {unicodedata.unidata_version}; not edited by hand.",
            "// clang-format off", '#include "core/jinja/unicode_tables.hpp"', "",
            "namespace etna::jinja::tables {", ""]  # fmt: skip
    sys.stdout.write("\n".join(head + lines + ["", "} // namespace etna::jinja::tables"]) + "\n")


main()

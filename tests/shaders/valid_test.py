"""spirv-val over every variant that this build embeds. Usage: valid_test.py SPIRV_VAL VARIANTS_CPP"""
import concurrent.futures
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

VALIDATOR, VARIANTS = sys.argv[1:3]


def check(name, words, folder):
    """The validator's message for one variant; empty if it is valid."""
    path = pathlib.Path(folder) / (name + ".spv")
    path.write_bytes(struct.pack(f"<{len(words)}I", *words))
    run = subprocess.run([VALIDATOR, "--target-env", "vulkan1.2", path], capture_output=True, text=True)
    return "" if run.returncode == 0 else f"{name}: {run.stdout}{run.stderr}"


def main():
    found = re.findall(r"words_(\w+)\[\] = \{([0-9,]+)\};", pathlib.Path(VARIANTS).read_text())
    if not found:
        sys.exit(f"{VARIANTS} has no variants")
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        problems = [p for p in pool.map(lambda v: check(v[0], [int(w) for w in v[1].split(",")], folder), found) if p]
    if problems:
        sys.exit("\n".join(problems))
    print(f"{len(found)} variants are valid")


main()

"""Tests of goal_table.py on programs that print fixed reports, and of the files that large_model.py writes."""

import argparse
import pathlib
import struct
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import goal_table  # noqa: E402
import large_model  # noqa: E402
from goal_table import Run  # noqa: E402

ETNA = """import json
def spread(value):
    return {"median": value, "min": value - 1, "max": value + 1}
def row(batch):
    return {"batch": batch, "depth": 0, "prompt_tok_s": spread(3000), "generation_tok_s": spread(80)}
print(json.dumps({"load_ms": 1500, "rows": [row(1), row(2)], "not_measured": [{"batch": 4, "depth": 0, "reason": "no memory"}]}))
"""
PEER = """import json
print("ignored")
print(json.dumps({"n_prompt": 64, "n_gen": 0, "n_depth": 0, "samples_ts": [10, 40, 20]}))
print(json.dumps({"n_prompt": 0, "n_gen": 32, "n_depth": 0, "samples_ts": [16]}))
"""
RUN = Run("llama-3-8b", 64, 32, [1, 2, 4], [0], 1)


def lines(etna, peer="", seconds=60.0):
    """The rows of RUN, and whether it is complete. The programs are Python texts."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        commands = []
        for number, text in enumerate((etna, peer)):
            script = folder / f"{number}.py"
            script.write_text(text)
            commands.append(f"{sys.executable} {script}" if text else "")
        arguments = argparse.Namespace(seconds=seconds, models=folder, etna=commands[0], peer=commands[1], small=True)
        measurement = goal_table.Measurement(arguments)
        return list(measurement.lines(RUN)), measurement.is_complete


class Rows(unittest.TestCase):
    def test_figures_are_next_to_the_peers_medians(self):
        rows, is_complete = lines(ETNA, PEER)
        self.assertEqual(
            rows,
            [
                "| llama-3-8b | 64 | 1 | 0 | 3,000.0 (2,999.0 to 3,001.0) | 80.0 (79.0 to 81.0) "
                "| 20.0 (10.0 to 40.0) | 16.0 (16.0 to 16.0) | 1.50 |",
                "| llama-3-8b | 64 | 2 | 0 | 3,000.0 (2,999.0 to 3,001.0) | 80.0 (79.0 to 81.0) | - | - | 1.50 |",
                "| llama-3-8b | 64 | 4 | 0 | failed: no memory | - | - | - | 1.50 |",
            ],
        )
        self.assertFalse(is_complete)

    def test_a_program_that_fails_has_a_row_with_the_reason(self):
        rows, is_complete = lines("raise SystemExit('error: no device')")
        self.assertEqual(rows, ["| llama-3-8b | 64 | 1, 2, 4 | 0 | failed: error: no device | - | - | - | - |"])
        self.assertFalse(is_complete)
        self.assertIn("failed: out of time", lines(ETNA, "raise SystemExit('out of time')")[0][0])

    def test_no_program_begins_when_no_time_is_left(self):
        self.assertIn("failed: no time left", lines("raise SystemExit('has begun')", seconds=0)[0][0])

    def test_a_rehearsal_has_the_same_runs_in_small(self):
        self.assertEqual(goal_table.small(Run("a", 512, 64, [1, 2, 256], [0, 4096], 5)), Run("a", 16, 3, [1, 2], [0, 40], 1))


class Files(unittest.TestCase):
    def test_sizes_of_the_shapes_are_those_of_the_models(self):
        def weights(name):
            return sum(large_model.math.prod(tensor.shape) for tensor in large_model.tensors(large_model.SHAPES[name])) / 1e9

        self.assertAlmostEqual(weights("llama-3-8b"), 8.03, delta=0.01)
        self.assertAlmostEqual(weights("qwen3-30b-a3b"), 30.53, delta=0.01)
        self.assertAlmostEqual(weights("qwen3-0.6b"), 0.596, delta=0.001)
        self.assertAlmostEqual(weights("qwen35-27b"), 27, delta=0.5)

    def test_a_file_has_the_bytes_that_its_header_announces(self):
        for name, shape in large_model.SHAPES.items():
            shape = large_model.small(shape)
            with tempfile.TemporaryDirectory() as folder:
                file = pathlib.Path(folder) / "model.gguf"
                large_model.write_model(name, shape, file)
                raw = file.read_bytes()
            listed = list(large_model.tensors(shape))
            head = large_model.header(large_model.keys(name, shape), listed)
            self.assertEqual(struct.unpack_from("<4sIQ", raw), (b"GGUF", 3, len(listed)))
            self.assertEqual(len(raw), len(head) + sum(large_model.aligned(tensor.bytes) for tensor in listed))

    def test_scales_of_blocks_give_the_deviation(self):
        for form, offset, factor in ((large_model.Q4_K, 0, 258.3), (large_model.Q6_K, 208, 1365.7)):
            pool = large_model.random_blocks(form, 0.5, large_model.random.Random(1))
            self.assertEqual(len(pool) % form.bytes, 0)
            self.assertAlmostEqual(struct.unpack_from("<e", pool, offset)[0] * factor, 0.5, delta=0.005)


if __name__ == "__main__":
    unittest.main()

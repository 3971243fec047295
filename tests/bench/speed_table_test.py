"""Tests of speed_table.py on programs that print fixed reports."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import speed_table  # noqa: E402
from speed_table import Failure, Program, Speeds  # noqa: E402

ETNA = """import json, sys
if sys.argv[1] == "devices":
    print(json.dumps({"devices": [{"chosen": True, "name": "a GPU (x)", "driver": "driver 1", "type": "discrete"}]}))
else:
    print(json.dumps({"rows": [{"prompt_tok_s": {"median": 30}, "generation_tok_s": {"median": 8}}]}))
"""
PEER = """import json
print("ignored")
print(json.dumps({"n_prompt": 64, "n_gen": 0, "avg_ts": 10}))
print(json.dumps({"n_prompt": 0, "n_gen": 32, "avg_ts": 16}))
"""


def script(text):
    return [sys.executable, "-c", text]


class Measuring(unittest.TestCase):
    def test_programs_take_turns_and_their_medians_count(self):
        order = []

        def program(name, prompts):
            def measure(*_):
                order.append(name)
                return Speeds(prompts.pop(0), 1)

            return Program(name, [], measure)

        results = speed_table.measure([program("a", [1, 9, 2]), program("b", [5, 4, 6])], "file", 1, 1, 3)
        self.assertEqual(order, ["a", "b"] * 3)
        self.assertEqual(results, {"a": Speeds(2, 1), "b": Speeds(5, 1)})

    def test_a_program_that_fails_once_has_no_figures_and_is_not_run_again(self):
        runs = []

        def fail(*_):
            runs.append(1)
            raise Failure("out of memory")

        programs = [Program("a", [], lambda *_: Speeds(1, 2)), Program("b", [], fail)]
        results = speed_table.measure(programs, "file", 1, 1, 3)
        self.assertEqual(results, {"a": Speeds(1, 2), "b": "out of memory"})
        self.assertEqual(len(runs), 1)

    def test_reports_of_both_programs_are_read(self):
        self.assertEqual(speed_table.etna_speeds(script(ETNA), "file", 64, 32), Speeds(30, 8))
        self.assertEqual(speed_table.peer_speeds(script(PEER), "file", 64, 32), Speeds(10, 16))
        with self.assertRaisesRegex(Failure, "no figures"):
            speed_table.peer_speeds(script("print('{\"n_prompt\": 1, \"avg_ts\": 1}')"), "file", 64, 32)
        with self.assertRaisesRegex(Failure, "error: no device"):
            speed_table.etna_speeds(script("import sys; sys.exit('error: no device')"), "file", 64, 32)


class Table(unittest.TestCase):
    def test_ratios_compare_with_each_peer_and_failed_rows_stay(self):
        text = speed_table.table(
            {
                "small": {"etna": Speeds(30, 8), "Vulkan": Speeds(10, 16), "CPU": Speeds(60, 8)},
                "large": {"etna": Speeds(3, 1), "Vulkan": "out of memory", "CPU": Speeds(1, 1)},
            }
        )
        self.assertIn("| small | 30.00 / 8.00 | 10.00 / 16.00 | 3.00 / 0.50 | 60.00 / 8.00 | 0.50 / 1.00 |\n", text)
        self.assertIn("| large | 3.00 / 1.00 | failed | - | 1.00 / 1.00 | 3.00 / 1.00 |\n", text)
        self.assertIn("- large, Vulkan: out of memory\n", text)

    def test_the_results_file_names_device_driver_and_command(self):
        with tempfile.TemporaryDirectory() as folder:
            etna, peer = (" ".join([sys.executable, str(pathlib.Path(folder) / name)]) for name in ("etna.py", "peer.py"))
            (pathlib.Path(folder) / "etna.py").write_text(ETNA)
            (pathlib.Path(folder) / "peer.py").write_text(PEER)
            speed_table.main(["--results", folder, "--rounds", "1", "--caption", "scripts/bench", "--etna", etna, "--peer", f"llama.cpp={peer}", "tiny.gguf"])
            (written,) = pathlib.Path(folder).glob("*-a-gpu-x.md")
            text = written.read_text()
        self.assertIn("| tiny | 30.00 / 8.00 | 10.00 / 16.00 | 3.00 / 0.50 |", text)
        self.assertIn("| driver | driver 1 |", text)
        self.assertIn("| command | `scripts/bench` |", text)


if __name__ == "__main__":
    unittest.main()

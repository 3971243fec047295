"""scripts/shaders-compile on small manifests: variants, extensions that the compiler does not know, and errors.

usage: compile_test.py SHADERS_COMPILE GLSLANG_VALIDATOR
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT, COMPILER = sys.argv[1:3]

SOURCE = """#version 450
#define KIND_one 1
#define KIND_two 2
layout(local_size_x = KIND) in;
void main() {}
"""


def compile_shaders(shaders, source=SOURCE):
    """Runs the script over one source; gives (exit code, output, header, data)."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "kernel.comp").write_text(source)
        manifest = {"axes": {"KIND": ["one", "two"]}, "requires": {"KIND": {"two": "shader_float16"}}, "shaders": shaders}
        (folder / "manifest.json").write_text(json.dumps(manifest))
        run = subprocess.run([sys.executable, SCRIPT, COMPILER, folder / "out", folder], capture_output=True, text=True)
        out = folder / "out" / "shaders"
        read = lambda path: path.read_text() if path.exists() else ""
        return run.returncode, run.stdout + run.stderr, read(out / "variants.hpp"), read(out / "variants.cpp")


class Compile(unittest.TestCase):
    def test_every_combination_of_axes_is_a_variant_with_what_it_requires(self):
        code, _, header, data = compile_shaders([{"name": "kernel", "source": "kernel.comp", "axes": ["KIND"]}])
        self.assertEqual(code, 0)
        self.assertIn("enum class Kind : uint8_t { one, two };", header)
        self.assertIn("constexpr Variant kernel(Kind kind)", header)
        self.assertIn('{"kernel_one", words_kernel_one, 0}', data)
        self.assertIn('{"kernel_two", words_kernel_two, 4}', data)

    def test_a_shader_whose_extension_is_unknown_is_left_out_with_a_line(self):
        code, output, header, data = compile_shaders(
            [{"name": "kernel", "source": "kernel.comp", "axes": ["KIND"]},
             {"name": "exotic", "source": "kernel.comp", "axes": ["KIND"], "extensions": ["GL_ETNA_unheard_of"]}])
        self.assertEqual(code, 0, output)
        self.assertIn("exotic is left out: this glslang does not know GL_ETNA_unheard_of", output)
        self.assertIn("exotic_one", header)
        self.assertIn('{"exotic_one", {}, 0}', data)
        self.assertIn('{"kernel_one", words_kernel_one, 0}', data)

    def test_a_known_extension_leaves_nothing_out(self):
        shader = {"name": "kernel", "source": "kernel.comp", "axes": ["KIND"], "extensions": ["GL_EXT_buffer_reference"]}
        code, output, _, data = compile_shaders([shader])
        self.assertEqual((code, output), (0, ""))
        self.assertIn("words_kernel_two[]", data)

    def test_an_error_in_a_shader_stops_the_build_and_names_the_variant(self):
        code, output, header, _ = compile_shaders([{"name": "kernel", "source": "kernel.comp", "axes": ["KIND"]}],
                                                  SOURCE + "nonsense")
        self.assertNotEqual(code, 0)
        self.assertIn("kernel_one", output)
        self.assertEqual(header, "")


unittest.main(argv=sys.argv[:1])

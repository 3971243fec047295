#!/usr/bin/env python3
"""Each rule reports violations, and only those, in small trees."""

import unittest
import unittest.mock

import rooms
import rules
import style
from tree import Tree, code_of, includes_of


def broken(check, texts, executable=()):
    """'path:line' of each finding of one rule over made-up files."""
    return [f"{f.path}:{f.line}" for f in check(Tree.of_texts(texts, executable))]


class Directions(unittest.TestCase):
    def include(self, path, name):
        return broken(rooms.check_directions, {path: f'#pragma once\n#include "{name}"\n'})

    def test_arrows_of_the_design_are_allowed(self):
        for path, name in [
            ("cli/run.cpp", "server/app/router.hpp"),
            ("cli/run.cpp", "core/generate/generation.hpp"),
            ("server/app/router.cpp", "core/generate/generation.hpp"),
            ("server/app/endpoints.cpp", "server/faces/openai/routes.hpp"),
            ("server/app/endpoints.cpp", "server/batch/routes.hpp"),
            ("server/app/endpoints.cpp", "server/page/routes.hpp"),
            ("server/faces/openai/a.cpp", "server/faces/openai/b.hpp"),
            ("server/faces/openai/a.cpp", "server/api/answer.hpp"),
            ("server/api/a.cpp", "server/observe/tracing/span.hpp"),
            ("server/observe/a.cpp", "server/models/models.hpp"),
            ("server/models/a.cpp", "core/generate/model.hpp"),
            ("server/kv_events/a.cpp", "core/engine/engine.hpp"),
            ("server/http/a.cpp", "server/base/ids.hpp"),
            ("core/generate/a.cpp", "core/engine/engine.hpp"),
            ("core/generate/a.cpp", "core/chat/conversation.hpp"),
            ("core/generate/a.cpp", "core/text/tokenizer.hpp"),
            ("core/generate/a.cpp", "core/grammar/mask.hpp"),
            ("core/generate/a.cpp", "core/sampling/parameters.hpp"),
            ("core/generate/a.cpp", "core/store/resolve.hpp"),
            ("core/engine/a.cpp", "core/model/model.hpp"),
            ("core/engine/a.cpp", "core/sampling/parameters.hpp"),
            ("core/model/arch/llama.cpp", "core/kernels/matmul/matmul.hpp"),
            ("core/kernels/matmul/matmul.cpp", "core/vk/recorder.hpp"),
            ("core/kernels/matmul/matmul.cpp", "shaders/variants.hpp"),
            ("core/text/a.cpp", "core/gguf/file.hpp"),
            ("core/vk/a.cpp", "core/base/result.hpp"),
            ("core/vk/a.cpp", "core/vk/device.hpp"),
        ]:
            self.assertEqual(self.include(path, name), [], f"{path} -> {name}")

    def test_other_directions_are_not(self):
        for path, name in [
            ("server/app/router.cpp", "cli/run.hpp"),
            ("server/faces/openai/a.cpp", "server/faces/responses/items.hpp"),
            ("server/faces/openai/a.cpp", "server/batch/files.hpp"),
            ("server/faces/openai/a.cpp", "server/app/router.hpp"),
            ("server/batch/a.cpp", "server/faces/openai/routes.hpp"),
            ("server/page/a.cpp", "server/batch/files.hpp"),
            ("server/api/a.cpp", "server/faces/openai/routes.hpp"),
            ("server/api/a.cpp", "server/app/router.hpp"),
            ("server/observe/a.cpp", "server/api/service.hpp"),
            ("server/models/a.cpp", "server/http/http.hpp"),
            ("server/storage/a.cpp", "server/http/http.hpp"),
            ("server/http/a.cpp", "server/models/models.hpp"),
            ("server/http/a.cpp", "core/generate/model.hpp"),
            ("server/base/a.cpp", "server/http/http.hpp"),
            ("core/generate/a.cpp", "server/app/router.hpp"),
            ("core/generate/a.cpp", "cli/run.hpp"),
            ("core/engine/a.cpp", "core/generate/generation.hpp"),
            ("core/engine/a.cpp", "core/text/tokenizer.hpp"),
            ("core/engine/a.cpp", "core/store/resolve.hpp"),
            ("core/engine/a.cpp", "core/chat/conversation.hpp"),
            ("core/engine/a.cpp", "core/grammar/mask.hpp"),
            ("core/model/a.cpp", "core/engine/batch.hpp"),
            ("core/model/a.cpp", "shaders/variants.hpp"),
            ("core/model/a.cpp", "core/store/resolve.hpp"),
            ("core/kernels/a.cpp", "core/model/model.hpp"),
            ("core/vk/a.cpp", "core/kernels/layout.hpp"),
            ("core/vk/a.cpp", "shaders/variants.hpp"),
            ("core/text/a.cpp", "core/chat/conversation.hpp"),
            ("core/chat/a.cpp", "core/text/tokenizer.hpp"),
            ("core/sampling/a.cpp", "core/engine/batch.hpp"),
            ("core/store/a.cpp", "core/generate/generation.hpp"),
            ("core/gguf/a.cpp", "core/vk/buffer.hpp"),
            ("core/base/a.cpp", "core/gguf/file.hpp"),
            ("core/base/a.hpp", "tests/support/catch.hpp"),
        ]:
            self.assertEqual(self.include(path, name), [f"{path}:2"], f"{path} -> {name}")

    def test_an_unknown_room(self):
        for path in ["core/attic/a.cpp", "server/attic/a.cpp", "server/faces/attic/a.cpp", "server/a.cpp", "server/faces/a.cpp"]:
            self.assertEqual(broken(rooms.check_directions, {path: "int a;\n"}), [f"{path}:1"])

    def test_both_forms_and_spaced_includes_are_found(self):
        text = '# include  <core/engine/batch.hpp>\n  #include "core/engine/batch.hpp"\n'
        self.assertEqual(broken(rooms.check_directions, {"core/vk/a.cpp": text}), ["core/vk/a.cpp:1", "core/vk/a.cpp:2"])

    def test_includes_in_comments_do_not_count(self):
        text = '// #include "core/engine/batch.hpp"\n/*\n#include "core/engine/batch.hpp"\n*/\n'
        self.assertEqual(broken(rooms.check_directions, {"core/vk/a.cpp": text}), [])

    def test_the_table_has_no_cycles_and_no_unknown_rooms(self):
        circle = {"a": {"b"}, "b": {"a"}, "core/base": set(), "core/gguf": set()}
        self.assertEqual(len(list(rooms.check_cycles(None, circle))), 2)
        unknown = {"a": {"nowhere"}, "core/base": set(), "core/gguf": set()}
        self.assertEqual(len(list(rooms.check_cycles(None, unknown))), 1)


class ExternalHeaders(unittest.TestCase):
    def include(self, path, name):
        return broken(rooms.check_external_headers, {path: f"#include <{name}>\n"})

    def test_allowed_includes(self):
        for path, name in [
            ("cli/main.cpp", "CLI/CLI.hpp"),
            ("tests/server/independent_client_test.cpp", "httplib.h"),
            ("core/vk/instance.cpp", "volk.h"),
            ("core/vk/instance.cpp", "vulkan/vulkan.h"),
            ("tests/vk/instance_test.cpp", "vulkan/vulkan.h"),
            ("core/store/manifest.cpp", "nlohmann/json.hpp"),
            ("core/jinja/values_private.hpp", "nlohmann/json.hpp"),
            ("core/grammar/schema.cpp", "nlohmann/json_fwd.hpp"),
            ("server/app/router.hpp", "nlohmann/json.hpp"),
            ("tests/text/vectors_test.cpp", "nlohmann/json.hpp"),
        ]:
            self.assertEqual(self.include(path, name), [], f"{path} -> {name}")

    def test_forbidden_includes(self):
        for path, name in [
            ("core/base/log.cpp", "CLI/CLI.hpp"),
            ("server/http/listener.cpp", "CLI/App.hpp"),
            ("cli/main.cpp", "httplib.h"),
            ("server/http/acceptor.cpp", "httplib.h"),
            ("core/store/download.cpp", "httplib.h"),
            ("core/kernels/a.cpp", "vulkan/vulkan.h"),
            ("core/engine/a.hpp", "volk.h"),
            ("cli/devices.cpp", "vulkan/vulkan_core.h"),
            ("tests/kernels/a_test.cpp", "volk.h"),
            ("core/chat/conversation.hpp", "nlohmann/json.hpp"),
            ("core/chat/adapt.cpp", "core/base/json.hpp"),
            ("core/text/a.cpp", "nlohmann/json.hpp"),
            ("core/generate/a.cpp", "nlohmann/json.hpp"),
        ]:
            self.assertEqual(self.include(path, name), [f"{path}:1"], f"{path} -> {name}")


class SilentCore(unittest.TestCase):
    def lines(self, text, path="core/base/a.cpp"):
        return broken(rules.check_core_is_silent, {path: text})

    def test_printing_ending_and_the_environment(self):
        for code in [
            'std::cout << "x";',
            "std::cerr << 1;",
            'printf("x");',
            'std::fprintf(stderr, "x");',
            'fmt::print("x");',
            'std::puts("x");',
            "std::exit(1);",
            "exit(1);",
            "_exit(1);",
            "std::abort();",
            "::abort();",
            "std::terminate();",
            'std::getenv("HOME");',
            'if (getenv ("HOME")) {}',
            'secure_getenv("HOME");',
        ]:
            self.assertEqual(self.lines(f"int a;\n{code}\n"), ["core/base/a.cpp:2"], code)

    def test_lookalikes_pass(self):
        for code in [
            '// printf("x")',
            "/* std::cout\n exit(1) */",
            'auto text = "exit(1) getenv(";',
            'auto text = R"(std::cout << abort())";',
            "std::snprintf(text, 4, format);",
            "queue.exit();",
            "on_exit(1);",
            "pointer->abort();",
            "bool fprint(int);",
            "auto n = 1'000; auto c = '\"'; call(n);",
        ]:
            self.assertEqual(self.lines(code + "\n"), [], code)

    def test_other_folders_pass(self):
        self.assertEqual(self.lines('printf("x");', "cli/main.cpp"), [])


class FilesAndFolders(unittest.TestCase):
    def test_top_level(self):
        self.assertEqual(broken(rules.check_top_level, {"README.md": "", "core/a.cpp": "", ".ci/run": ""}), [])
        self.assertEqual(broken(rules.check_top_level, {"docs/a.md": "", "Makefile": ""}), ["Makefile:1", "docs:1"])

    def test_headers(self):
        self.assertEqual(broken(rules.check_headers, {"core/a.hpp": "// Why.\n#pragma once\nint a;\n"}), [])
        self.assertEqual(broken(rules.check_headers, {"core/a.hpp": "#pragma once\nint a;\n"}), ["core/a.hpp:1"])
        self.assertEqual(broken(rules.check_headers, {"core/a.hpp": "/// Why.\nint a;\n"}), ["core/a.hpp:1"])

    def test_shader_headers(self):
        good = "#version 460\n// y[m, n] = a[m, k] * b[k, n]\n// Grid: one workgroup for each row.\nvoid main() {}\n"
        self.assertEqual(broken(rules.check_shader_headers, {"shaders/add/add.comp": good}), [])
        for bad in ["void main() {}\n", "// y[n] = x[n]\nvoid main() {}\n", "// Adds. Grid: rows.\nvoid main() {}\n"]:
            self.assertEqual(broken(rules.check_shader_headers, {"shaders/add/add.comp": bad}), ["shaders/add/add.comp:1"])
        self.assertEqual(broken(rules.check_shader_headers, {"shaders/include/a.glsl": "int a;\n"}), ["shaders/include/a.glsl:1"])

    @unittest.mock.patch.dict(rules.LONG_FILES, clear=True)  # its files are not in these trees
    def test_sizes(self):
        self.assertEqual(broken(rules.check_sizes, {"core/a.cpp": "\n" * 700}), [])
        self.assertEqual(broken(rules.check_sizes, {"core/a.cpp": "\n" * 701}), ["core/a.cpp:701"])
        self.assertEqual(broken(rules.check_sizes, {"scripts/test": "\n" * 701}), ["scripts/test:701"])
        self.assertEqual(broken(rules.check_sizes, {"tests/data/a.gguf": "x" * 2_000_001}), ["tests/data/a.gguf:1"])

    def test_size_summary_reports_the_median(self):
        tree = Tree.of_texts({"core/a.cpp": "\n", "core/b.cpp": "\n" * 5, "tests/c.cpp": "\n" * 9, "a.py": "\n" * 99})
        self.assertEqual(rules.size_summary(tree), "3 C++ files: median 5 lines, longest 9")

    def test_addresses(self):
        # Concatenated, so that this file passes the rule.
        home, host, outside = "/ho" + "me/user/x", "deb." + "debian.org", "../" + "shared/data"
        for text in [f"path = {home}", f'"{home}"', f"http://{host}/debian", f"cd {outside}"]:
            self.assertEqual(broken(rules.check_addresses, {"scripts/a": text}), ["scripts/a:1"], text)
        self.assertEqual(broken(rules.check_addresses, {".ci/run": f"cd {outside}"}), [])
        for text in ["a/home/b", "$root/home/x", "https://github.com/KhronosGroup/glslang", "core/home/a.hpp"]:
            self.assertEqual(broken(rules.check_addresses, {"scripts/a": text}), [], text)

    def test_page(self):
        good = ['import { h } from "./dom.js";', 'const namespace = "http://www.w3.org/2000/svg";', "element.textContent = text;",
                '<script type="module" src="page/main.js"></script>', 'h("div", { onclick: run })']
        self.assertEqual(broken(rules.check_page, {"server/page/a.js": "\n".join(good)}), [])
        for bad in ["element.innerHTML = text;", "eval(text)", 'setTimeout("run()", 1)', 'import x from "x";', "require('x')",
                    'fetch("https://example.org/")', "url(//example.org/a.png)", '<p style="color: red">', "<script>run()</script>", '<a onclick="x">']:
            self.assertEqual(broken(rules.check_page, {"server/page/a.html": bad}), ["server/page/a.html:1"], bad)
            self.assertEqual(broken(rules.check_page, {"server/a.html": bad}), [])

    def test_scripts(self):
        good = "#!/usr/bin/env bash\nset -euo pipefail\n"
        self.assertEqual(broken(rules.check_scripts, {"scripts/a": good}, {"scripts/a"}), [])
        self.assertEqual(broken(rules.check_scripts, {"scripts/a": good}), ["scripts/a:1"])
        self.assertEqual(broken(rules.check_scripts, {".ci/run": "set -euo pipefail\n"}, {".ci/run"}), [".ci/run:1"])
        self.assertEqual(broken(rules.check_scripts, {"scripts/a": "#!/usr/bin/env bash\n"}, {"scripts/a"}), ["scripts/a:1"])
        self.assertEqual(broken(rules.check_scripts, {"scripts/a.sh": "x=1\n"}), [])

    def test_first_screen(self):
        both = "`scripts/quickstart` and `scripts/test`\n"
        self.assertEqual(broken(rules.check_first_screen, {"README.md": both}), [])
        self.assertEqual(broken(rules.check_first_screen, {"README.md": "`scripts/quickstart`\n"}), ["README.md:1"])
        self.assertEqual(broken(rules.check_first_screen, {"README.md": "\n" * 24 + both}), ["README.md:1"] * 2)


class Tests(unittest.TestCase):
    def lines(self, text, path):
        return broken(rules.check_tests, {path: text})

    def test_no_program_imports_another(self):
        for text in ("import serve_test\n", "from serve_test import Server\n"):
            self.assertEqual(self.lines(text, "tests/e2e/a_test.py"), ["tests/e2e/a_test.py:1"])
        self.assertEqual(self.lines("from support.server import Server\nimport unittest\n", "tests/e2e/a_test.py"), [])

    def test_a_sleep_says_why(self):
        for line, path in (("time.sleep(1)", "tests/e2e/a_test.py"), ("std::this_thread::sleep_for(1ms);", "tests/engine/a_test.cpp")):
            self.assertEqual(self.lines(f"x = 1\n{line}\n", path), [f"{path}:2"])
            self.assertEqual(self.lines(f"{line} {'#' if path.endswith('py') else '//'} the work of a step\n", path), [])
        self.assertEqual(self.lines("time.sleep(interval_s)\n", "tests/e2e/support/waiting.py"), [])


class Prose(unittest.TestCase):
    def lines(self, text, path="cli/a.cpp"):
        return broken(rules.check_prose, {path: text})

    def test_phrases_in_comments_and_strings(self):
        for text in [
            "int a; // somebody\n",
            "/// Who has the fewest\n/// comes first.\n",
            "/* what\nstands there */\n",
            'auto hint = "gone " "on with";\n',
            'auto hint = "is\\n" "wanted"\n    " is wanted";\n',
        ]:
            self.assertEqual(len(self.lines(text)), 1, text)
        self.assertEqual(self.lines("# text\nlest\n", "README.md"), ["README.md:2"])
        self.assertEqual(self.lines("#!/usr/bin/env bash\n# one\n# lest two\n", "scripts/a"), ["scripts/a:3"])
        self.assertEqual(self.lines('def a():\n    """It is\n    wanted."""\n', "scripts/a.py"), ["scripts/a.py:2"])

    def test_only_comments_and_names_of_tests(self):
        self.assertEqual(self.lines('CHECK(text == "lest");\n', "tests/cli/a.cpp"), [])
        self.assertEqual(self.lines('TEST_CASE("a is kept to b") {\n', "tests/cli/a.cpp"), ["tests/cli/a.cpp:1"])
        self.assertEqual(self.lines("def test_work_goes_on_with_it(self):\n", "tests/e2e/a_test.py"), ["tests/e2e/a_test.py:1"])

    def test_code_other_words_and_other_rooms_pass(self):
        for text in ["int nobody = lest;\n", "/// Precondition: Origin::nobody, or `wish` is empty.\n", "// Returns null if there is none.\n", 'auto url = "https://whoever.example";\n'.replace("whoever", "host")]:
            self.assertEqual(self.lines(text), [], text)
        self.assertEqual(self.lines("// lest\n", "attic/a.cpp"), [])


class Reading(unittest.TestCase):
    def test_code_keeps_line_numbers(self):
        text = 'a /* 1\n2 */ b "s\\"t" c\n// d\nR"x(\n)" )x" e \'"\' f\n'
        code = code_of(text)
        self.assertEqual(code.count("\n"), text.count("\n"))
        self.assertEqual(code.split(), ["a", "b", "c", "e", "f"])

    def test_includes(self):
        self.assertEqual(list(includes_of('#pragma once\n#include <a/b.h> // x\n#include "c.hpp"\n')), [(2, "a/b.h"), (3, "c.hpp")])

    def test_every_rule_is_called(self):
        named = {name for module in (rooms, rules) for name in dir(module) if name.startswith("check_")}
        self.assertEqual(named, {check.__name__ for check in style.CHECKS})


if __name__ == "__main__":
    unittest.main()
